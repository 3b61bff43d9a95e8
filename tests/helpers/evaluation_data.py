"""Small data sets in the shapes of the public ones, made by hand; and an embedder that needs no weights."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ltst.providers import local
from ltst.providers.function import CallableEmbedder
from ltst.support.terms import terms

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "boats",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a sailing boat in Lisbon."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a red lighthouse"},
                {"speaker": "Ann", "dia_id": "D1:3", "text": "It is called Albatross."},
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [
                {"speaker": "Bob", "dia_id": "D2:1", "text": "My sister teaches the violin in Vienna."},
                {"speaker": "Ann", "dia_id": "D2:2", "text": "  "},
                {"speaker": "Ann", "dia_id": "D2:3", "text": "I would rather play the trumpet."},
            ],
            "session_3_date_time": "9:00 am on 1 October, 2023",
        },
        "qa": [
            {"question": "Where did Ann buy the sailing boat?", "evidence": ["D1:1"], "category": 4},
            {"question": "Which instruments were mentioned?", "evidence": ["D2:01; D:2:3"], "category": 1},
            {"question": "Which picture of a lighthouse did Bob share?", "evidence": ["D1:2"], "category": 5},
            {"question": "Would Ann enjoy a cruise?", "evidence": [], "category": 3},
        ],
    },
    {
        "sample_id": "bread",
        "conversation": {
            "speaker_a": "Cid",
            "speaker_b": "Dora",
            "session_1_date_time": "8:00 am on 2 January, 2024",
            "session_1": [
                {"speaker": "Dora", "dia_id": "D1:1", "text": "I bake sourdough bread every Sunday."},
                {"speaker": "Cid", "dia_id": "D1:2", "text": "My oven broke, so I grill potatoes."},
            ],
        },
        "qa": [{"question": "When does Dora bake sourdough bread?", "evidence": ["D1:1"], "category": 2}],
    },
]

LONGMEMEVAL: dict[str, Any] = {
    "sessions": {
        "answer_1": [
            {"role": "user", "content": "I adopted a greyhound named Comet."},
            {"role": "assistant", "content": "Welcome, Comet!"},
            {"role": "user", "content": " "},
        ],
        "other_1": [{"role": "user", "content": "How do I prune roses?"}],
        "other_2": [{"role": "user", "content": "Tell me about the tides."}],
    },
    "questions": [
        {
            "question_id": "q1",
            "question_type": "single-session-user",
            "question": "What is the name of my greyhound?",
            "question_date": "2023/06/01 (Thu) 10:00",
            "answer_session_ids": ["answer_1"],
            "haystack_session_ids": ["other_1", "answer_1", "other_1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 12:00", "2023/05/22 (Mon) 12:00"],
        },
        {
            "question_id": "q2_abs",
            "question_type": "single-session-user",
            "question": "What is the name of my parrot?",
            "question_date": "2023/06/02 (Fri) 10:00",
            "answer_session_ids": ["other_2"],
            "haystack_session_ids": ["other_2"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        },
    ],
}

REALTALK: dict[str, Any] = {
    "name": {"speaker_1": "Una", "speaker_2": "vic"},
    "session_2": [
        {"clean_text": "The ferry was late.", "speaker": "vic", "date_time": "02.01.2024, 09:00:00", "dia_id": "D2:1"},
    ],
    "session_1": [
        {
            "clean_text": "I keep three hens.",
            "speaker": "Una",
            "date_time": "30.12.2023, 23:59:00",
            "dia_id": "D1:1",
            "blip_caption": "a brown hen",
        },
        {"clean_text": "Cute!", "speaker": "vic", "date_time": "31.12.2023, 00:01:00", "dia_id": "D1:2"},
    ],
    "events_session_1": {"agent_a": []},
    "session_1_date_time": "30.12.2023, 23:59:00",
    "qa": [
        {"question": "How many hens does Una keep?", "evidence": ["D1:1"], "category": 1},
        {"question": "When was the ferry late?", "evidence": ["D2:1. D1:2", "D9:9"], "category": 2},
    ],
}

BEAM_CHAT: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                {"id": 0, "role": "user", "content": "My budget is 900. ->-> 1,1", "time_anchor": "March-15-2024"},
                {"id": 1, "role": "assistant", "content": "Use a ->-> b in Haskell."},
            ],
            [{"id": 2, "role": "user", "content": "Now show me the login form. ->-> 1,2"}],
        ],
    },
    {
        "batch_number": 2,
        "time_anchor": None,
        "turns": [[{"id": 3, "role": "user", "content": "The budget is 950 now.", "time_anchor": "April-02-2024"}]],
    },
]

BEAM_QUESTIONS: dict[str, Any] = {
    "abstention": [{"question": "Which colour did I choose?"}],
    "event_ordering": [{"question": "In which order did I ask?", "source_chat_ids": [0, 2]}],
    "knowledge_update": [
        {"question": "What is my budget?", "source_chat_ids": {"original_info": [0], "updated_info": [3]}}
    ],
}

LIFE: dict[str, Any] = {
    "id": "ida",
    "language": "en",
    "today": "2026-11-16T12:00:00+00:00",
    "user": "Ida, who keeps bees",
    "sessions": [
        {
            "id": "s1",
            "at": "2026-01-05T10:00:00+01:00",
            "turns": [
                ["user", "My honey costs 8 euro a jar."],
                ["assistant", "Noted."],
                ["user", "My brother Piet plays the oboe in Gent."],
            ],
        },
        {"id": "s2", "at": "2026-06-01T10:00:00", "turns": [["user", "Price update: a jar of my honey costs 9 euro."]]},
    ],
    "questions": [
        {
            "q": "What does a jar of my honey cost?",
            "kind": "update",
            "answer": "9 euro",
            "evidence": [["s2", 0]],
            "gold": ["9 euro|nine euro"],
            "stale": [["s1", 0]],
        },
        {
            "q": "Which instrument does my brother Piet play?",
            "kind": "person",
            "answer": "oboe",
            "evidence": [["s1", 2]],
            "gold": ["oboe"],
            "stale": [],
        },
        {
            "q": "zebra crossing quarterly",
            "kind": "absent",
            "answer": "never said",
            "evidence": [],
            "gold": [],
            "stale": [],
        },
    ],
}


def as_published(document: dict[str, Any]) -> list[dict[str, Any]]:
    """LongMemEval with the sessions inside the questions."""
    sessions = document["sessions"]
    return [
        {**question, "haystack_sessions": [sessions[id] for id in question["haystack_session_ids"]]}
        for question in document["questions"]
    ]


def write(file: Path, document: object) -> Path:
    text = json.dumps(document).encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return file


class CountingEmbedder(CallableEmbedder):
    """Texts are alike as far as they share words; it counts what it is asked for."""

    def __init__(self, name: str = local.NAME, dimensions: int = 384) -> None:
        super().__init__(self._vectors, name, dimensions)
        self.asked: list[str] = []

    def _vectors(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.extend(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.001] * self.dimensions
        for term in terms(text):
            vector[zlib.crc32(term.encode()) % self.dimensions] += 1.0
        return vector


def write_beam(folder: Path) -> Path:
    """Two conversations of BEAM, in folders of their own."""
    for name in ("10", "9"):
        (folder / name / "probing_questions").mkdir(parents=True)
        write(folder / name / "chat.json", BEAM_CHAT)
        write(folder / name / "probing_questions" / "probing_questions.json", BEAM_QUESTIONS)
    return folder
