"""An export: all that was read from some files, checked and kept on disk, ready to be written in one go."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ltst.errors import Conflict, Invalid, NotFound
from ltst.handles import importing
from ltst.importers import documents, files, formats
from ltst.importers.source import Found, LtstExport, PlacedValue, SourceFile, Wishes
from ltst.importers.words import clean
from ltst.records import Imported, ImportedConversation, ImportedMessage, MemoryEntry
from ltst.support.branches import refuse_copies

if TYPE_CHECKING:
    from ltst.sync import User

# How many messages are written in one transaction, about; and how many conversations in the first.
BATCH = 2_000
FIRST = 20
# How many values of a file may go by before one is recognised.
LOOKED_AT = 5
ONE_MEBIBYTE = 1024 * 1024
VALUES = attrgetter(*(each.name for each in fields(ImportedMessage)))
# Twice as fast for messages, of which there are many, as what a dataclass does by itself.
QUICKLY: dict[type, Callable[[Any], Any]] = {ImportedMessage: lambda message: (ImportedMessage, VALUES(message))}

Tell = Callable[[int, int], None]
"""Told how far it is and how far it goes: when reading in bytes, when writing in messages and memories."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was read."""

    file: str
    format: str
    conversations: int
    messages: int
    entries: int


@dataclass(slots=True)
class Batch:
    """Some of what was read, for `user.sessions.add_many` and `user.entries.add_many`."""

    conversations: list[ImportedConversation] = field(default_factory=list)
    entries: list[MemoryEntry] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What came of writing an export: what was added, and the rows of each noun that came from exports of ltst."""

    added: Imported
    restored: Mapping[str, int]
    seconds: float


@dataclass
class Export(AbstractContextManager["Export"]):
    """What was read: use it inside `with`, since it is kept in files without a name until then."""

    files: list[FileRead] = field(default_factory=list)
    files_passed_over: list[str] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    _held: ExitStack = field(default_factory=ExitStack)
    _kept: IO[bytes] = field(init=False)
    _documents: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._kept = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the export

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files that hold what was read."""
        self._held.close()

    @property
    def conversations(self) -> int:
        """Return how many conversations, or portions of them, were read."""
        return sum(each.conversations for each in self.files)

    @property
    def messages(self) -> int:
        """Return how many messages were read."""
        return sum(each.messages for each in self.files)

    @property
    def entries(self) -> int:
        """Return how many memories were read."""
        return sum(each.entries for each in self.files)

    def keep(self, file: str, found: Found) -> None:
        """Keep what was read from a file."""
        if isinstance(found, LtstExport):
            self._documents.append((file, found.rows))
            return
        pickler = pickle.Pickler(self._kept, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = QUICKLY
        pickler.dump(found)

    def batches(self, size: int = BATCH) -> Iterator[Batch]:
        """Yield what was read in batches of about `size` messages and memories; the first is small.

        It tells the database what is to come: with statistics of its tables the others are written far faster.
        """
        batch, few = Batch(), FIRST
        for found in self._found():
            if isinstance(found, MemoryEntry):
                batch.entries.append(found)
                batch.size += 1
            else:
                batch.conversations.append(found)
                batch.size += len(found.messages)
            if batch.size >= size or (len(batch.conversations) == few and few):
                yield batch
                batch, few = Batch(), 0
        if batch.size:
            yield batch

    def _found(self) -> Iterator[ImportedConversation | MemoryEntry]:
        end = self._kept.seek(0, os.SEEK_END)
        self._kept.seek(0)
        while self._kept.tell() < end:
            # Nobody else can reach the file: it holds what was put in here.
            yield pickle.load(self._kept)  # noqa: S301

    def write(self, user: User, *, progress: Tell | None = None) -> Report:
        """Write all of it into a user's memory; what is there already stays, so it may be stopped and done again."""
        began = time.monotonic()
        restored: Counter[str] = Counter()
        for file, rows in self._documents:
            restored.update(_restored(user, file, rows))
        added, done, total = Imported(), 0, self.messages + self.entries
        for batch, new in _written(user, self.batches()):
            added += new
            done += batch.size
            if progress is not None:
                progress(done, total)
        return Report(added, dict(restored), time.monotonic() - began)


def read(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    of: str | None = None,
    skip_invalid: bool = False,
    max_content_bytes: int = ONE_MEBIBYTE,
    progress: Tell | None = None,
) -> Export:
    """Read files, folders and zips as a whole; Invalid names the file and the place of what cannot be read.

    What each is, is told by its content, or by `format`. Of rows and memories of several users, those `of` one are
    read. With `skip_invalid`, a conversation or row that cannot be read is left out and told in `faults`.
    """
    began = time.monotonic()
    wished = None if format is None else (format, formats.named(format))
    wishes = Wishes(datetime.now(UTC), max_content_bytes, of, skip_invalid)
    inputs = files.found([Path(path) for path in paths])
    export = Export(passed_over=wishes.passed_over, faults=wishes.faults)
    export.files_passed_over = inputs.passed_over
    total, done = sum(file.size for file in inputs.files), 0

    def tell(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, max(total, done))

    try:
        with inputs.held:
            for file in inputs.files:
                _read(file, wished, wishes, export, tell)
        if not export.files:
            raise Invalid(clean(f"there is nothing to import in {', '.join(map(str, paths))}; {_known(inputs)}"))
    except BaseException:
        export.close()
        raise
    export.seconds = time.monotonic() - began
    return export


def _known(inputs: files.Inputs) -> str:
    return f"known are {', '.join(formats.FORMATS)}; {len(inputs.passed_over):,} files were passed over"


def _read(
    file: files.Input,
    wished: tuple[str, formats.Format] | None,
    wishes: Wishes,
    export: Export,
    tell: Callable[[int], None],
) -> None:
    """Read a file, if it is known; one that was found beside others need not be."""
    source = SourceFile(file.name, file.stem, wishes)
    with file.open() as raw:
        items = source.readable(_items(file, files.Text(file, raw, tell), source))
        first = [*islice(items, 1)]
        name = wished[0] if wished else formats.recognised(first)
        while name is None and first and len(first) < LOOKED_AT and first[0].place.startswith("line"):
            further = [*islice(items, 1)]
            if not further:
                break
            first += further
            name = formats.recognised(further)
        if name is None:
            if file.named and (first or not wishes.skip_invalid):
                raise Invalid(f"{file.name}: {formats.unknown(first)}")
            export.files_passed_over.append(file.name)
            return
        _keep(export, source, name, formats.FORMATS[name].read(chain(first, items), source))


def _keep(export: Export, source: SourceFile, format: str, found: Iterable[Found]) -> None:
    counted: Counter[str] = Counter()
    for each in found:
        if isinstance(each, ImportedConversation):
            if not _will_be_taken(each, source):
                continue
            counted["conversations"] += 1
            counted["messages"] += len(each.messages)
        elif isinstance(each, MemoryEntry):
            counted["entries"] += 1
        export.keep(source.name, each)
    file = FileRead(source.name, format, counted["conversations"], counted["messages"], counted["entries"])
    export.files.append(file)


def _will_be_taken(found: ImportedConversation, source: SourceFile) -> bool:
    """Have it checked as it will be when it is written: then some of the import would be there, and some not."""

    def lay_out() -> bool:
        tree = importing.checked(found, source.wishes.largest).tree
        tree.branches({})
        refuse_copies(source.wishes.copies + tree.copies)
        source.wishes.copies += tree.copies
        return True

    return source.attempt(f"conversation {found.session_id}", lay_out) is not None


def _items(file: files.Input, text: files.Text, source: SourceFile) -> Iterator[PlacedValue]:
    return documents.rows(text) if file.is_csv else documents.JsonValues(text, source.leave_out).items()


def _written(user: User, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Imported]]:
    """Write batches, of which one is made ready while the database is at the other."""

    def write(batch: Batch) -> Imported:
        return user.sessions.add_many(batch.conversations) + user.entries.add_many(batch.entries)

    with ThreadPoolExecutor(2) as writers:
        going: deque[tuple[Batch, Future[Imported]]] = deque()
        try:
            for batch in batches:
                # The first goes alone, and what belongs to the same conversation keeps its order.
                while len(going) == 2 or (going and _follows(batch, going[-1][0])):
                    before, result = going.popleft()
                    yield before, result.result()
                going.append((batch, writers.submit(write, batch)))
            while going:
                before, result = going.popleft()
                yield before, result.result()
        finally:
            for _, result in going:
                result.cancel()


def _follows(batch: Batch, before: Batch) -> bool:
    if len(before.conversations) <= FIRST:
        return True
    return not {each.session_id for each in before.conversations}.isdisjoint(
        each.session_id for each in batch.conversations
    )


def _restored(user: User, file: str, rows: Mapping[str, Any]) -> Mapping[str, int]:
    try:
        return user.restore(rows)
    except (Invalid, NotFound, Conflict) as problem:
        raise type(problem)(f"{file}: {problem}") from None
    except (KeyError, TypeError, AttributeError) as problem:
        raise Invalid(f"{file}: a row lacks {problem}, or it is of the wrong kind") from None
