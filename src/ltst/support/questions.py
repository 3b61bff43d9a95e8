"""Tells messages that only ask from those that also tell something."""

from __future__ import annotations

import re

from ltst.support.sentences import spans

QUESTION_MARKS = ("?", "？", "؟")
# How much a message tells that only asks, or is small talk; what states something tells between 0 and 1.
TELLS_NOTHING = -1.0
# A longer message tells something in passing, even if it asks.
LONGEST = 200
MOST_WORDS = 10
_BE = r"(?:am|is|are|was|were)"
_DO = r"(?:do|does|did|have|has|had|can|could|will|would|should)"
_PRONOUN = r"(?:i|you|we|he|she|it|they)"
_ENGLISH = "what|where|who|whose|whom|when|which|how|why"
_OTHERS = (
    "wer|wo|wann|wie|warum|was|welche[rsnm]?|wohin|woher|qué|dónde|cuándo|cómo|quién|cuál|où|quand|comment|pourquoi|qui"
)
# How a question begins that is typed with a mark; one to the assistant ("can you find …") is a request, which tells.
_MARKED = re.compile(
    rf"¿?(?:and |so |but |or )?(?:(?:{_ENGLISH}|{_OTHERS}|{_BE})\b|{_DO} (?!you\b)|do you (?:know|remember)\b)",
    re.IGNORECASE,
)
# And one without a mark, where the order of its words shows it: "where does Tom live", but not "where I live".
_UNMARKED = re.compile(
    rf"(?:{_ENGLISH})(?:['’]s| (?!{_PRONOUN}\b)\w+)? (?:{_BE}|{_DO})\b"
    rf"|(?:{_ENGLISH})['’]s (?:my|our|your|his|her|their|the)\b"
    rf"|(?:{_ENGLISH}) (?:{_BE}|{_DO})\b"
    rf"|(?:{_BE}|{_DO}) (?:{_PRONOUN}|my|our|your|his|her|their|the|this|that|there)\b"
    r"|(?:is|does|did|was|has) (?-i:[A-Z])\w+ \w",
    re.IGNORECASE,
)


def only_asks(text: str) -> bool:
    """Returns whether a text consists of short questions alone, typed with a mark or without."""
    if len(text) > LONGEST:
        return False
    sentences = [text[start:end] for start, end in spans(text)]
    return bool(sentences) and all(map(_asks, sentences))


def _asks(sentence: str) -> bool:
    if len(sentence.split()) > MOST_WORDS:
        return False
    begins = _MARKED if sentence.endswith(QUESTION_MARKS) else _UNMARKED
    return begins.match(sentence) is not None
