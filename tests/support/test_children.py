"""Children: work in a process of its own, which ends at its limits, with its caller and with its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import child_work
from helpers.waiting import PATIENCE, soon
from ltst.errors import Unavailable
from ltst.support.child import Limits
from ltst.support.children import Children, Crashed, OutOfTime

LONG = Limits(3600.0)
TESTS = Path(__file__).parents[1]


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children(2)
    yield made
    made.end()


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def said(marker: Path) -> int:
    """The process that a marker names, once there is one."""
    await soon(marker.exists)
    return int(marker.read_text())  # noqa: ASYNC240 - a few bytes


async def burning(children: Children, marker: Path, owner: str = "ana") -> tuple[asyncio.Task[None], int]:
    """Work that never ends, and the process that is at it."""
    task = asyncio.create_task(children.one(child_work.burn_from, str(marker), limits=LONG, owner=owner))
    return task, await said(marker)


async def test_each_call_returns_what_the_function_returns(children: Children) -> None:
    assert await children.each(child_work.double, [(1,), (2,)], LONG, owner="ana") == [2, 4]
    assert await children.each(child_work.double, [], LONG, owner="ana") == []


async def test_one_process_serves_one_call_after_the_other(children: Children) -> None:
    seen = {await children.one(child_work.pid, limits=LONG, owner="ana") for _ in range(5)}
    assert len(seen) == 1 and os.getpid() not in seen


def test_it_serves_one_event_loop_after_the_other(children: Children) -> None:
    seen = {asyncio.run(children.one(child_work.pid, limits=LONG, owner="ana")) for _ in range(3)}
    assert len(seen) == 1


async def test_what_takes_too_long_ends_and_keeps_the_answers_before_it(children: Children) -> None:
    batch = [(1,), (2,), (-1,), (3,)]
    *before, last = await children.each(child_work.double_or_burn, batch, Limits(0.5), owner="ana")
    assert before == [2, 4] and isinstance(last, OutOfTime)
    assert await children.one(child_work.double, 4, limits=LONG, owner="ana") == 8


async def test_the_parts_of_an_answer_come_one_by_one(children: Children) -> None:
    found = children.parts(child_work.numbers, 3, limits=LONG, owner="ana")
    assert [part async for part in found] == [[0], [1], [2]]


async def test_whoever_leaves_in_the_middle_is_not_answered_to_the_end(children: Children) -> None:
    found = children.parts(child_work.numbers, 10**9, limits=LONG, owner="ana")
    assert await anext(found) == [0]
    await found.aclose()
    assert await children.one(child_work.double, 4, limits=LONG, owner="ana") == 8


async def test_an_error_in_the_child_is_raised_here(children: Children) -> None:
    with pytest.raises(KeyError, match="no such thing"):
        await children.one(child_work.refuse, limits=LONG, owner="ana")


async def test_a_child_that_dies_at_its_work_is_told_and_replaced(children: Children) -> None:
    with pytest.raises(Crashed, match="status 7"):
        await children.one(child_work.die, limits=LONG, owner="ana")
    assert await children.one(child_work.double, 4, limits=LONG, owner="ana") == 8


async def test_a_child_that_was_killed_while_it_waited_is_replaced(children: Children) -> None:
    before = await children.one(child_work.pid, limits=LONG, owner="ana")
    os.kill(before, signal.SIGKILL)
    await soon(lambda: not alive(before))
    assert await children.one(child_work.pid, limits=LONG, owner="ana") != before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
async def test_too_much_memory_is_an_error_and_not_the_end_of_the_machine(children: Children) -> None:
    with pytest.raises(MemoryError):
        await children.one(child_work.grow, 1024**3, limits=Limits(3600, 256 * 1024**2), owner="ana")
    assert await children.one(child_work.grow, 1024, limits=LONG, owner="ana") == 1024


async def test_a_child_that_has_grown_is_not_kept(children: Children) -> None:
    before = await children.one(child_work.pid, limits=LONG, owner="ana")
    assert await children.one(child_work.grow, 400 * 1024**2, limits=LONG, owner="ana")
    assert await children.one(child_work.pid, limits=LONG, owner="ana") != before


async def test_whoever_is_cancelled_ends_the_child(children: Children, tmp_path: Path) -> None:
    task, pid = await burning(children, tmp_path / "marker")
    task.cancel()
    assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
    await soon(lambda: not alive(pid))


async def test_to_stop_ends_what_is_under_way_and_what_waits(children: Children, tmp_path: Path) -> None:
    task, pid = await burning(children, tmp_path / "marker")
    waiting = asyncio.create_task(children.one(child_work.double, 4, limits=LONG, owner="ana"))
    await asyncio.sleep(0)
    children.stop()
    for stopped in await asyncio.gather(task, waiting, return_exceptions=True):
        assert isinstance(stopped, Unavailable)
    await soon(lambda: not alive(pid))
    assert await children.one(child_work.double, 4, limits=LONG, owner="ana") == 8


async def test_one_owner_never_has_all_of_them(children: Children, tmp_path: Path) -> None:
    task, _ = await burning(children, tmp_path / "marker")
    more = [asyncio.create_task(children.one(child_work.double, 4, limits=LONG, owner="ana")) for _ in range(5)]
    assert await children.one(child_work.double, 4, limits=LONG, owner="bob") == 8
    more.pop().cancel()
    assert not any(each.done() for each in more)
    task.cancel()
    assert await asyncio.gather(*more) == [8] * 4


async def test_a_child_knows_no_secret(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LTST_MASTER_KEY", "DATABASE_URL", "PGPASSWORD", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "a secret")
    assert "a secret" not in (await children.one(child_work.environment, limits=LONG, owner="ana")).values()


# --- Programs: each is run by an interpreter of its own.

BEGINNING = f"""
import asyncio, os, sys
sys.path.insert(0, {str(TESTS)!r})
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from helpers import child_work
LONG = Limits(3600.0)
def ask(function, *arguments):
    return asyncio.run(LEARNING.one(function, *arguments, limits=LONG, owner="ana"))
"""


def run(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *flags, "-c", BEGINNING + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("flags", [(), ("-I",), ("-W", "error", "-X", "dev")])
def test_a_program_without_a_guard_asks_once_and_leaves_nothing_behind(flags: tuple[str, ...]) -> None:
    done = run("print(ask(child_work.pid))", *flags)
    assert done.returncode == 0 and done.stderr == ""
    assert not alive(int(done.stdout))


def test_a_fork_has_children_of_its_own() -> None:
    done = run(
        """
before = ask(child_work.pid)
if os.fork() == 0:
    os._exit(0 if ask(child_work.pid) not in (before, os.getpid()) and ask(child_work.double, 4) == 8 else 1)
print(os.waitstatus_to_exitcode(os.wait()[1]), ask(child_work.pid) == before)
"""
    )
    assert (done.stdout, done.stderr) == ("0 True\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends with the limit of its work")
async def test_a_child_ends_with_its_parent_whatever_it_is_at(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    program = f"{BEGINNING}\nask(child_work.burn_from, {str(marker)!r})"
    parent = subprocess.Popen([sys.executable, "-c", program])  # noqa: ASYNC220 - it is to run beside this one
    child = await said(marker)
    assert alive(child)
    parent.kill()
    parent.wait()
    await soon(lambda: not alive(child))
