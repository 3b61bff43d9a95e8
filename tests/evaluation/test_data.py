"""Reading the data sets: dates, evidence that is written badly, samples, and files that are something else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluation import beam, locomo, longmemeval, realtalk
from evaluation.benchmark import Benchmark
from helpers.evaluation_data import BEAM_CHAT, LOCOMO, LONGMEMEVAL, REALTALK, as_published, write, write_beam
from ltst.errors import Invalid, LtstError, NotFound


@pytest.fixture
def conversations(tmp_path: Path) -> Benchmark:
    return locomo.read(write(tmp_path / "locomo.json", LOCOMO))


@pytest.fixture
def haystacks(tmp_path: Path) -> Benchmark:
    return longmemeval.read(write(tmp_path / "longmemeval.json", LONGMEMEVAL))


# --- LoCoMo


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["D1:3"], ["D1:3"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D:11:26"], ["D11:26"]),
        (["D30:05"], ["D30:5"]),
        (["D1:1 D1:2", "D1:1"], ["D1:1", "D1:2"]),
        (["D", "nothing"], []),
    ],
)
def test_evidence_is_repaired(given: list[str], expected: list[str]) -> None:
    assert locomo.repaired(given) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
    ],
)
def test_dates_of_locomo(written: str, expected: datetime) -> None:
    assert locomo.moment(written) == expected


def test_a_conversation_is_a_history(conversations: Benchmark) -> None:
    boats = conversations.histories[0]
    assert [session.id for session in boats.sessions] == ["D1", "D2"]
    assert [turn.role for turn in boats.sessions[0].turns] == ["user", "assistant", "user"]
    assert boats.sessions[0].turns[1].text == "Lovely! [shares a red lighthouse]"
    assert [turn.id for turn in boats.sessions[1].turns] == ["D2:1", "D2:3"], "blank turns are skipped"
    assert {question.asked_at for question in boats.questions} == {boats.sessions[1].at}


def test_evidence_of_turns_is_evidence_of_their_sessions(conversations: Benchmark) -> None:
    question = conversations.questions[1]
    assert (question.category, question.turns, question.sessions) == ("multi-hop", {"D2:1", "D2:3"}, {"D2"})
    assert not conversations.questions[3].scored, "without evidence there is nothing to score"


# --- LongMemEval


def test_dates_of_longmemeval() -> None:
    assert longmemeval.moment("2023/05/20 (Sat) 02:21") == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)


def test_a_question_is_a_history(haystacks: Benchmark) -> None:
    first, absent = haystacks.histories
    assert [session.id for session in first.sessions] == ["other_1", "answer_1", "other_1"]
    assert [turn.id for turn in first.sessions[1].turns] == ["2:1", "2:2"], "blank turns are skipped"
    assert first.questions[0].sessions == {"answer_1"}
    assert absent.questions[0].absent and not absent.questions[0].scored


def test_the_published_form_is_the_same(haystacks: Benchmark, tmp_path: Path) -> None:
    published = longmemeval.read(write(tmp_path / "published.json", as_published(LONGMEMEVAL)))
    assert published.histories == haystacks.histories


# --- REALTALK


def test_a_chat_is_a_history_whose_turns_have_their_own_times(tmp_path: Path) -> None:
    write(tmp_path / "Chat_10_Una_Vic.json", REALTALK)
    write(tmp_path / "Chat_2_Una_Vic.json", REALTALK)
    write(tmp_path / "other.json", {})
    chats = realtalk.read(tmp_path)
    assert [history.id for history in chats.histories] == ["Chat_2_Una_Vic", "Chat_10_Una_Vic"]
    first, second = chats.histories[0].sessions
    assert [(turn.id, turn.role, turn.text) for turn in first.turns] == [
        ("D1:1", "user", "I keep three hens. [shares a brown hen]"),
        ("D1:2", "assistant", "Cute!"),
    ]
    assert first.at == first.turns[0].at == datetime(2023, 12, 30, 23, 59, tzinfo=UTC)
    assert first.turns[1].at == datetime(2023, 12, 31, 0, 1, tzinfo=UTC)
    assert {question.asked_at for question in chats.questions} == {second.at}


def test_evidence_of_realtalk_is_repaired_and_what_names_no_turn_is_left_out(tmp_path: Path) -> None:
    question = realtalk.read(write(tmp_path / "Chat_1.json", REALTALK)).questions[1]
    assert (question.category, question.turns, question.sessions) == ("temporal", {"D2:1", "D1:2"}, {"D1", "D2"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": None}, "accepted is an object with name, session_1"),
        ({"session_1": [], "session_2": []}, "this is not REALTALK; accepted is"),
        ({"qa": [{"question": "?", "category": 1}]}, "'evidence' is missing; accepted is"),
    ],
)
def test_a_chat_of_another_shape_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=said):
        realtalk.read(write(tmp_path / "Chat_1.json", REALTALK | change))


def test_a_folder_without_chats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no Chat_\*\.json in .*: name the folder that holds them"):
        realtalk.read(tmp_path)
    with pytest.raises(NotFound, match=r"name a folder that holds Chat_\*\.json"):
        realtalk.read(tmp_path / "nowhere")


# --- BEAM


def test_a_batch_is_a_session_of_its_day(tmp_path: Path) -> None:
    conversations = beam.read(write_beam(tmp_path))
    assert [history.id for history in conversations.histories] == ["9", "10"]
    first, second = conversations.histories[0].sessions
    assert (first.at, second.at) == (datetime(2024, 3, 15, tzinfo=UTC), datetime(2024, 4, 2, tzinfo=UTC))
    assert [turn.text for turn in first.turns] == [
        "My budget is 900.",
        "Use a ->-> b in Haskell.",
        "Now show me the login form.",
    ]


def test_the_sources_of_a_probing_question_are_its_evidence(tmp_path: Path) -> None:
    absent, order, update = beam.read(write_beam(tmp_path) / "9").questions
    assert absent.absent and not absent.scored
    assert (order.category, order.turns, order.sessions) == ("event ordering", {"0", "2"}, {"batch 1"})
    assert (update.turns, update.sessions) == ({"0", "3"}, {"batch 1", "batch 2"})


def test_a_conversation_of_another_shape_is_refused(tmp_path: Path) -> None:
    folder = write_beam(tmp_path) / "9"
    write(folder / "chat.json", [{"turns": [[{"id": 0, "role": "user", "content": "no day"}]]}])
    with pytest.raises(Invalid, match="no message names a day; accepted is a list of batches"):
        beam.read(folder)
    write(folder / "chat.json", BEAM_CHAT)
    write(folder / "probing_questions" / "probing_questions.json", [])
    with pytest.raises(Invalid, match="accepted is an object with lists of questions by their kind"):
        beam.read(folder)
    (folder / "probing_questions" / "probing_questions.json").unlink()
    with pytest.raises(NotFound, match=r"there is no .*probing_questions\.json"):
        beam.read(folder)


# --- samples and strangers


def test_a_sample_is_spread_evenly_and_keeps_only_the_histories_it_needs(conversations: Benchmark) -> None:
    assert [question.id for question in conversations.sample(2).questions] == ["boats/1", "boats/3"]
    assert [history.id for history in conversations.sample(1).histories] == ["boats"]
    assert conversations.sample(5) == conversations.sample(99) == conversations
    assert conversations.sample(3) == conversations.sample(3)
    assert len(conversations.sample(4).questions) == 4


def test_strangers_are_asked_about_the_history_before(conversations: Benchmark) -> None:
    asked = {history.id: [each.id for each in others] for history, others in conversations.with_strangers()}
    assert asked == {"boats": ["bread/1"], "bread": ["boats/1", "boats/2", "boats/3", "boats/4"]}
    assert [[*others] for _, others in conversations.sample(1).with_strangers()] == [[]]


# --- files


@pytest.mark.parametrize("name", ["locomo10.json", "locomo_dev.json.gz"])
def test_a_folder_with_one_such_file_will_do(name: str, tmp_path: Path) -> None:
    write(tmp_path / "longmemeval.json.gz", LONGMEMEVAL)
    file = write(tmp_path / name, LOCOMO)
    assert locomo.read(tmp_path).file == file


def test_compression_changes_no_digest(tmp_path: Path) -> None:
    plain = locomo.read(write(tmp_path / "a.json", LOCOMO))
    assert locomo.read(write(tmp_path / "a.json.gz", LOCOMO)).digest == plain.digest


Prepare = Callable[[Path], Path]


def put(name: str, content: bytes) -> Prepare:
    def prepare(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return prepare


def two(folder: Path) -> Path:
    write(folder / "locomo1.json", LOCOMO)
    write(folder / "locomo2.json", LOCOMO)
    return folder


@pytest.mark.parametrize(
    ("prepare", "kind", "said"),
    [
        (
            lambda folder: folder / "no.json",
            NotFound,
            r"name a \.json or \.json\.gz file, or a folder that holds locomo",
        ),
        (lambda folder: folder, NotFound, r"there is no locomo\*\.json\.gz in"),
        (two, Invalid, r"locomo1\.json, locomo2\.json: name the one to use"),
        (put("data.csv", b"a,b"), Invalid, r"name a \.json or \.json\.gz file"),
        (put("data.json", b"{"), Invalid, "this is not JSON at line 1"),
        (put("data.json", b"\xff"), Invalid, "not UTF-8"),
        (put("data.json.gz", b"[]"), Invalid, "not compressed by gzip"),
        (put("data.json", b"[]"), Invalid, "this is not LoCoMo; accepted is a list of objects"),
        (put("data.json", b'{"a": 1}'), Invalid, "this is not LoCoMo; accepted is a list of objects"),
        (put("data.json", b'[{"qa": []}]'), Invalid, "'conversation' is missing; accepted is"),
        (put("data.json", b"[1]"), Invalid, "accepted is a list of objects"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(
    prepare: Prepare, kind: type[LtstError], said: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said):
        locomo.read(prepare(tmp_path))


def test_a_date_in_another_form_is_refused(tmp_path: Path) -> None:
    other: dict[str, Any] = {**LOCOMO[1], "conversation": {**LOCOMO[1]["conversation"], "session_1_date_time": "May"}}
    with pytest.raises(Invalid, match="'May' does not match"):
        locomo.read(write(tmp_path / "locomo.json", [other]))


def test_haystacks_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="'other_1' is missing"):
        longmemeval.read(write(tmp_path / "l.json", {**LONGMEMEVAL, "sessions": {}}))
