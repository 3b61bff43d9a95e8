"""Readers: every kind of file becomes blocks with their place, whatever is wrong with it, and blocks become chunks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.pdf import pdf
from ltst.errors import Invalid
from ltst.support.reading import html, markdown, source
from ltst.support.reading.chunks import LONGEST, Block, Chunk, chunks

PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", ". ", "word ", "x" * 30, "\r\n", "\r", "\u2028", "。", "!? ", "😀", "\t"),
        *("# a\n", "## b ##\n", "```\n", "~~~py\n", "- x\n", "1. y\n", "    code\n", "---\n", "=\n"),
        *("| a | b |\n", "|---|---|\n"),
    ]
)
TEXTS = st.text(max_size=300) | st.lists(PIECES, max_size=60).map("".join)
TAGS = st.sampled_from(
    [
        *("<p>", "</p>", "<h1>", "</h1>", "<h3>", "<li>", "<ul>", "</ul>", "<ol>", "<pre>", "</pre>", "<br/>"),
        *("<table>", "<tr>", "<td>", "</td>", "</table>", "<nav>", "</nav>", "<script>", "</script>", "<svg/>"),
        *("<!--", "-->", "&amp;", "&#0;", "&bogus;", "<a href='", '"', "<", ">", "word ", "\n", "\x00"),
        *("<title>", "</title>"),
    ]
)


def read(text: str, kind: str = source.MARKDOWN) -> list[Chunk]:
    """The chunks of a text."""
    return chunks_of(source.of_text(text, kind))


def chunks_of(found: source.DocumentSource) -> list[Chunk]:
    parts = source.read(found, most_pages=1000, most_unpacked=10**8)
    return [chunk for part in parts if not isinstance(part, source.SourceDetails) for chunk in part]


def text_of(found: list[Chunk]) -> str:
    return "".join(chunk.content for chunk in found)


def page_text(page: str) -> str:
    return "".join(block.text for block in html.read(page)[1])


# --- chunks


@given(TEXTS, st.integers(1, 60), st.sampled_from([markdown.blocks, markdown.paragraphs]))
def test_chunks_join_to_the_text_and_are_no_longer_than_asked(text: str, longest: int, blocks: object) -> None:
    found = [*chunks(blocks(text), longest)]  # type: ignore[operator]
    assert text_of(found) == text
    assert all(0 < len(chunk.content) <= longest for chunk in found)


@given(st.lists(TAGS, max_size=80).map("".join))
def test_any_html_is_read_and_its_chunks_are_bounded(page: str) -> None:
    _, blocks = html.read(page)
    found = [*chunks(blocks)]
    assert text_of(found) == "".join(block.text for block in blocks)
    assert all(0 < len(chunk.content) <= LONGEST for chunk in found)
    assert "\x00" not in text_of(found)


def test_a_heading_begins_a_chunk_and_stays_with_what_follows() -> None:
    found = read("# Guide\n\n## Install\n\n### Linux\n\napt install\n\n### Mac\n\nbrew install\n\n## Use\n\nRun it.\n")
    assert [(chunk.metadata["heading"], chunk.content) for chunk in found] == [
        ("Guide > Install > Linux", "# Guide\n\n## Install\n\n### Linux\n\napt install\n\n"),
        ("Guide > Install > Mac", "### Mac\n\nbrew install\n\n"),
        ("Guide > Use", "## Use\n\nRun it.\n"),
    ]


def test_prose_is_cut_at_paragraphs_then_sentences_and_not_away_from_its_heading() -> None:
    long = " ".join(f"Sentence {number} is here." for number in range(80))
    found = read(f"# Title\n\n{long}\n\nThe end of it.\n")
    assert len(found) > 1
    assert found[0].content.startswith("# Title\n\nSentence 0 is here.")
    assert all(chunk.content.rstrip().endswith(".") for chunk in found)
    assert {chunk.metadata["heading"] for chunk in found} == {"Title"}


@pytest.mark.parametrize("size", [5, 20, 30])
def test_code_that_fits_is_not_cut(size: int) -> None:
    code = (
        "```python\n" + "".join(f"call_number_{number}(argument)\n\n" for number in range(size)) + "# no heading\n```\n"
    )
    found = read("Some words before it. " * 40 + "\n\n" + code + "\n" + "Some words behind it. " * 40)
    assert len(code) <= LONGEST
    assert sum(code in chunk.content for chunk in found) == 1
    assert all(chunk.metadata == {} for chunk in found)


def test_rows_of_a_table_and_items_of_a_list_are_cut_between_lines() -> None:
    table = "| name | value |\n|---|---|\n" + "".join(f"| row. {n} | {'v' * 40} |\n" for n in range(100))
    items = "".join(f"- item {n}. {'w' * 30}\n" for n in range(100))
    for text in (table, items):
        found = read(text)
        assert len(found) > 1
        assert all(chunk.content.endswith("\n") for chunk in found)


def test_a_change_in_one_place_leaves_other_chunks_as_they_are() -> None:
    paragraphs = [" ".join(f"Word {n * 31 % 977} of {p}." for n in range(p % 7 + 3)) for p in range(600)]
    before = {chunk.content for chunk in read("\n\n".join(paragraphs), source.TEXT)}
    paragraphs[300] += " And something that was not there before."
    paragraphs.insert(5, "A whole new paragraph.")
    after = {chunk.content for chunk in read("\n\n".join(paragraphs), source.TEXT)}
    assert len(before) > 50
    assert len(after - before) <= 10


def test_a_text_of_countless_sections_has_not_countless_chunks() -> None:
    assert len(read("# a\nb\n" * 200_000)) < 30_000


# --- Markdown


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# One\ntext", "One"),
        ("   ### Three ###\ntext", "Three"),
        ("# C#\ntext", "C#"),
        ("One\n===\ntext", "One"),
        ("One\n===\n\nTwo\n---\ntext", "One > Two"),
        ("#hashtag\ntext", None),
        ("    # code\ntext", None),
        ("---\ntitle: x\n---\n\ntext", None),
        ("```\n# comment\n```\ntext", None),
        ("~~~\n# comment\n```\n# still\n~~~\ntext", None),
        ("| a | b |\n|---|---|\n| 1 | 2 |\ntext", None),
        ("- item\n---\ntext", None),
        ("# \ntext", None),
        ("# One\n\n## Two\n\n# Three\ntext", "Three"),
        ("# " + "x" * 500 + "\ntext", "x" * 120),
        ("# a\r\n\r\ntext\r\n", "a"),
    ],
)
def test_the_heading_over_the_last_words(text: str, path: str | None) -> None:
    assert read(text)[-1].metadata.get("heading") == path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Title\n\ntext", source.MARKDOWN),
        ("Intro\n\n## Title\n\ntext", source.MARKDOWN),
        ("See:\n```\ncode\n```\n", source.MARKDOWN),
        ("Just words.\n#tag", source.TEXT),
        ("#!/bin/sh\necho", source.TEXT),
        ("<html><body>hi</body></html>", source.TEXT),
    ],
)
def test_a_text_of_no_stated_kind_is_kept_as_it_is(text: str, kind: str) -> None:
    found = source.of_text(text, None)
    assert found.media_type == kind
    assert text_of(read(text, kind)) == text


# --- HTML

PAGE = """<!DOCTYPE html><html><head><title>The &amp; shop</title><style>p {color: red}</style>
<script>var a = "<p>not text</p>";</script></head><body><nav><ul><li>Home</li></ul></nav>
<div role="navigation">Breadcrumbs</div>
<header><h1>Our   shop</h1></header><p>We sell <b>bread</b> &mdash; and&nbsp;tea.<br>Every day.</p>
<h2>Hours</h2><ul><li>Monday: 9<li>Tuesday: 10<ol><li>first</li><li>second</li></ol></ul>
<table><caption>Prices</caption><tr><th>What</th><th>Price</th></tr><tr><td>Bread</td><td><p>3</p></td></tr></table>
<h2>Code</h2><pre>def a():
    return 1 &lt; 2
</pre><!-- a comment --><template>hidden</template><svg><text>drawn</text></svg>loose words</body></html>"""


def test_a_page_becomes_its_text_with_structure() -> None:
    title, blocks = html.read(PAGE)
    assert title == "The & shop"
    assert [(block.text.rstrip("\n"), block.heading) for block in blocks] == [
        ("Our shop", "Our shop"),
        ("We sell bread — and tea. Every day.", "Our shop"),
        ("Hours", "Our shop > Hours"),
        ("- Monday: 9\n- Tuesday: 10\n  1. first\n  2. second", "Our shop > Hours"),
        ("Prices", "Our shop > Hours"),
        ("What | Price\nBread | 3", "Our shop > Hours"),
        ("Code", "Our shop > Code"),
        ("def a():\n    return 1 < 2", "Our shop > Code"),
        ("loose words", "Our shop > Code"),
    ]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>one<p>two", "one\n\ntwo\n"),
        ("<h1>one<p>two", "one\n\ntwo\n"),
        ("a < b and c > d", "a < b and c > d\n"),
        ("<p title='a > b'>text</p>", "text\n"),
        ('<p title="never closed>text</p><p>more</p>', "text\n\nmore\n"),
        ("<nav>menu<main>text</main>", "text\n"),
        ("<div></nav></div></p></li>text", "text\n"),
        ("text<script>alert(1)", "text\n"),
        ("text<!-- never closed", "text\n"),
        ("te\x00xt &#0; &#xD800; &nosuch;", "text \ufffd \ufffd &nosuch;\n"),
        ("<SCRIPT>no</SCRIPT ><P>yes</P>", "yes\n"),
        ("<style><p>no</p></style>yes", "yes\n"),
        ("<textarea><p>no</textarea>yes", "yes\n"),
        ("text<a href", "text\n"),
        ("<pre>\n  a\n\n  b\n</pre>", "  a\n\n  b\n"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><p>&b;</p>', "]>\n\n&b;\n"),
    ],
)
def test_a_broken_page_is_read_as_far_as_it_goes(page: str, text: str) -> None:
    assert page_text(page) == text


UNITS = [
    *("<", "<!--", "<a ", "</", "&", "<![", '<a x="', "<?", "<script>", "&#", "<a '\">", "<title>", "role="),
    *("<div>", "<ul><li>", "<nav>", "<table><tr><td>", "<p>a", "<h1>b"),
]


@pytest.mark.parametrize("unit", UNITS)
def test_megabytes_of_anything_are_read_in_time(unit: str, rounds: Callable[[int], int]) -> None:
    script = (
        "import sys; from ltst.support.reading import html; from ltst.support.reading.chunks import chunks; "
        "page = sys.argv[1] * (int(sys.argv[2]) // len(sys.argv[1])); [*chunks(html.read(page)[1])]"
    )
    size = str(rounds(5_000_000 if unit == "<" else 1_000_000))
    try:
        done = subprocess.run([sys.executable, "-c", script, unit, size], timeout=60, capture_output=True)
    except subprocess.TimeoutExpired:
        pytest.fail("the time grows with the square of the length")
    assert done.returncode == 0, done.stderr


# --- PDF


def pdf_chunks(data: bytes) -> list[Chunk]:
    found = source.DocumentSource(data, source.PDF, "a.pdf")
    return chunks_of(found)


def test_a_pdf_is_read_page_by_page() -> None:
    data = pdf([["The first page.", "It is inter-", "esting."], [], ["The third (and last) \\ page, caf\u00e9."]])
    assert [(chunk.metadata, chunk.content) for chunk in pdf_chunks(data)] == [
        ({"page": 1}, "The first page.\nIt is interesting.\n\n"),
        ({"page": 3}, "The third (and last) \\ page, caf\u00e9.\n\n"),
    ]


def encrypted(password: str) -> bytes:
    import io

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([["A secret page."]]))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def test_a_pdf_that_anyone_may_open_is_read() -> None:
    assert text_of(pdf_chunks(encrypted(""))) == "A secret page.\n\n"


WHOLE = pdf([["A page of words."]] * 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (encrypted("secret"), "locked with a password"),
        (pdf([[], []]), "holds no text"),
        (pdf([]), "holds no text"),
        (b"", "is no PDF that can be read"),
        (b"%PDF-1.4", "is no PDF that can be read"),
        (b"%PDF-1.4\n" + b"\xff" * 5000, "is no PDF that can be read"),
        (b"not a pdf at all", "is no PDF that can be read"),
        (WHOLE.replace(b"/Kids [", b"/Kids [2 0 R "), "a.pdf"),
        (WHOLE.replace(b"/Pages 2 0 R", b"/Pages 9 9 R"), "a.pdf"),
        (WHOLE.replace(b"/Contents", b"/Contints"), "holds no text"),
        (b"%PDF-1.4\n1 0 obj\n" + b"[" * 100_000 + b"\nendobj\nstartxref\n9\n%%EOF", "is no PDF that can be read"),
        (b"%PDF-1.4\ntrailer\n<</Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF", "is no PDF that can be read"),
    ],
    ids=range(12),
)
def test_a_pdf_that_cannot_be_read_is_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        pdf_chunks(data)


@given(st.binary(max_size=200), st.integers(0, len(WHOLE)))
def test_bytes_put_into_a_pdf_are_read_or_refused(noise: bytes, place: int) -> None:
    try:
        found = pdf_chunks(WHOLE[:place] + noise + WHOLE[place + len(noise) :])
    except Invalid:
        return
    assert text_of(found).strip()


# --- files


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"# no heading", source.TEXT),
        ("a.MD", b"words", source.MARKDOWN),
        ("a.htm", b"words", source.HTML),
        ("a.pdf", b"words", source.PDF),
        ("a", b"%PDF-1.7 ...", source.PDF),
        ("a.bin", b"%PDF-1.7 ...", source.PDF),
        ("a", b"\n <!DocType HTML><p>", source.HTML),
        ("a.cgi", b"<?xml version='1.0'?>\n<html xmlns='x'>", source.HTML),
        ("a", b"\xef\xbb\xbf<html>", source.HTML),
        ("a", b"# Title\n", source.MARKDOWN),
        ("a.py", b"# Title\n", source.TEXT),
        ("a", b"words", source.TEXT),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_suffix_then_by_how_it_begins(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert source.of_file(tmp_path / name, None).media_type == kind


def file_text(file: Path) -> str:
    return text_of(chunks_of(source.of_file(file, None)))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.txt", "\ufeffnaïve".encode(), "naïve"),
        ("a.md", "\ufeff# naïve".encode(), "# naïve"),
        ("a.html", '<meta charset="windows-1252"><p>naïve “x”'.encode("cp1252"), "naïve “x”\n"),
        ("a.html", '<meta content="text/html; charset=koi8-r"><p>мир'.encode("koi8-r"), "мир\n"),
        ("a.html", "<p>naïve".encode(), "naïve\n"),
        ("a.html", '<meta charset="no-such"><p>naïve'.encode(), "naïve\n"),
        ("a.html", '<meta charset="utf_7"><p>naïve'.encode(), "naïve\n"),
    ],
)
def test_text_is_utf8_and_a_page_may_declare_another(tmp_path: Path, name: str, data: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert file_text(tmp_path / name) == text


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", "naïve".encode("latin-1"), "readable file of UTF-8 text"),
        ("a.md", "naïve".encode("utf-16"), "UTF-16; save it as UTF-8"),
        ("a.html", "<p>naïve".encode("latin-1"), "readable file of UTF-8 text"),
        ("a.html", b"<script>x</script>", "no text outside of scripts"),
        ("a.html", b"", "no text outside of scripts"),
        ("a.pdf", b"", "is no PDF"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(Invalid, match=said):
        file_text(tmp_path / name)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "missing", Path("a\x00b")):
        with pytest.raises(Invalid, match="readable file of UTF-8 text, Markdown, HTML or PDF"):
            source.of_file(path, None)


def test_a_library_for_pdf_is_loaded_when_one_is_read() -> None:
    script = "import sys, ltst, ltst.handles.documents; print('pypdf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


def test_rows_are_blocks_too() -> None:
    assert [chunk.content for chunk in chunks([Block("a\n" * 5, rows=True)], 4)] == ["a\na\n", "a\na\n", "a\n"]
