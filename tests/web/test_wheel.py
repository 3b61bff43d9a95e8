"""The wheel, in an empty environment outside the repository: the page works, and what it adds is small."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

REPOSITORY = Path(__file__).parents[2]
SERVED_AT = re.compile(r"served at (http://\S+?:\d+)")
MOST = 150 * 1024
PAGE = "ltst/doors/web/"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is published."""
    folder = tmp_path_factory.mktemp("wheel")
    built = pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(REPOSITORY), where=folder)
    if built.returncode:
        pytest.skip(f"no wheel could be built: {built.stderr[-300:]}")
    (found,) = folder.glob("ltst-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which nothing but that wheel, with the server's packages, was installed."""
    folder = tmp_path_factory.mktemp("outside")
    subprocess.run([sys.executable, "-m", "venv", folder / "empty"], check=True)
    python = folder / "empty" / "bin" / "python"
    constraints = str(REPOSITORY / "constraints.txt")
    installed = pip(str(python), "install", "--constraint", constraints, f"{wheel}[server]", where=folder)
    if installed.returncode:
        pytest.skip(f"its packages cannot be reached: {installed.stderr[-300:]}")
    return python.parent


def pip(python: str, *arguments: str, where: Path) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, cwd=where, capture_output=True, text=True)


@pytest.fixture
def served(environment: Path, tmp_path: Path) -> Iterator[str]:
    """Where `ltst serve` of that environment is."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("LTST_", "PYTHON"))}
    known |= {"LTST_HOME": str(tmp_path / "home"), "LTST_WORKER": "off", "PYTHONUNBUFFERED": "1"}
    command = [environment / "ltst", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=known, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            found = next(filter(None, map(SERVED_AT.search, started.stdout)))
            yield found[1]
        finally:
            started.terminate()
            started.wait(60)


def test_the_page_works_from_the_wheel(served: str) -> None:
    with httpx.Client(base_url=served, timeout=60, follow_redirects=True) as client:
        first = client.get("/")
        assert "Nothing is remembered yet" in first.text
        for each in re.findall(r'(?:src|href)="(/static/[^"]+)"', first.text):
            assert client.get(each).status_code == 200, each
        token = re.search(r'name="token" value="([^"]+)"', first.text)
        assert token is not None
        said = client.post("/chat", data={"token": token[1], "message": "I moved to Lisbon in March."})
        assert "Lisbon" in said.text
        answer = client.post("/chat", data={"token": token[1], "message": "Where do I live?"})
        assert "Your home is Lisbon" in answer.text
        assert "example user" in client.get("/?demo", headers={"Sec-Fetch-Site": "none"}).text
        for place in ("/about", "/conversations", "/search", "/context", "/wishes", "/documents", "/items", "/bring"):
            assert client.get(place).status_code == 200, place
        assert "derived work" in client.get("/operations").text and client.get("/docs").status_code == 200


def test_the_page_adds_little_to_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        added = [each for each in opened.infolist() if each.filename.startswith(PAGE)]
        assert {"chat.html", "page.css", "htmx.min.js"} <= {Path(each.filename).name for each in added}
        assert sum(each.compress_size for each in added) <= MOST
