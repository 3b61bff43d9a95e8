"""Run other people's test suites against the classes that ltst has for their frameworks.

    python scripts/adapters.py            # every framework
    python scripts/adapters.py claude     # one of them, or several

Each framework has an entry, tests/adapters/outside/NAME.toml. For the tests of a source distribution there is a plugin
beside it, NAME.py, which puts ltst's class in the place of theirs. A framework is installed in an environment of its
own below .cache/adapters, since their pins disagree; its suite is taken from the package as it is published.
What is left out is printed with its reason. The exit status is 1 when a test has failed, or none of a suite has passed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "tests" / "adapters" / "outside"
CACHE = ROOT / ".cache" / "adapters"
LONGEST = 1800
WIDTHS = (16, 10, 46, 7, 7, 9)


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests: files of a published package, or of this repository, where a package offers its suite as classes."""

    name: str
    files: Sequence[str]
    sdist: str | None = None
    options: Sequence[str] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Framework:
    """What to install beside ltst and its extra, the framework itself first, and which suites to run."""

    name: str
    packages: Sequence[str]
    suites: Sequence[Suite]

    @property
    def extra(self) -> str:
        """The extra of ltst that brings it."""
        return self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a suite went: how many tests passed, which failed, and which were left out for which reason."""

    framework: str
    version: str
    suite: str
    passed: int
    failed: Sequence[str]
    excluded: Mapping[str, Sequence[str]]


def main(names: Sequence[str]) -> int:
    """Install, run and print; the exit status."""
    known = sorted(path.stem for path in ENTRIES.glob("*.toml"))
    if unknown := sorted({*names} - {*known}):
        raise SystemExit(f"no entry for {', '.join(unknown)}; there are {', '.join(known)}")
    outcomes: list[Outcome] = []
    for name in names or known:
        outcomes += _tried(_entry(name))
    _show(outcomes)
    return int(any(each.failed or not each.passed for each in outcomes))


def _entry(name: str) -> Framework:
    told: dict[str, Any] = tomllib.loads((ENTRIES / f"{name}.toml").read_text())
    return Framework(name, told["packages"], [Suite(**suite) for suite in told["suites"]])


def _tried(framework: Framework) -> Iterator[Outcome]:
    python = _environment(framework)
    version = _version(python, framework.packages[0])
    for suite in framework.suites:
        print(f"{framework.name} {version}: {suite.name}", file=sys.stderr, flush=True)
        report = _run(python, framework, suite)
        yield Outcome(framework.name, version, suite.name, report["passed"], report["failed"], report["excluded"])


def _environment(framework: Framework) -> Path:
    """Returns the Python of the framework's environment, made anew when what it holds has changed."""
    folder = CACHE / framework.name
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = [*framework.packages, "pytest>=8.4"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*wanted, *project["dependencies"], *project["optional-dependencies"][framework.extra]]
    digest = sha256(json.dumps(needed).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"{framework.name}: installing", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        _pip(python, "install", "--editable", f"{ROOT}[{framework.extra}]", *wanted)
        stamp.write_text(digest)
    return python


def _pip(python: Path, *arguments: str) -> None:
    done = subprocess.run([python, "-m", "pip", *arguments, "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pip {' '.join(arguments)}\n{done.stderr}")


def _version(python: Path, requirement: str) -> str:
    package = requirement.partition("[")[0]
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _unpacked(python: Path, package: str) -> Path:
    """Returns the folder of a package's source distribution, in the version that is installed."""
    version = _version(python, package)
    folder = CACHE / "sdists" / f"{package}-{version}"
    if not folder.exists():
        fetched = CACHE / "sdists" / f"{package}-{version}.part"
        shutil.rmtree(fetched, ignore_errors=True)
        _pip(python, "download", "--no-deps", "--no-binary", package, "--dest", str(fetched), f"{package}=={version}")
        (archive,) = fetched.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(fetched, filter="data")
        archive.unlink()
        (content,) = fetched.iterdir()
        content.rename(folder)
        fetched.rmdir()
    return folder


def _run(python: Path, framework: Framework, suite: Suite) -> dict[str, Any]:
    folder = _unpacked(python, suite.sdist) if suite.sdist else ROOT
    report = CACHE / f"{framework.name}.json"
    report.unlink(missing_ok=True)
    command: list[str | Path] = [python, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder]
    command += ["-p", "no:cacheprovider", "-p", "outside", "--report", report]
    command += ["-p", f"outside.{framework.name}"] if suite.sdist else []
    command += ["--excluded", json.dumps(dict(suite.excluded)), *suite.options, *suite.files]
    log = CACHE / f"{framework.name}.log"
    # Tests of this repository use what its other tests use; those of a package have a folder `tests` of their own.
    command += [] if suite.sdist else ["--beside", ROOT / "tests", "--beside", ROOT]
    environment = {**os.environ, "PYTHONPATH": str(ENTRIES.parent)}
    with log.open("w") as written:
        subprocess.run(
            command, cwd=folder, env=environment, stdout=written, stderr=written, timeout=LONGEST, check=False
        )
    if not report.exists():
        raise SystemExit(f"the suite {suite.name} of {framework.name} did not run:\n{log.read_text()}")
    read: dict[str, Any] = json.loads(report.read_text())
    if read["failed"] or not read["passed"]:
        print(log.read_text(), file=sys.stderr)
    return read


def _show(outcomes: Iterable[Outcome]) -> None:
    _line("framework", "version", "suite", "passed", "failed", "excluded")
    for each in outcomes:
        left_out = sum(len(tests) for tests in each.excluded.values())
        _line(each.framework, each.version, each.suite, each.passed, len(each.failed), left_out)
        for test in each.failed:
            print(f"    FAILED {test}")
        for reason, tests in each.excluded.items():
            print(f"    {len(tests)} excluded: {reason}")


def _line(*cells: object) -> None:
    print("  ".join(f"{cell!s:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
