// Plots of what the server measured.
"use strict";
const added = (values) => { let sum = 0; return values.map((each) => (sum += each)); };
const percent = (values) => values.map((each) => (each === null ? null : each * 100));
const shaped = { written: added, cache_hit_rate: percent };

async function plots(place) {
  const { from, to, rows } = await (await fetch(place.dataset.from)).json();
  const look = getComputedStyle(document.documentElement);
  const [ink, line] = ["--faint", "--line"].map((name) => look.getPropertyValue(name).trim());
  const colours = ["--accent", "--bad"].map((name) => look.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui" };
  for (const each of place.querySelectorAll("[data-plot]")) {
    if (!rows.length) {
      each.textContent = "Nothing was measured yet.";
      continue;
    }
    const names = each.dataset.plot.split(" ");
    const series = names.map((name, at) => ({ label: name.replaceAll("_", " "), stroke: colours[at], width: 2, spanGaps: true, points: { show: rows.length < 30, size: 5 } }));
    const columns = names.map((name) => (shaped[name] ?? ((values) => values))(rows.map((row) => row[name])));
    const highest = (plot, least, most) => [0, names[0] === "cache_hit_rate" ? 100 : most * 1.1 || 1];
    new uPlot({
      width: each.clientWidth || 300,
      height: 150,
      series: [{}, ...series],
      axes: [axis, { ...axis, size: 50 }],
      legend: { show: names.length > 1, live: false },
      cursor: { show: false },
      scales: { x: { range: [from, to] }, y: { range: highest } },
    }, [rows.map((row) => row.at), ...columns], each);
  }
}
plots(document.querySelector("#plots"));
