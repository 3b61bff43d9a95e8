"""Documents: read from files of every kind, found with their page, written once, changed only where they changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import ltst
from bench.pdf import pdf
from helpers.embedders import hashed
from helpers.probes import Connection, tables, value
from ltst import AsyncMemory, CallableEmbedder, Memory, Settings, User

WORDS = [
    *("water", "boiler", "pressure", "valve", "kettle", "steam", "pipe", "gauge"),
    *("heat", "pump", "filter", "drain", "clean", "safety", "replace", "check"),
]
INDEXED = """
SELECT chunk_id::text, chunk.xmin::text, chunk.embedding::text, unit.unit_no, unit.xmin::text, made.xmin::text,
       made.embedding::text,
       ARRAY(SELECT term FROM search_terms AS held
             WHERE held.user_id = chunk.user_id AND block = unit.unit_no / 1024
               AND unit.unit_no % 1024 = ANY(SELECT posting & 1023 FROM unnest(postings) AS posting) ORDER BY term)
FROM document_chunks AS chunk LEFT JOIN search_units AS unit ON unit.user_id = chunk.user_id AND row_id = chunk_id
LEFT JOIN search_vectors AS made ON made.user_id = chunk.user_id AND made.unit_no = unit.unit_no AND part = 0
"""
PAGES = 300
VECTORS = [
    "SELECT count(*) FROM search_vectors WHERE part = 0",
    "SELECT count(*) FROM search_units",
]
SECTIONS = "".join(f"# Part {n}\n\nPart {n} tells of {WORDS[n % 16]} number {n}.\n\n" for n in range(40))


def manual(pages: int = PAGES) -> list[list[str]]:
    """A manual whose every page says something that no other does."""
    return [
        [f"Chapter {n}", *_lines(n), f"The emergency code {n * 7919} stops unit U{n}."] for n in range(1, pages + 1)
    ]


def _lines(page: int) -> list[str]:
    said = (" ".join(WORDS[(page * 7 + line * 3 + word * word) % 16] for word in range(12)) for line in range(28))
    return [f"{each.capitalize()} {page}." for each in said]


@pytest.fixture
def user(sync_memory: Memory) -> User:
    return sync_memory.user("ana")


def written(database: Connection) -> list[Any]:
    """Every row of a document, chunk, event or the index with the transaction that wrote it."""
    index = [name for name in tables(database) if name.startswith("search_")]
    return [
        database.execute(f"SELECT t.xmin::text, t.ctid::text, to_jsonb(t) FROM {table} AS t ORDER BY 1, 2").fetchall()
        for table in ("documents", "document_chunks", "event_ledger", *index)
    ]


def last_event(user: User) -> tuple[str, Any]:
    event = max(user.events.list(limit=1000), key=lambda each: each.event_id)
    return event.action, event.details


# --- a long document


def test_300_pages_are_ingested_with_progress_found_by_search_and_written_once(
    settings: Settings, database: Connection, tmp_path: Path
) -> None:
    with Memory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        _ingest_300_pages(memory, database, tmp_path)


def _ingest_300_pages(memory: Memory, database: Connection, tmp_path: Path) -> None:
    user, file = memory.user("ana"), tmp_path / "manual.pdf"
    file.write_bytes(pdf(manual()))
    seen: list[tuple[int, int]] = []
    document = user.documents.add(file, progress=lambda done, total: seen.append((done, total)))

    assert seen[:PAGES] == [(page, PAGES) for page in range(1, PAGES + 1)]
    count = len(document.chunks)
    assert seen[PAGES:] == [(min(done + 500, count), count) for done in range(0, count, 500)]
    assert {chunk.metadata["page"] for chunk in document.chunks} == set(range(1, PAGES + 1))
    assert (document.media_type, document.title, document.uri) == ("application/pdf", "manual.pdf", file.as_uri())

    user.chat("monday").add("user", "I am responsible for unit U7 at work.")
    memory.settle()
    found = user.search("which emergency code stops unit U217?")
    assert (found[0].kind, found[0].id, found[0].metadata) == ("document", document.document_id, {"page": 217})
    assert f"emergency code {217 * 7919}" in found[0].content

    before = written(database)
    told: list[tuple[int, int]] = []
    assert user.documents.add(file, progress=lambda *step: told.append(step)) == document
    assert user.documents.add(document.text) == document
    assert (written(database), told) == (before, [])
    copy = tmp_path / "copy.pdf"
    copy.write_bytes(file.read_bytes())
    assert user.documents.add(copy).uri == copy.as_uri() != document.uri


def test_a_changed_page_changes_its_own_chunks_only(
    sync_memory: Memory, user: User, database: Connection, tmp_path: Path
) -> None:
    file, pages = tmp_path / "manual.pdf", manual(12)
    file.write_bytes(pdf(pages))
    before = user.documents.add(file)
    sync_memory.settle()
    pages[4][3] = "Something else is said here."
    pages.insert(2, ["A page that came later."])
    file.write_bytes(pdf(pages))
    vectors = [value(database, query) for query in VECTORS]
    assert vectors == [len(before.chunks)] * 2
    after = user.documents.add(file)

    assert (after.document_id, after.created_at, after.title) == (before.document_id, before.created_at, before.title)
    assert after.updated_at is not None and before.updated_at is None
    ids = {chunk.content: chunk.chunk_id for chunk in before.chunks}
    kept = [chunk for chunk in after.chunks if chunk.content in ids]
    assert len(kept) >= len(before.chunks) - 3
    assert all(chunk.chunk_id == ids[chunk.content] for chunk in kept)
    assert [chunk.chunk_index for chunk in after.chunks] == [*range(1, len(after.chunks) + 1)]
    assert [chunk.metadata["page"] for chunk in after.chunks if "U12." in chunk.content] == [13]
    assert all(value(database, query) >= len(before.chunks) - 3 for query in VECTORS)
    assert last_event(user) == (
        "update",
        {"kept": len(kept), "added": len(after.chunks) - len(kept), "removed": len(before.chunks) - len(kept)},
    )
    assert user.search("Something else is said here.")[0].metadata == {"page": 6}


# --- updates


def index_of(database: Connection) -> dict[str, Any]:
    """Every chunk with its place in the index, and the transactions that wrote it."""
    return {row[0]: row[1:] for row in database.execute(INDEXED).fetchall()}


def test_what_stays_keeps_its_id_its_vector_and_its_row(sync_memory: Memory, user: User, database: Connection) -> None:
    before = user.documents.add(SECTIONS, uri="note:1")
    sync_memory.settle()
    indexed = index_of(database)
    after = user.documents.add(SECTIONS.replace("number 7.", "number seven."), uri="note:1")
    same = {chunk.chunk_id for chunk in before.chunks} & {chunk.chunk_id for chunk in after.chunks}
    assert len(same) == 39
    assert {key: found for key, found in index_of(database).items() if key in same} == {
        key: indexed[key] for key in same
    }
    assert user.documents.get(after.document_id).text == SECTIONS.replace("number 7.", "number seven.")  # type: ignore[union-attr]
    assert [hit.id for hit in user.search("what is number seven?")][:1] == [before.document_id]


@pytest.mark.parametrize(
    "changed",
    [
        "# New\n\nAhead.\n\n" + SECTIONS,
        SECTIONS + "# New\n\nBehind.\n\n",
        SECTIONS[len(SECTIONS) // 2 :] + SECTIONS[: len(SECTIONS) // 2],
        SECTIONS + SECTIONS,
        "# Part 1\n\nPart 1 tells of boiler number 1.\n\n",
        "Wholly different.",
    ],
    ids=["ahead", "behind", "swapped", "doubled", "less", "other"],
)
def test_any_change_leaves_the_text_and_the_order_right(user: User, changed: str) -> None:
    before = user.documents.add(SECTIONS, uri="note:1")
    after = user.documents.add(changed, uri="note:1")
    assert (after.document_id, after.text) == (before.document_id, changed)
    assert [chunk.chunk_index for chunk in after.chunks] == [*range(1, len(after.chunks) + 1)]
    back = user.documents.add(SECTIONS, uri="note:1")
    assert (back.document_id, back.text) == (before.document_id, SECTIONS)
    assert len(user.documents.list()) == 1


def test_what_was_there_no_longer_is_not_found(user: User) -> None:
    user.documents.add("The password of the shed is swordfish.", uri="note:1")
    assert user.search("swordfish")
    user.documents.add("The shed has no password any more.", uri="note:1")
    assert "swordfish" not in str(user.search("swordfish", floor=0.0))


def test_a_chunk_under_another_heading_is_indexed_anew(sync_memory: Memory, user: User, database: Connection) -> None:
    body = "\n\n".join(
        f"Paragraph {n} of a long section says {WORDS[n % 16]} and little else of note." for n in range(60)
    )
    before = user.documents.add(f"# Kettles\n\n{body}", uri="note:1")
    sync_memory.settle()
    assert not any("lighthous" in found[-1] for found in index_of(database).values())
    after = user.documents.add(f"# Lighthouses\n\n{body}", uri="note:1")
    kept = {chunk.chunk_id for chunk in before.chunks} & {chunk.chunk_id for chunk in after.chunks}
    assert kept and {chunk.metadata["heading"] for chunk in after.chunks} == {"Lighthouses"}
    assert [value(database, query) for query in VECTORS] == [0, 0]
    sync_memory.settle()
    indexed = index_of(database)
    assert {chunk.chunk_id for chunk in after.chunks} == {*indexed}
    assert all("lighthous" in found[-1] for found in indexed.values())


def test_title_and_metadata_stay_unless_others_are_given(user: User) -> None:
    user.documents.add("one", uri="note:1", title="Note", metadata={"a": 1})
    second = user.documents.add("two", uri="note:1")
    assert (second.title, second.metadata) == ("Note", {"a": 1})
    third = user.documents.add("three", uri="note:1", title="Other", metadata={"b": 2})
    assert (third.title, third.metadata) == ("Other", {"b": 2})


def test_the_name_of_a_file_does_not_replace_a_title(user: User, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("one")
    user.documents.add(file, title="Mine")
    file.write_text("two")
    assert user.documents.add(file).title == "Mine"


def test_one_text_at_two_addresses_is_two_documents(user: User, tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("first")
    two.write_text("second")
    first, second = user.documents.add(one), user.documents.add(two)
    one.write_text("second")
    assert user.documents.add(one).document_id == first.document_id
    assert user.documents.add(two) == second
    found = [(each.document_id, each.uri) for each in user.documents.list()]
    assert {*found} == {(first.document_id, one.as_uri()), (second.document_id, two.as_uri())}
    assert {hit.id for hit in user.search("second", kinds=["document"])} == {first.document_id, second.document_id}
    assert user.documents.forget(first.document_id)
    assert user.documents.get(second.document_id) == second


def test_one_text_without_an_address_is_any_document_that_says_it(user: User) -> None:
    named = user.documents.add("the same", uri="note:1")
    assert user.documents.add("the same") == named
    assert user.documents.add("another") == user.documents.add("another")
    assert user.documents.add("another", uri="note:2").document_id != user.documents.add("another").document_id


def test_what_is_exported_comes_back_with_both_addresses(sync_memory: Memory, user: User) -> None:
    both = {user.documents.add("the same", uri=uri).uri for uri in ("note:1", "note:2")}
    other = sync_memory.user("someone else")
    other.restore(user.export())
    other.restore(user.export())
    assert {each.uri for each in other.documents.list()} == both and len(other.documents.list()) == 2


def test_addresses_are_compared_whole_and_may_be_long(user: User) -> None:
    first = user.documents.add("one", uri="x" * 4096)
    assert user.documents.add("two", uri="x" * 4095).document_id != first.document_id
    assert user.documents.add("three", uri="x" * 4096).document_id == first.document_id


def test_two_users_keep_the_same_address_apart(sync_memory: Memory) -> None:
    ana, eve = sync_memory.user("ana"), sync_memory.user("eve")
    ana.documents.add("ana's", uri="note:1")
    eve.documents.add("eve's", uri="note:1")
    assert [each.text for each in map(ana.documents.get, [ana.documents.list()[0].document_id]) if each] == ["ana's"]


# --- at once, and all or nothing


async def test_the_same_document_added_at_once_is_one(memory: AsyncMemory, tmp_path: Path) -> None:
    file = tmp_path / "manual.pdf"
    file.write_bytes(pdf(manual(5)))
    added = await asyncio.gather(*(memory.user("ana").documents.add(file) for _ in range(8)))
    assert len({document.document_id for document in added}) == 1
    assert len(await memory.user("ana").events.list()) == 1


async def test_different_texts_of_one_address_added_at_once_are_one_document(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    texts = [SECTIONS.replace("Part", f"Piece {n}") for n in range(6)]
    added = await asyncio.gather(*(user.documents.add(text, uri="note:1") for text in texts))
    assert len({document.document_id for document in added}) == 1
    (kept,) = await user.documents.list()
    assert (await user.documents.get(kept.document_id)).text in texts  # type: ignore[union-attr]


async def test_texts_that_change_places_at_once_do_no_harm(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    for _ in range(3):
        await asyncio.gather(*(user.documents.add(f"text {n % 3}", uri=f"note:{n // 3}") for n in range(9)))
    listed = await user.documents.list()
    assert {(await user.documents.get(each.document_id)).text for each in listed} <= {f"text {n}" for n in range(3)}  # type: ignore[union-attr]


@pytest.mark.parametrize("step", ["pages", "chunks"])
def test_a_document_is_kept_whole_or_not_at_all(user: User, tmp_path: Path, step: str) -> None:
    file = tmp_path / "manual.pdf"
    file.write_bytes(pdf(manual(20)))

    def stop(done: int, total: int) -> None:
        if (total == 20) == (step == "pages"):
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        user.documents.add(file, progress=stop)
    assert user.documents.list() == [] and user.events.list() == []
    assert user.documents.add(file).chunks


# --- kinds


def test_html_is_kept_as_its_text_and_found_under_its_heading(user: User, tmp_path: Path) -> None:
    file = tmp_path / "shop.html"
    file.write_text(
        "<title>The shop</title><nav>Home</nav><h1>Shop</h1><h2>Delivery</h2>"
        "<p>Parcels leave on <b>Thursday</b>.</p><script>steal()</script>"
    )
    document = user.documents.add(file)
    assert (document.title, document.media_type) == ("The shop", "text/html")
    assert document.text == "Shop\n\nDelivery\n\nParcels leave on Thursday.\n"
    assert user.search("when do parcels leave?")[0].metadata == {"heading": "Shop > Delivery"}


def test_a_text_is_html_only_if_it_is_said_to_be(user: User) -> None:
    page = "<html><p>Hello</p></html>"
    assert user.documents.add(page).text == page
    assert user.documents.add(page, media_type="text/html").text == "Hello\n"


@pytest.mark.parametrize("given", ["text/rtf", "", 5])
def test_an_unknown_kind_is_refused(user: User, given: Any) -> None:
    with pytest.raises(
        ltst.Invalid, match="media_type must be one of text/plain, text/markdown, text/html, application/pdf"
    ):
        user.documents.add("text", media_type=given)


def test_a_text_cannot_be_a_pdf(user: User) -> None:
    with pytest.raises(ltst.Invalid, match="give its path"):
        user.documents.add("%PDF-1.4", media_type="application/pdf")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", pdf([[]]), "a.pdf holds no text"),
        ("a.pdf", b"%PDF-1.4 broken", "a.pdf is no PDF that can be read"),
        ("a.html", b"<script>x</script>", "a.html holds no text"),
        ("a.txt", b"", "must not be empty or blank"),
        ("a.md", b" \n\n ", "must not be empty or blank"),
        ("a.txt", b"a\x00b", "NUL"),
        ("a.txt", b"\xff", "a.txt is not a readable file of UTF-8 text"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    user: User, database: Connection, tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(data)
    before = written(database)
    with pytest.raises(ltst.Invalid, match=said):
        user.documents.add(tmp_path / name)
    assert written(database) == before


# --- out and in again


def test_an_export_keeps_kind_and_place_and_the_file_stays_known(
    sync_memory: Memory, user: User, database: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "manual.pdf"
    file.write_bytes(pdf(manual(3)))
    document = user.documents.add(file)
    bob = sync_memory.user("bob")
    bob.restore(user.export())
    restored = bob.documents.get(document.document_id)
    assert restored is not None
    assert (restored.media_type, restored.chunks) == ("application/pdf", document.chunks)
    before = written(database)
    assert bob.documents.add(file) == restored
    assert written(database) == before


def test_an_export_from_before_there_were_kinds_can_be_restored(sync_memory: Memory, user: User) -> None:
    user.documents.add("old text", uri="note:1")
    export = user.export()
    for row in export["documents"]:
        for column in ("media_type", "source_hash", "updated_at"):
            del row[column]
    bob = sync_memory.user("bob")
    assert bob.restore(export)["chunks"] == 1
    assert [(each.media_type, each.updated_at) for each in bob.documents.list()] == [("text/plain", None)]


def test_an_old_export_does_not_mix_into_a_document_that_changed(user: User) -> None:
    user.documents.add(SECTIONS, uri="note:1")
    export = user.export()
    after = user.documents.add("Short now.", uri="note:1")
    user.restore(export)
    assert user.documents.get(after.document_id) == after


async def test_reading_leaves_the_loop_to_others(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "manual.pdf"
    file.write_bytes(pdf(manual(60)))
    async with AsyncMemory(settings=settings) as memory:
        adding = asyncio.create_task(memory.user("ana").documents.add(file))
        turns = 0
        while not adding.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert (await adding).chunks
    assert turns > 20
