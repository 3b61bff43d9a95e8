// What the page does beyond plain forms: streams a chat, shows that something is under way, takes dropped files.
"use strict";
const one = (selector, within = document) => within.querySelector(selector);

// Whatever takes a while shows that it does.
function busy(whether) {
  document.body.classList.toggle("busy", whether);
  one("main").setAttribute("aria-busy", whether);
}

function made(tag, cls, text) {
  const element = document.createElement(tag);
  element.className = cls;
  if (text !== undefined) element.textContent = text;
  return element;
}

function said(who, text) {
  const article = made("article", `said ${who === "You" ? "mine" : "theirs"}`);
  const words = made("div", "words", text);
  article.append(made("p", "who", who), words);
  const log = one("#log");
  log.append(article);
  log.scrollTop = log.scrollHeight;
  return words;
}

// Events of a stream, of which the last one may not be complete yet.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [name, data] = part.split("\n", 2);
      yield [name.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
}

function tell(detail) {
  const notice = made("div", "notice bad");
  notice.append(made("p", "", detail));
  one("#problem").replaceChildren(notice);
}

async function heard(form, response, words) {
  for await (const [name, data] of events(response)) {
    if (name === "start") {
      form.elements.id.value = data.chat_id;
      history.replaceState(null, "", data.address);
    } else if (name === "delta") {
      words.textContent += data.text;
      words.classList.remove("waiting");
    } else if (name === "done") {
      // The server wrote it, and escaped everything in it.
      one("#beside").innerHTML = data.beside;
    } else {
      throw new Error(data.detail);
    }
    one("#log").scrollTop = one("#log").scrollHeight;
  }
}

async function say(form) {
  const message = form.elements.message.value;
  if (!message.trim() || form.dataset.busy) return;
  form.dataset.busy = "yes";
  busy(true);
  const body = new URLSearchParams(new FormData(form));
  one("#problem").replaceChildren();
  one("#greeting")?.remove();
  said("You", message);
  form.elements.message.value = "";
  const words = said(form.elements.agent.value, "");
  words.classList.add("waiting");
  try {
    const response = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/event-stream" } });
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      throw new Error(one(".notice.bad", page)?.textContent.trim() || `the server answered ${response.status}`);
    }
    await heard(form, response, words);
    one("#anew").hidden = false;
  } catch (problem) {
    tell(problem.message);
    if (!words.textContent) words.closest("article").remove();
  } finally {
    delete form.dataset.busy;
    busy(false);
    form.elements.message.focus();
  }
}

function chat(form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say(form);
  });
  form.elements.message.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  for (const each of document.querySelectorAll("[data-say]")) {
    each.addEventListener("click", (event) => {
      event.preventDefault();
      form.elements.message.value = each.dataset.say;
      form.requestSubmit();
    });
  }
  const log = one("#log");
  log.scrollTop = log.scrollHeight;
}

if (one("#say")) chat(one("#say"));

// On a phone the places stand in a row that is wider than the screen.
one(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

window.addEventListener("beforeunload", () => busy(true));
window.addEventListener("pageshow", () => busy(false));

// A click copies a text that can be selected too.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = one(button.dataset.copy);
  text.select();
  await navigator.clipboard.writeText(text.value);
  button.textContent = "Copied";
});

// A button that only a script can serve is shown where there is one.
for (const each of document.querySelectorAll("[data-copy]")) each.hidden = false;

// A file that the server would not read is not sent.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.most) return;
  const large = target.files[0]?.size > Number(target.dataset.most);
  target.setCustomValidity(large ? "This file is larger than the server reads." : "");
  target.reportValidity();
});

// What is downloaded shows that it is under way, as nothing else does before its first byte.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[download]");
  if (!link || link.protocol === "blob:") return;
  event.preventDefault();
  busy(true);
  try {
    const response = await fetch(link.href);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const saved = made("a", "");
    saved.href = URL.createObjectURL(await response.blob());
    saved.download = link.getAttribute("download");
    saved.click();
  } catch (problem) {
    tell(problem.message);
  } finally {
    busy(false);
  }
});

// A file that is dropped on its field is chosen.
for (const each of document.querySelectorAll(".drop")) {
  each.addEventListener("dragover", (event) => {
    event.preventDefault();
    each.classList.add("over");
  });
  each.addEventListener("dragleave", () => each.classList.remove("over"));
  each.addEventListener("drop", (event) => {
    event.preventDefault();
    each.classList.remove("over");
    const input = one("input", each);
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// What htmx put in place takes the focus where it says so.
document.addEventListener("htmx:afterSwap", (event) => {
  one("#problem").replaceChildren();
  event.target.querySelector("[autofocus]")?.focus();
});
document.addEventListener("htmx:beforeRequest", () => busy(true));
document.addEventListener("htmx:afterRequest", () => busy(false));
