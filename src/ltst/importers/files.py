"""Finds the files to import, in folders, zips or standard input, and opens them one by one as text."""

from __future__ import annotations

import codecs
import gzip
import lzma
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from string import ascii_letters
from typing import IO, NamedTuple, cast

from ltst.errors import Invalid, NotFound
from ltst.importers.words import clean

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")
TABLE = ".csv"
COLUMN_BEGINS = {bytes([each]) for each in b'"_' + ascii_letters.encode()}
LOOKED_AT = 64
ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"
PACKED = ".gz"
# What programs leave in folders and archives besides their data.
IGNORED = ("__MACOSX", ".git", "node_modules")
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Text shrinks to about a tenth of its size in a zip, hardly ever to a hundredth.
SUSPICIOUS_SIZE = 100 * 1024**2
SUSPICIOUS_RATIO = 200
BROKEN = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,  # in the name of a member
)


class InputFile(NamedTuple):
    """A file to read: its name and size, and whether the caller named it or it was found in a folder.

    File names may be any bytes; those that are not text are replaced, because names are shown and stored.
    """

    name: str
    stem: str
    size: int
    named: bool
    is_csv: bool
    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(slots=True)
class InputFiles:
    """The files to read and those passed over; `held` keeps zips and standard input open while they are needed."""

    files: list[InputFile] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)


class FileText:
    """The text of a file, read piece by piece; errors name the byte."""

    def __init__(self, file: InputFile, raw: IO[bytes], tell: Callable[[int], None]) -> None:
        """Reads a file; `tell` is called with the number of bytes of each read."""
        self.name = file.name
        self._raw = raw
        self._tell = tell
        self._read = 0
        start = self._bytes(4)
        bom, encoding = next((each for each in BOMS if start.startswith(each[0])), (b"", "utf-8"))
        self._waiting = start[len(bom) :]
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._before = len(bom)

    def read(self, size: int) -> str:
        """Returns some text, about `size` bytes of it, or "" at the end."""
        while True:
            data = self._waiting or self._bytes(size)
            self._waiting = b""
            pending = len(self._decoder.getstate()[0])
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as problem:
                place = self._before - pending + problem.start + 1
                raise Invalid(f"{self.name}: byte {place:,} is not {self._encoding.upper()}") from None
            self._before += len(data)
            if text or not data:
                return text

    def _bytes(self, size: int) -> bytes:
        try:
            data = self._raw.read(size)
        except BROKEN as problem:
            raise Invalid(
                f"{self.name}: this packed file is broken, encrypted or of an unknown kind: {problem}"
            ) from None
        self._tell(len(data))
        return data


def found(paths: Iterable[Path]) -> InputFiles:
    """Returns all files to read at these paths."""
    inputs = InputFiles()
    for path in paths:
        if str(path) == "-":
            _add_standard_input(inputs)
        elif path.is_dir():
            for file in _inside(path):
                _add(file, clean(str(file.relative_to(path.parent))), inputs, named=False)
        elif path.exists():
            _add(path, clean(path.name), inputs, named=True)
        else:
            raise NotFound(clean(f"there is no file {path}"))
    return inputs


def _inside(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if file.is_file() and not any(part in IGNORED for part in parts):
            yield file


def _add(path: Path, name: str, inputs: InputFiles, *, named: bool) -> None:
    if not stat.S_ISREG(path.stat().st_mode):
        if not named:
            return
        raise Invalid(f"{name}: this is no file that can be read twice; pipe it in and name -")
    with path.open("rb") as file:
        start = file.read(4)
    packed = start.startswith(GZIP)
    inner = path.with_suffix("") if packed and path.suffix.lower() == PACKED else path
    if start == ZIP:
        _add_members(inputs.held.enter_context(path.open("rb")), name, inputs)
    elif named or inner.suffix.lower() in SUFFIXES:
        table, size = inner.suffix.lower() == TABLE, path.stat().st_size

        def opened() -> AbstractContextManager[IO[bytes]]:
            return _unpacked(path.open("rb"), name, size) if packed else path.open("rb")

        inputs.files.append(InputFile(name, clean(inner.stem), size, named, table, opened))
    else:
        inputs.passed_over.append(name)


def _add_members(packed: IO[bytes], name: str, inputs: InputFiles) -> None:
    try:
        archive = inputs.held.enter_context(zipfile.ZipFile(packed))
    except BROKEN as problem:
        raise Invalid(f"{name}: this zip is broken: {problem}") from None
    for member in sorted(archive.infolist(), key=lambda each: each.filename):
        inside = PurePosixPath(member.filename)
        if member.is_dir() or any(part in IGNORED for part in inside.parts):
            continue
        called = f"{name}: {member.filename}"
        if inside.suffix.lower() not in SUFFIXES:
            inputs.passed_over.append(called)
            continue
        if member.file_size > SUSPICIOUS_SIZE and member.file_size > SUSPICIOUS_RATIO * member.compress_size:
            raise Invalid(f"{called}: it would unpack to {member.file_size:,} bytes, far more than texts do")
        table, opener = inside.suffix.lower() == TABLE, _opener(archive, member, called)
        inputs.files.append(InputFile(called, inside.stem, member.file_size, False, table, opener))


class _Unpacked(gzip.GzipFile):
    """The contents of a packed file; stops if it expands far more than text does."""

    def __init__(self, raw: IO[bytes], name: str, size: int) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._called = name
        self._left = max(SUSPICIOUS_SIZE, SUSPICIOUS_RATIO * size)

    def read(self, size: int | None = -1) -> bytes:
        """Returns some bytes; raises Invalid once there are too many."""
        data = super().read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Invalid(f"{self._called}: it unpacks to far more than texts do")
        return data


@contextmanager
def _unpacked(packed: AbstractContextManager[IO[bytes]], name: str, size: int) -> Iterator[IO[bytes]]:
    with packed as raw, _Unpacked(raw, name, size) as unpacked:
        yield cast(IO[bytes], unpacked)


def _opener(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, called: str
) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    def opened() -> AbstractContextManager[IO[bytes]]:
        try:
            return archive.open(member)
        except BROKEN as problem:
            raise Invalid(f"{called}: this zip is broken, encrypted or of an unknown kind: {problem}") from None

    return opened


def _start(unpacked: IO[bytes]) -> bytes:
    try:
        return unpacked.read(LOOKED_AT)
    except BROKEN as problem:
        raise Invalid(f"standard input: this packed file is broken: {problem}") from None


def _add_standard_input(inputs: InputFiles) -> None:
    """Copies standard input to a temporary file, because a zip is read from its end and the size must be known."""
    kept = inputs.held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed when all is read
    shutil.copyfileobj(sys.stdin.buffer, kept)
    size = kept.tell()
    kept.seek(0)
    start = kept.read(LOOKED_AT)
    if start.startswith(ZIP):
        _add_members(kept, "standard input", inputs)
        return

    def opened() -> AbstractContextManager[IO[bytes]]:
        kept.seek(0)
        whole: AbstractContextManager[IO[bytes]] = nullcontext(kept)  # closed together with all others
        return _unpacked(whole, "standard input", size) if packed else whole

    packed = start.startswith(GZIP)
    if packed:
        with opened() as unpacked:
            start = _start(unpacked)
    # Input from a pipe has no name to tell its format; a CSV file begins with a column name.
    table = start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in COLUMN_BEGINS
    inputs.files.append(InputFile("standard input", "stdin", size, True, table, opened))
