"""Documents that ask for more than there is: refused with the limit's name, while everybody else is served."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from bench.pdf import pdf, sharing
from helpers.probes import free_port
from ltst import AsyncMemory, Invalid, Memory, Settings

PATIENCE = 300.0
MEBIBYTE = 1024**2
MANY = 200_000
# As many lines as pypdf reads of one stream, which takes it seconds, and then nothing.
TWENTY_MEBIBYTES = (b"BT /F1 10 Tf\n" + b"(a) Tj T*\n" * 500_000).ljust(20 * MEBIBYTE)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """2,000 pages that share one stream of 20 MiB, in a file of some hundred kilobytes."""
    return sharing(zlib.compress(TWENTY_MEBIBYTES, 9), pages=2000)


def test_many_pages_that_share_a_large_stream_are_refused(sync_memory: Memory, bomb: bytes) -> None:
    assert len(bomb) < MEBIBYTE
    with pytest.raises(Invalid, match=r"unpack to more than 536,870,912 bytes \(LTST_DOCUMENT_UNPACKED_BYTES\)"):
        sync_memory.user("ana").documents.add(bomb)
    assert sync_memory.user("ana").documents.list() == []


def test_a_stream_that_unpacks_to_a_hundred_times_its_size_is_refused(sync_memory: Memory) -> None:
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(MEBIBYTE)) for _ in range(256)) + packer.flush()
    with pytest.raises(Invalid, match=r"no PDF that can be read: .*[Ll]imit"):
        sync_memory.user("ana").documents.add(sharing(packed, pages=1))


def test_too_many_pages_are_refused(settings: Settings) -> None:
    with Memory(settings=replace(settings, document_pages=2)) as memory:
        assert memory.user("ana").documents.add(pdf([["One."], ["Two."]])).chunks
        with pytest.raises(Invalid, match=r"has 3 pages; up to 2 can be read \(LTST_DOCUMENT_PAGES\)"):
            memory.user("ana").documents.add(pdf([["One."], ["Two."], ["Three."]]))


def test_what_takes_too_long_is_refused(settings: Settings) -> None:
    with Memory(settings=replace(settings, document_seconds=1.0)) as memory:
        with pytest.raises(Invalid, match=r"takes more than 1 s to read \(LTST_DOCUMENT_SECONDS\)"):
            memory.user("ana").documents.add(sharing(zlib.compress(TWENTY_MEBIBYTES), pages=3))
        assert memory.user("ana").documents.add(pdf([["The harbour is closed."]])).chunks


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_what_takes_too_much_memory_is_refused(settings: Settings) -> None:
    with Memory(settings=replace(settings, document_memory=128 * MEBIBYTE)) as memory:
        with pytest.raises(Invalid, match=r"takes more than 134,217,728 bytes of memory to read \(LTST_DOCUMENT_MEM"):
            memory.user("ana").documents.add("<p>x" * (2 * MEBIBYTE), media_type="text/html")
        assert memory.user("ana").documents.add(pdf([["The harbour is closed."]])).chunks


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<div>" * MANY + "deep", "text/html"),
        ("<table><tr><td>" * MANY + "deep", "text/html"),
        ("| a " * MANY + "\n" + "|---" * MANY, "text/markdown"),
        ("> " * MANY + "quoted", "text/markdown"),
    ],
    ids=["tags", "tables in tables", "a table without end", "quotations in quotations"],
)
async def test_what_is_deep_or_endless_leaves_the_loop_to_others(memory: AsyncMemory, text: str, kind: str) -> None:
    task = asyncio.create_task(memory.user("ana").documents.add(text, media_type=kind))
    await memory.user("bob").chat("monday").add("user", "The harbour is closed.")
    assert (await task).chunks


async def test_others_read_their_documents_meanwhile(settings: Settings, bomb: bytes) -> None:
    patient = replace(settings, document_seconds=3600.0, document_unpacked_bytes=2**60)
    async with AsyncMemory(settings=patient) as memory:
        tasks = [asyncio.create_task(memory.user("ana").documents.add(bomb)) for _ in range(3)]
        bob = memory.user("bob")
        assert (await bob.documents.add(pdf([["The harbour is closed."]]))).chunks
        await bob.chat("monday").add("user", "I live in Porto.")
        assert await bob.learning.catch_up() == 1
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_progress_is_told_page_by_page(sync_memory: Memory) -> None:
    told: list[tuple[int, int]] = []
    sync_memory.user("ana").documents.add(pdf([["One."], ["Two."]]), progress=lambda *each: told.append(each))
    assert told[:2] == [(1, 2), (2, 2)]


# --- A server in the middle of it


@contextmanager
def served(settings: Settings, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`ltst serve` in a process of its own, and its address."""
    port = free_port()
    told = {"DATABASE_URL": str(settings.database_url), "LTST_HOME": str(settings.home), **environment}
    program = subprocess.Popen(
        [Path(sys.executable).with_name("ltst"), "serve", "--port", str(port)], env={**os.environ, **told}
    )
    try:
        wait_for(lambda: _answers(f"http://127.0.0.1:{port}/healthz"))
        yield program, f"http://127.0.0.1:{port}"
    finally:
        program.kill()
        program.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=PATIENCE).is_success
    except httpx.TransportError:
        return False


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def readers(program: subprocess.Popen[bytes]) -> list[int]:
    """The children of a process that have computed for a second: to start takes less."""
    listed = Path(f"/proc/{program.pid}/task").glob("*/children")
    children = [int(pid) for file in listed for pid in file.read_text().split()]
    return [pid for pid in children if _computed(pid) > 1.0]


def _computed(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
async def test_a_server_serves_others_and_stops_when_told_in_the_middle_of_a_bomb(
    settings: Settings, bomb: bytes
) -> None:
    endless = {"LTST_DOCUMENT_SECONDS": "36000", "LTST_DOCUMENT_UNPACKED_BYTES": str(2**60)}
    with served(settings, **endless) as (program, url):
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            sent = asyncio.create_task(
                client.post(
                    "/v1/documents/file",
                    content=bomb,
                    headers={"Content-Type": "application/pdf", "X-User-Id": "ana"},
                )
            )
            await asyncio.to_thread(wait_for, lambda: readers(program))
            (reader,) = readers(program)
            bob = {"X-User-Id": "bob"}
            said = {"role": "user", "content": "The harbour is closed."}
            assert (await client.post("/v1/sessions/monday/messages", json=said, headers=bob)).status_code == 201
            found = await client.post("/v1/search", json={"query": "harbour"}, headers=bob)
            assert found.status_code == 200 and "harbour" in found.text
            assert (await client.get("/healthz")).status_code == 200
            assert not sent.done()
            program.send_signal(signal.SIGTERM)
            answer = await sent
        assert answer.status_code == 503 and "about to end" in answer.text, "at once, not when the grace is over"
        await asyncio.to_thread(program.wait, PATIENCE)
        assert not _computed(reader), "it is gone"
