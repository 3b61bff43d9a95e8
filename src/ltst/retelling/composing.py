"""Composes episodes and summaries from messages, and compares entries; runs in a child process, under a time limit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ltst.learn import pasted
from ltst.recall.summary import MODEL_ROLES, Sentence, details, sentences, summarise
from ltst.records import ConversationMessage, MemoryEntry
from ltst.retelling.importance import decided
from ltst.support.terms import terms

# The length of an episode and of a running summary, in tokens.
EPISODE_TOKENS, SUMMARY_TOKENS = 100, 300
TOPICS, DECISIONS = 6, 2
# Of an assistant's message only this many characters are used: it says much that nobody will ask for.
OF_ASSISTANT = 400
# Two entries say the same only if they share nearly all words and agree in every number and every "not".
SHARED_WORDS = 0.8
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
NOT = re.compile(r"\b(?:not?|never|none|without|\w+n['’]t)\b", re.IGNORECASE)


class Episode(NamedTuple):
    """What a part of a conversation was about, and the messages whose words it uses."""

    content: str
    first: ConversationMessage
    last: ConversationMessage
    sources: list[str]
    topics: list[str]

    @property
    def metadata(self) -> dict[str, object]:
        """The metadata of its entry."""
        ends = [self.first.message_index, self.last.message_index]
        return {"messages": ends, "sources": self.sources, "topics": self.topics}


def said(portion: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Returns what people and assistants said, in their own words."""
    return [own(each) for each in portion if spoken(each)]


def spoken(message: ConversationMessage) -> bool:
    """Returns whether a person or an assistant said it; tool output is nobody's words, and is not retold."""
    return message.role in MODEL_ROLES and message.message_type == "message" and message.trusted


def own(message: ConversationMessage) -> ConversationMessage:
    """Returns a message without pasted text, which a summary would show as the speaker's own words."""
    without = pasted.own_words if message.role == "human" else pasted.unquoted
    return replace(message, content=without(message.content))


def composed(said: Sequence[ConversationMessage], vectors: dict[str, list[float]], written: str | None) -> Episode:
    """Composes an episode from the words that were said, or around a summary that a model wrote."""
    chosen = [each for each in sentences(said) if _is_kept(each, said)]
    rows = [vectors.get(str(said[each.turn].message_id)) for each in chosen]
    known = [row for row in rows if row is not None]
    text = written or summarise(chosen, known if len(known) == len(rows) else None, EPISODE_TOKENS)
    topics = _topics(chosen)
    lines = [f"About {', '.join(topics)}." if topics else "", text, *_decisions(chosen, text)]
    sources = [str(said[each.turn].message_id) for each in chosen if each.text in text]
    return Episode("\n".join(filter(None, lines)), said[0], said[-1], [*dict.fromkeys(sources)], topics)


def _is_kept(sentence: Sentence, said: Sequence[ConversationMessage]) -> bool:
    if sentence.speaker != "assistant":
        return True
    return sentence.text in " ".join(said[sentence.turn].content.split())[:OF_ASSISTANT]


def _topics(chosen: Iterable[Sentence]) -> list[str]:
    """Returns the most frequent names."""
    counted = Counter(name for each in chosen for name in details(each.text) if name[0].isupper())
    return [name for name, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:TOPICS]]


def _decisions(chosen: Iterable[Sentence], told: str) -> list[str]:
    """Returns what the user decided, unless the summary already tells it."""
    found = [each.text for each in chosen if each.speaker == "user" and decided(each.text) and each.text not in told]
    return [f"Decided: {text}" for text in found[:DECISIONS] if len(text) < 300]


def condensed(summary: str | None, said: Sequence[ConversationMessage]) -> str:
    """Returns the most telling sentences of the summary so far and of the messages after it."""
    before = [_parse_line(line, turn) for turn, line in enumerate((summary or "").splitlines()) if line.strip()]
    after = [Sentence(each.text, each.speaker, each.turn + len(before)) for each in sentences(said)]
    return summarise([*before, *after], None, SUMMARY_TOKENS)


def _parse_line(line: str, turn: int) -> Sentence:
    """Parses a line of an earlier summary into its speaker and text."""
    speaker, mark, text = line.partition(": ")
    return Sentence(text, speaker, turn) if mark and speaker in MODEL_ROLES.values() else Sentence(line, None, turn)


def says_the_same(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Returns whether one entry can stand for both; never if session, origin or level of trust differ."""
    of_one, of_other = ((each.session_id, each.learned, each.metadata.get("trust", "high")) for each in (one, other))
    if of_one != of_other:
        return False
    words, others = set(terms(one.content)), set(terms(other.content))
    shared = len(words & others) / max(1, len(words | others))
    return (
        shared >= SHARED_WORDS
        and sorted(NUMBER.findall(one.content)) == sorted(NUMBER.findall(other.content))
        and len(NOT.findall(one.content)) == len(NOT.findall(other.content))
    )
