"""Import and export on the page, retention of conversations, and erasure with its receipt."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Coroutine
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from fastapi import APIRouter, Response

from ltst.doors.web.pages import FAILED, PageRoute, leading, page
from ltst.doors.web.visits import KEY, USER, SentFile, Visit, Visited
from ltst.errors import Invalid, LtstError, NotFound
from ltst.importers import Report
from ltst.importers import read as read_export
from ltst.memory import AsyncUser
from ltst.records import Receipt
from ltst.support.ids import new_id
from ltst.support.logs import LOGGER

if TYPE_CHECKING:
    from ltst.sync import User

router = APIRouter(route_class=PageRoute)

T = TypeVar("T")
MOST_KEPT = 20  # finished imports whose result is still shown


@dataclass(slots=True)
class Import:
    """An import that is running or done."""

    user_id: str
    name: str
    stage: str = "Reading"
    done: int = 0
    total: int = 0
    report: Report | None = None
    problem: str | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def over(self) -> bool:
        """Returns whether the import is done."""
        return self.report is not None or self.problem is not None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Records the progress."""
        self.stage, self.done, self.total = stage, done, total


class LoopBridge:
    """Wraps a handle of the server's event loop for use in another thread."""

    def __init__(self, handle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._handle, self._loop = handle, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        if not callable(found):
            return LoopBridge(found, self._loop)
        return lambda *given: self._waited(found(*given))

    def _waited(self, asked: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()


@router.get("/bring")
async def overview(visit: Visited) -> Response:
    """Show all that comes and goes."""
    return await _overview(visit)


@router.post("/bring/import")
async def bring(visit: Visited) -> Response:
    """Begin to import a file."""
    file = visit.files.get("file")
    if file is None or not file.content:
        raise Invalid("choose a file to bring: an export of ChatGPT, Claude or ltst, or messages as JSON lines or CSV")
    job, job_id, jobs = Import(str(visit.user_id), file.name), new_id(), _jobs(visit)
    jobs[job_id] = job
    for old in [each for each in jobs if jobs[each].over][:-MOST_KEPT]:
        del jobs[old]
    job.task = asyncio.create_task(_imported(visit, job, file))
    return leading("/bring/import", job=job_id)


@router.get("/bring/import")
async def progress(visit: Visited) -> Response:
    """Show how far an import is."""
    job_id = visit.need("job")
    job = _jobs(visit).get(job_id)
    if job is not None and job.user_id != visit.user_id:
        raise NotFound("there is no such import")
    if visit.piecemeal:
        return page(visit, "import.html", job=job, job_id=job_id)
    return await _overview(visit, job=job, job_id=job_id)


@router.get("/bring/export")
async def take(visit: Visited) -> Response:
    """Hand over everything as one file."""
    document = await visit.user.export()
    written = await asyncio.to_thread(json.dumps, document, ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": 'attachment; filename="ltst-export.json"'}
    return Response(written, media_type="application/json", headers=headers)


@router.post("/bring/retention")
async def retain(visit: Visited) -> Response:
    """Say how long conversations stay."""
    kind = visit.asked("type") or "*"
    if visit.asked("do") == "forget":
        await visit.user.retention.forget(kind)
    else:
        await visit.user.retention.set(kind, archive_after=_days(visit, "archive"), delete_after=_days(visit, "delete"))
    return leading("/bring")


@router.post("/bring/erase")
async def erase(visit: Visited) -> Response:
    """Remove everything, and prove it."""
    if visit.asked("confirmed").strip() != str(visit.user_id).strip():
        raise Invalid(f"to erase this memory, write its name: {visit.user_id}")
    receipt = await visit.user.erase()
    verified = await visit.memory.verify(receipt)
    answer = page(visit, "receipt.html", receipt=receipt, verified=verified, written=_receipt_json(receipt))
    if visit.caller is not None and not visit.caller.admin:
        answer.delete_cookie(KEY)  # the key was erased with the memory
    answer.delete_cookie(USER)
    return answer


@router.post("/bring/verify")
async def verify(visit: Visited) -> Response:
    """Check a receipt that was given before."""
    given = visit.mapping("receipt", "a receipt is the JSON that was given with the erasure")
    verified = await visit.administered.verify(given)
    return page(visit, "receipt.html", receipt=None, verified=verified, written=None)


async def _overview(visit: Visit, job: Import | None = None, job_id: str | None = None) -> Response:
    policies = await visit.user.retention.list()
    return page(visit, "bring.html", policies=policies, job=job, job_id=job_id, most=visit.largest)


async def _imported(visit: Visit, job: Import, file: SentFile) -> None:
    """Imports a file in the background; the page shows the result."""
    loop = asyncio.get_running_loop()
    try:
        job.report = await asyncio.to_thread(_write, visit.user, job, file, loop)
        await visit.user.learning.catch_up()
    except LtstError as problem:
        job.problem = str(problem)
    except Exception as problem:  # noqa: BLE001 - nobody waits for this task
        LOGGER.error("an import failed", exc_info=problem)
        job.problem = FAILED


def _write(user: AsyncUser, job: Import, file: SentFile, loop: asyncio.AbstractEventLoop) -> Report:
    with tempfile.TemporaryDirectory(prefix="ltst-import-") as folder:
        kept = Path(folder) / (Path(file.name.replace("\\", "/")).name or "export")
        kept.write_bytes(file.content)
        most = user._desk.settings.max_content_bytes
        told = read_export([kept], max_content_bytes=most, progress=lambda *far: job.tell("Reading", *far))
        with told as export:
            writer = cast("User", LoopBridge(user, loop))  # it has all the methods that an export calls
            return export.write(writer, progress=lambda *far: job.tell("Writing", *far))


def _jobs(visit: Visit) -> dict[str, Import]:
    state = visit.request.app.state
    if not hasattr(state, "imports"):
        state.imports = {}
    found: dict[str, Import] = state.imports
    return found


def _days(visit: Visit, name: str) -> timedelta | None:
    days = visit.number(name, 0, 100_000)
    return timedelta(days=days) if days else None


def _receipt_json(receipt: Receipt) -> str:
    return json.dumps({**asdict(receipt), "erased_at": receipt.erased_at.isoformat()}, indent=1, default=list)
