"""An export: everything read from some files, checked and kept on disk, ready to be written at once."""

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
from ltst.importers.source import Found, ImportOptions, LtstExport, PlacedValue, SourceFile
from ltst.importers.words import clean
from ltst.records import Imported, ImportedConversation, ImportedMessage, MemoryEntry
from ltst.support.branches import refuse_copies

if TYPE_CHECKING:
    from ltst.sync import User

# Roughly how many messages one transaction writes, and how many conversations the first one.
BATCH = 2_000
FIRST = 20
# How many lines of a file to read until one is recognised.
LOOKED_AT = 5
ONE_MEBIBYTE = 1024 * 1024
VALUES = attrgetter(*(each.name for each in fields(ImportedMessage)))
# Twice as fast as the default pickling of dataclasses, because there are many messages.
QUICKLY: dict[type, Callable[[Any], Any]] = {ImportedMessage: lambda message: (ImportedMessage, VALUES(message))}

Tell = Callable[[int, int], None]
"""Called with the amount done and the total: in bytes when reading, in messages and memories when writing."""


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
    """The result of writing an export: what was added, and the restored rows of each noun from exports of ltst."""

    added: Imported
    restored: Mapping[str, int]
    seconds: float


@dataclass
class Export(AbstractContextManager["Export"]):
    """What was read; use it with `with`, because it is kept in temporary files until then."""

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
        """Deletes the temporary files."""
        self._held.close()

    @property
    def conversations(self) -> int:
        """How many conversations, or portions of them, were read."""
        return sum(each.conversations for each in self.files)

    @property
    def messages(self) -> int:
        """How many messages were read."""
        return sum(each.messages for each in self.files)

    @property
    def entries(self) -> int:
        """How many memories were read."""
        return sum(each.entries for each in self.files)

    def keep(self, file: str, found: Found) -> None:
        """Keeps what was read from a file."""
        if isinstance(found, LtstExport):
            self._documents.append((file, found.rows))
            return
        pickler = pickle.Pickler(self._kept, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = QUICKLY
        pickler.dump(found)

    def batches(self, size: int = BATCH) -> Iterator[Batch]:
        """Yields what was read in batches of about `size` messages and memories, the first one small.

        The first one gives the database statistics about its tables, which makes the others much faster.
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
            # Safe to unpickle, because nobody else can access the file.
            yield pickle.load(self._kept)  # noqa: S301

    def write(self, user: User, *, progress: Tell | None = None) -> Report:
        """Writes everything to a user's memory; existing rows stay, so it can be stopped and repeated."""
        began = time.monotonic()
        restored: Counter[str] = Counter()
        for file, rows in self._documents:
            restored.update(_restored(user, file, rows))
        added, done, total = Imported(), 0, self.messages + self.entries
        for batch, new in _write_batches(user, self.batches()):
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
    """Reads files, folders and zips as a whole; Invalid names the file and the place of what cannot be read.

    The format is recognised by content unless `format` names it. If there are several users, only rows and memories
    `of` the named one are read. With `skip_invalid`, what cannot be read is left out and listed in `faults`.
    """
    began = time.monotonic()
    wished = None if format is None else (format, formats.named(format))
    options = ImportOptions(datetime.now(UTC), max_content_bytes, of, skip_invalid)
    inputs = files.found([Path(path) for path in paths])
    export = Export(passed_over=options.passed_over, faults=options.faults)
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
                _read(file, wished, options, export, tell)
        if not export.files:
            raise Invalid(clean(f"there is nothing to import in {', '.join(map(str, paths))}; {_known(inputs)}"))
    except BaseException:
        export.close()
        raise
    export.seconds = time.monotonic() - began
    return export


def _known(inputs: files.InputFiles) -> str:
    return f"known are {', '.join(formats.FORMATS)}; {len(inputs.passed_over):,} files were passed over"


def _read(
    file: files.InputFile,
    wished: tuple[str, formats.Format] | None,
    options: ImportOptions,
    export: Export,
    tell: Callable[[int], None],
) -> None:
    """Reads a file if its format is known; an unknown file is an error only if it was named itself."""
    source = SourceFile(file.name, file.stem, options)
    with file.open() as raw:
        items = source.readable(_items(file, files.FileText(file, raw, tell), source))
        first = [*islice(items, 1)]
        name = wished[0] if wished else formats.recognised(first)
        while name is None and first and len(first) < LOOKED_AT and first[0].place.startswith("line"):
            further = [*islice(items, 1)]
            if not further:
                break
            first += further
            name = formats.recognised(further)
        if name is None:
            if file.named and (first or not options.skip_invalid):
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
    """Checks a conversation as writing would; a failure during writing would leave the import half done."""

    def lay_out() -> bool:
        tree = importing.checked(found, source.options.largest).tree
        tree.branches({})
        refuse_copies(source.options.copies + tree.copies)
        source.options.copies += tree.copies
        return True

    return source.attempt(f"conversation {found.session_id}", lay_out) is not None


def _items(file: files.InputFile, text: files.FileText, source: SourceFile) -> Iterator[PlacedValue]:
    return documents.rows(text) if file.is_csv else documents.JsonValues(text, source.leave_out).items()


def _write_batches(user: User, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Imported]]:
    """Writes batches, preparing one while the database writes the other; yields each with its result."""

    def write(batch: Batch) -> Imported:
        return user.sessions.add_many(batch.conversations) + user.entries.add_many(batch.entries)

    with ThreadPoolExecutor(2) as writers:
        going: deque[tuple[Batch, Future[Imported]]] = deque()
        try:
            for batch in batches:
                # The first batch is written alone, and parts of one conversation stay in order.
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
