"""Chooses which hits are worth telling in a prompt: no small talk, no questions, and no secrets off the topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ltst.records import Hit
from ltst.support.questions import only_asks
from ltst.support.smalltalk import acknowledges, is_small_talk
from ltst.support.tables import Table
from ltst.support.terms import UNSPACED, terms

_TABLE = Table(__package__, "worth.txt")
SECRET = _TABLE.pattern("secret")
HINTS = tuple(_TABLE.phrases("hints"))
PAIRS = (
    (("anyone", "anybody", "any one", "a soul", "other"), ("tell", "mention", "say", "share", "repeat")),
    (("no one", "noone", "nobody"), ("tell", "told")),
    (("keep",), ("between", "to yourself", "private", "quiet", "under wraps")),
    (("niemand", "keinem", "keiner"), ("sag", "erzähl", "verrat")),
    (("für dich",), ("behalt",)),
)
LOOKED_AT = 2000  # characters read at either end of a message: the middle of a long one was pasted
# Judgements of hits by hash, so that nobody's words are kept in memory.
MOST_KNOWN = 20_000
_known: dict[int, _Judgement] = {}
SHORTEST_TERM = 3  # letters: in most languages shorter words only join sentences
COMMON = _TABLE.words("common")


def worth_telling(found: Sequence[Hit], topic: str) -> list[Hit]:
    """Returns the hits that tell something, without secrets that share no word with the topic."""
    asked = subjects(topic)
    read = [(hit, _judge(hit)) for hit in found]
    secrets = [hit for hit, told in read if told.secret]
    hidden = {hit.id for hit in secrets if not asked & subjects(_without_secrecy(hit.content))}
    telling = [hit for hit, told in read if not told.nothing]
    return [hit for hit in telling if hit.id not in hidden and hidden.isdisjoint(hit.sources)]


class _Judgement(NamedTuple):
    """What the text of a hit tells by itself, whatever the question."""

    secret: bool
    nothing: bool


def _judge(hit: Hit) -> _Judgement:
    """Returns the judgement of a hit, from the cache if possible, since the same texts are found again and again."""
    found = _known.get(key := hash((hit.kind, hit.role, hit.trusted, bool(hit.metadata.get("retold")), hit.content)))
    if found is None:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        found = _known[key] = _Judgement(_is_secret(hit), hit.kind == "message" and _says_nothing(hit))
    return found


def _says_nothing(hit: Hit) -> bool:
    if hit.role == "ai":
        return is_small_talk(hit.content) or acknowledges(hit.content) or bool(hit.metadata.get("retold"))
    return is_small_talk(hit.content) or only_asks(hit.content)


def subjects(text: str) -> frozenset[str]:
    """Returns the words that say what a text is about, as the terms that search compares."""
    return frozenset(term for term in terms(text) if _is_subject(term))


def _is_subject(term: str) -> bool:
    # In a script without spaces two characters make a word; a single one occurs in too many.
    return len(term) >= (2 if UNSPACED.match(term) or term.isdigit() else SHORTEST_TERM) and term not in COMMON


def _is_secret(hit: Hit) -> bool:
    """Returns whether the user, or a memory made from the user's words, asks to keep this hit secret."""
    if hit.role not in (None, "human", "user") or not hit.trusted:
        return False
    return _asks_for_silence(hit.content[:LOOKED_AT]) or (
        len(hit.content) > LOOKED_AT and _asks_for_silence(hit.content[LOOKED_AT:][-LOOKED_AT:])
    )


def _asks_for_silence(text: str) -> bool:
    plain = text.lower() if text.isprintable() else " ".join(text.lower().split())
    return _is_hinted(plain.__contains__) and bool(SECRET.search(text))


def _is_hinted(holds: Callable[[str], bool]) -> bool:
    if any(map(holds, HINTS)):
        return True
    return any(any(map(holds, first)) and any(map(holds, second)) for first, second in PAIRS)


def _without_secrecy(content: str) -> str:
    """Returns a secret without the words that make it one, so that the word "tell" in a question does not match it."""
    return SECRET.sub(lambda match: " secret " if "secret" in match.group().lower() else " ", content)
