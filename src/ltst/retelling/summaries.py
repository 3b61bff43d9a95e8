"""Summaries by a language model, accepted only if the conversation bears them out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ltst.learn.grounding import NUMBER, NUMBER_WORDS, SENTENCE_END, WORD, plain
from ltst.learn.keys import words
from ltst.learn.transcript import LONGEST_INPUT, SPEAKERS, ShownTurn, bare_answer, latest, messages
from ltst.providers.language import ask
from ltst.records import ConversationMessage
from ltst.support import tokens
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.logs import LOGGER
from ltst.support.terms import STOP_WORDS, terms
from ltst.support.text import shortened

if TYPE_CHECKING:
    from ltst.protocols import LanguageModel

SHORTEST_TURN = 80
THINKING_TOKENS = 512
WORDS_PER_TOKEN = 0.6
LIMITS = Limits(10.0)  # the default for checking a summary
WHOLE = re.compile(r".*(?:[.!?…][\"'”’)]*(?=\s|\Z)|[。！？])", re.S)
# Words that may begin a sentence although nobody said them; any other capitalised word is taken for a name.
OPENERS = words(
    """
    user users assistant ai conversation discussion chat summary later then also next finally additionally moreover
    however meanwhile afterwards afterward overall today currently still together it they both plans topics questions
    open decided instead first second third lastly eventually furthermore since although despite one i
    """
)
LEAST_SHARED = 0.5  # of a summary's words must come from the conversation


async def summarised(
    model: LanguageModel,
    turns: Sequence[ConversationMessage],
    max_tokens: int,
    *,
    limits: Limits = LIMITS,
    owner: str = "",
) -> str | None:
    """Returns a model's summary of at most `max_tokens`; None if it has names or numbers that nobody said."""
    said = [turn for turn in turns if turn.role in SPEAKERS and turn.content.strip()]
    if not said or max_tokens < 1:
        return None
    longest = max(SHORTEST_TURN, LONGEST_INPUT // len(said))
    shown = latest([ShownTurn(at, turn, shortened(turn.content, longest)) for at, turn in enumerate(said, 1)])
    data = {"words": max(1, int(max_tokens * WORDS_PER_TOKEN)), "turns": [each.as_data() for each in shown]}
    room = 2 * max_tokens + THINKING_TOKENS
    answer = await asyncio.to_thread(ask, model, messages("ltst.retelling", "summarise.md", data), max_tokens=room)
    summary = _whole_sentences(answer.text, max_tokens, answer.output_tokens < room)
    if summary and summary.isprintable() and await LEARNING.one(_borne_out, summary, shown, limits=limits, owner=owner):
        return summary
    LOGGER.info("summary_refused")
    return None


def _borne_out(summary: str, shown: Sequence[ShownTurn]) -> bool:
    """Returns whether a summary shares enough words with the conversation, and names nothing that was not said."""
    texts = [each.text for each in shown]
    days = [f"{day:%Y-%m-%d %B} {day.day}" for each in shown if (day := each.message.timestamp)]
    retold, said = {*terms(summary)}, {*terms("\n".join(texts))}
    shared = bool(retold) and len(retold & said) >= LEAST_SHARED * len(retold)
    return shared and not strangers(summary, [*texts, *days])


def _whole_sentences(text: str, max_tokens: int, complete: bool) -> str:
    """Returns as many whole sentences of an answer as fit, without repetitions."""
    said = " ".join(bare_answer(text).split())
    text = " ".join(dict.fromkeys(SENTENCE_END.split(said)))  # small models repeat themselves until they are stopped
    if complete and tokens.count(text) <= max_tokens:
        return text
    room = max_tokens * tokens.BYTES_PER_TOKEN
    found = WHOLE.match(text.encode()[:room].decode(errors="ignore"))
    return found.group().strip() if found else ""


def strangers(summary: str, texts: Iterable[str]) -> list[str]:
    """Returns the names and numbers of a summary that occur in none of the texts."""
    said, retold = plain("\n".join(texts)), plain(summary)
    known = {word.casefold() for word in WORD.findall(said)} | {*terms(said)}
    numbers = {part for number in NUMBER.findall(said) for part in (number, *re.split("[-/:]", number))}
    numbers |= {NUMBER_WORDS[word] for word in known & NUMBER_WORDS.keys()}
    found = [number for number in NUMBER.findall(retold) if number not in numbers]
    found += [word for word in WORD.findall(retold.casefold()) if NUMBER_WORDS.get(word, "") not in {"", *numbers}]
    return found + [name for name in _names(retold) if not {name.casefold(), *terms(name)} & known]


def _names(text: str) -> list[str]:
    """Returns the capitalised words, except common ones that begin sentences."""
    common = OPENERS | STOP_WORDS | NUMBER_WORDS.keys()
    return [word for word in WORD.findall(text) if word[0].isupper() and word.casefold() not in common]
