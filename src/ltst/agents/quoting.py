"""Answers without a language model: a question is answered by quoting what is remembered, a statement is noted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from ltst.agents.memories import Memory, plain, plain_fact, plain_preference
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage, Fact, Hit

REMEMBERED = "This is what I remember:"
NOTHING = "I know nothing about that yet."
NOTED = "Noted."
OWN_WORDS = (REMEMBERED, NOTHING, NOTED)

SEARCHED = 20
QUOTED = 5
LISTED = 12
TITLED = 1000
LONGEST_QUOTE = 300
FACTS = 3
OTHERS = ("message", "entry", "document")
# Below this relevance the best of a small memory is only the least far-fetched: better nothing than that.
LEAST_RELEVANCE = 0.14
# How near to the strongest the others must come; by meaning alone, without a word in common, only the very nearest.
SHARE_BY_WORDS = 0.6
SHARE_BY_MEANING = 0.9

QUESTION_MARK = re.compile(r"[?？؟](?=[\s\"'”’»)\]*]|$)|？")
OPENING = re.compile(r"^(?:(?:hey|hi|hello|ok|okay|so|and|but|well|please|now)\b[\s,!.]*)+", re.IGNORECASE)
# Without a question mark, "when I was young" and "what I like" tell; "what is my name" and "do you remember" ask.
ASKING = re.compile(
    r"(?:what|who|whom|whose|which|when|where|why|how)(?:['’]s)?\b(?!\s+(?:i|we|he|she|they|it|you|an?|if)\b)"
    r"|(?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had)n?['’]?t?\s+"
    r"(?:i|you|we|he|she|it|they|there|my|your|our|his|her|their|the|this|that|these|those|any|anyone|anything)\b"
    r"|(?:tell|show|give)\s+(?:me|us)\b|remind\s+(?:me|us)\s+(?:of|about|what|who|where|when|which|how|why)\b"
    r"|(?:list|describe|summari[sz]e|recall|explain|find|search|look\s+up)\b",
    re.IGNORECASE,
)
# "Can you remember that I live in Porto?" asks for nothing but to be noted.
TELLING = re.compile(
    r"(?:(?:can|could|will|would)\s+you\s+)?(?:please\s+)?(?:remember|note|keep\s+in\s+mind|don['’]?t\s+forget)\s+that\b",
    re.IGNORECASE,
)
ABOUT_ME = re.compile(
    r"\b(?:know|remember|learnt|learned|remembered)\b.{0,300}\b(?:about|of)\s{1,9}(?:me|us)\b"
    r"|\b(?:who\s+am\s+i|about\s+me)\s*[?？.!]*$",
    re.IGNORECASE,
)

ABOUT_ASKING = re.compile(r"\b(?:ask|asked|asking|question|questions)\b", re.IGNORECASE)


def is_question(text: str) -> bool:
    """Whether a message asks: by its question mark in any language, by its beginning in English."""
    begun = OPENING.sub("", text.strip())
    return not TELLING.match(begun) and bool(QUESTION_MARK.search(text) or ASKING.match(begun))


async def answer(user: AsyncUser, message: ConversationMessage) -> tuple[str, list[Memory]]:
    """What to say to a message, and the memories that it rests on."""
    if not is_question(message.content):
        return await _noted(user, message)
    if ABOUT_ME.search(message.content) and (known := await _latest(user)):
        return _told([_fact_line(each) for each in known]), [plain_fact(each) for each in known]
    best = await _found(user, message.content)
    if not best:
        return NOTHING, []
    titles = await _titles(user, best)
    return _told([_line(hit, titles) for hit in best]), [plain(hit) for hit in best]


async def _noted(user: AsyncUser, message: ConversationMessage) -> tuple[str, list[Memory]]:
    """What was said is stored already; what is learnt from it is told, so that the user can correct it."""
    await user.learning.catch_up(message.session_id)
    known = [*map(plain_fact, await user.facts.list()), *map(plain_preference, await user.preferences.list())]
    new = [each for each in known if message.message_id in each["sources"]]
    told = "; ".join(each["content"] for each in new)
    return (f"{NOTED} I now know: {told}." if new else NOTED), new


async def _latest(user: AsyncUser) -> list[Fact]:
    await user.learning.catch_up()
    known = await user.facts.list()
    return sorted(known, key=lambda fact: fact.recorded_at, reverse=True)[:LISTED]


async def _found(user: AsyncUser, question: str) -> list[Hit]:
    """The best few: facts that hold, then what was said, noted or read; not what was asked, nor this agent's words."""
    facts = _best(await user.search(question, kinds=("fact",), limit=SEARCHED))
    others = await user.search(question, kinds=OTHERS, limit=SEARCHED, without=question)
    worth = _best([hit for hit in others if _quotable(hit, question)])
    return [*facts[:FACTS], *worth][:QUOTED]


async def _titles(user: AsyncUser, best: Sequence[Hit]) -> dict[str, str]:
    """What the quoted documents are called; one among very many may go by its id."""
    if not any(hit.kind == "document" for hit in best):
        return {}
    return {each.document_id: each.title for each in await user.documents.list(limit=TITLED) if each.title}


def _best(found: Sequence[Hit]) -> list[Hit]:
    """Those that are relevant by themselves, not only by what stands beside them."""
    if not found or max(hit.score for hit in found) < LEAST_RELEVANCE:
        return []
    strongest = max(found, key=_strength)
    share = SHARE_BY_WORDS if strongest.scores.get("lexical") else SHARE_BY_MEANING
    return [hit for hit in found if _strength(hit) >= share * _strength(strongest)]


def _strength(hit: Hit) -> float:
    return hit.scores.get("lexical", 0.0) + hit.scores.get("dense", 0.0)


def _quotable(hit: Hit, question: str) -> bool:
    """Whether this can answer a question: what this agent said before cannot, and questions only one about asking."""
    if hit.kind != "message":
        return True
    if hit.role == "ai":
        return not hit.content.startswith(OWN_WORDS)
    return not is_question(hit.content) or bool(ABOUT_ASKING.search(question))


def _told(lines: Sequence[str]) -> str:
    return "\n".join([REMEMBERED, *(f"- {line}" for line in lines)])


def _line(hit: Hit, titles: Mapping[str, str]) -> str:
    if hit.kind == "fact":
        return f"{hit.content} ({_joined(_since(hit.occurred_at), *_from(hit.sources))})"
    where = f"chat {hit.session_id}" if hit.session_id else None
    source = f"message {hit.id}" if hit.kind == "message" else None
    return f"“{_quote(hit.content)}” ({_joined(_who(hit, titles), _day(hit.occurred_at), where, source)})"


def _fact_line(fact: Fact) -> str:
    sources = (fact.source_message_id,) if fact.source_message_id else ()
    return f"{fact.key}: {fact.value} ({_joined(_since(fact.valid_from), *_from(sources))})"


def _who(hit: Hit, titles: Mapping[str, str]) -> str:
    """Whose words these are; what tools, pages and files said is nobody's."""
    if hit.kind == "document":
        page = f", page {hit.metadata['page']}" if "page" in hit.metadata else ""
        return f"from the document {titles.get(hit.id) or hit.id}{page}"
    if hit.kind == "entry":
        return "from my notes" if hit.trusted else "from my notes, not verified"
    if not hit.trusted:
        return "from a tool or another source, not said by you"
    if hit.role == "human" and hit.speaker in (None, "User"):
        return "you"
    return {"Assistant": "the assistant", "System": "the system"}.get(hit.speaker or "", hit.speaker or "someone")


def _from(sources: Sequence[str]) -> list[str]:
    return [f"from message {sources[0]}"] if sources else ["set by hand"]


def _since(when: datetime | None) -> str | None:
    return f"since {_day(when)}" if when else None


def _day(when: datetime | None) -> str | None:
    return f"{when:%Y-%m-%d}" if when else None


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _quote(text: str) -> str:
    """In one line, and not the whole of a long text."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"
