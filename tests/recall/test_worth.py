"""What of all that was found is worth telling: no small talk, no secret that nobody asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ltst import Hit
from ltst.recall.worth import worth_telling


def hit(content: str, id: str = "a", **others: Any) -> Hit:
    told: dict[str, Any] = {"kind": "message", "role": "human", "sources": (id,)} | others
    return Hit(id=id, content=content, score=0.5, scores={}, occurred_at=None, session_id="s", **told)


SECRETS = [
    "Don't tell anyone, but I'm looking for a new job.",
    "I'm looking for a new job. Keep this between us.",
    "This is a secret: I'm looking for a new job",
    "please do not mention it to anyone, I want a new job",
    "Between you and me, the job bores me.",
    "Sag das bitte niemandem: ich suche einen neuen Job.",
    "Ich suche einen neuen Job, das bleibt unter uns.",
    "No se lo digas a nadie, busco otro job.",
    "C'est un secret: je cherche un job.",
    "Никому не говори, я ищу новый job.",
    "别告诉任何人,我在找新job。",
]


WAYS = [
    *SECRETS,
    "never ever repeat that to a soul",
    "not say it to other people",
    "I told no one",
    "tell nobody",
    "keep it to yourself",
    "keep them under wraps",
    "it stays off the record",
    "just between ourselves",
    "our little secret",
    "in strict confidence",
    "erzähl das keinem",
    "nicht weitersagen",
    "behalte das für dich",
    "das ist vertraulich",
    "entre tú y yo",
    "ne le dis à personne",
    "entre nous",
    "non dirlo a nessuno",
    "é segredo",
    "между нами",
    "по секрету",
    "保密",
    "内緒",
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_for_silence_is_noticed(way: str) -> None:
    for written in (way, way.upper(), way.replace(" ", "\n"), f"So. {way} {'And so on. ' * 30}"):
        assert worth_telling([hit(written)], "What shall I cook?") == [], written


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_told_only_where_its_subject_is_asked_for(secret: str) -> None:
    assert worth_telling([hit(secret)], "What shall I cook tonight? Tell me anything.") == []
    assert worth_telling([hit(secret)], "Whom may I tell? Is it between us?") == []
    assert worth_telling([hit(secret)], "How do I like my job?") == [hit(secret)]


def test_nor_is_what_rests_on_it() -> None:
    secret, told = hit(SECRETS[0], "a"), hit("They spoke of leaving.", "e", kind="entry", role=None, sources=("a",))
    assert worth_telling([secret, told], "What shall I cook?") == []
    assert worth_telling([secret, told], "Am I looking for something?") == [secret, told]


@pytest.mark.parametrize(
    "content",
    [
        "We split the bill between us.",
        "The secret of good bread is time.",
        "I told everyone about it.",
        "Das Geheimrezept steht im Buch.",
    ],
)
def test_what_is_no_secret_is_told(content: str) -> None:
    assert worth_telling([hit(content)], "What shall I cook?") == [hit(content)]


def test_only_the_user_makes_a_secret() -> None:
    said = hit(SECRETS[0], role="ai")
    assert worth_telling([said], "What shall I cook?") == [said]


def test_small_talk_and_notes_are_left_out() -> None:
    found = [
        hit("thanks!", "a"),
        hit("Noted: the bread needs salt.", "b", role="ai"),
        hit("The bread needs salt.", "c"),
        hit("OK", "d", kind="document", role=None),
    ]
    assert [each.id for each in worth_telling(found, "bread")] == ["c", "d"]


def test_questions_and_retold_answers_are_not_worth_telling() -> None:
    asked, answered = hit("Where does Jo live?", "b"), hit("Jo lives in Ghent.", "c", role="ai")
    retold = hit("You told me: “Jo lives in Ghent.”", "d", role="ai", metadata={"retold": True})
    told = hit("My sister Jo lives in Ghent.")
    assert worth_telling([asked, told, retold, answered], "Where does Jo live?") == [told, answered]
