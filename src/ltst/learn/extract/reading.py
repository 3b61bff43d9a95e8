"""What of a message its writer says in their own name: no code, no quotation, no pasted or invented text."""

from __future__ import annotations

import re

LONGEST = 20_000
# Nobody types such a line about themself: it was pasted.
LONGEST_LINE = 1_500

_PLAIN = str.maketrans({"’": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
_FENCE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.S)
_CODE = re.compile(r"`[^`\n]{1,500}`")
_SINGLE = re.compile(r"‘[^‘\n]{0,500}?’(?!\w)")
_DOUBLE = re.compile(r'"([^"\n]{0,2000})"')
_STRAIGHT = re.compile(r"(?<![\w'])'(?:[^'\n]{3,300}[,.!?]|(?=I\b|I'|My\b|We\b|i\b)[^\n]{3,200}?)'(?!\w)")
_SHORT = re.compile(r"(?!I\b|I'|i\b|my\b)[\w'.-]{1,30}(?: (?!am\b)[\w'.-]{1,30})?", re.I)
_LINK = re.compile(r"(?:https?://|www\.)\S+", re.I)
_SPACE = re.compile(r"[^\S\n]+")
_BULLET = re.compile(r"^(?:[-*•·]|\d{1,2}[.)])\s+")
# A line that goes on in the next one, as in text that was wrapped.
_WRAPPED = re.compile(r"(?<=[a-z,])\n(?=(?!i\b|i'|im\b|my\b)[a-z])")
_EMOJI = re.compile(r"[\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F\u200D\u200B]+")

# From here on the words are no longer the writer's own about themself.
_STOPS = re.compile(
    r"\b(?:translat\w+|proof-?read|paraphrase|rephrase|rewrite|reword|summari[sz]e|continue|complete"
    r"|correct|fix|improve|polish"
    r"|edit|check|review|analy[sz]e|critique)\b[^.!?\n]{0,80}(?::|→|->|\n)"
    r"|\b(?:role-?\s?play\w*|pretend|act as|act like you|you are now an?|let's play"
    r"|my (?:main )?character\b|in character)"
    r"|^(?:subject|from|fwd?|re):|^dear\s\w+|^(?:begin|start) of (?:text|document)"
    r"|^[ *]{0,4}(?:lyrics|quote)\b[^:\n]{0,30}:"
    r"|\b(?:sentence|phrase|headline|caption|slogan|lyrics|paragraph|passage|excerpt|article|transcript|review)\s?:"
    r"|\b(?:wrote|writes?|reads|starts|begins|started|began|replied|sang|sings|texted|told|messaged"
    r"|emailed|said|says|asked|goes"
    r"|went)(?: (?:me|us|him|her|them|this|back))?\s?:|\b(?:the|this|first|last|his|her|their|a|an"
    r"|opening|from the) (?:[\w-]+ )?(?:letter|line|message|email|note|bio|text|post|tweet|title|sign"
    r"|card|song|chorus|ad|article|prompt|poem|diary|verse|example)(?: is| says| reads| goes)?\s?:"
    r"|^(?:e\.g\.|for example|example|prompt|text|input|sample|template)\s?:|\b(?:in the blank"
    r"|conjugate)\b[^\n]{0,20}:|^(?:q|a|user|assistant|human|bot|me|him|her)\s?:",
    re.I | re.M,
)
# What follows on the same line is only supposed.
_SUPPOSED = re.compile(
    r"\b(?:imagin(?:e|ing)|suppos(?:e|ing)|assum(?:e|ing)|let's say|say that i|hypothetically|what if"
    r"|picture this|for the sake of argument"
    r"|in (?:my|a|this|the) (?:dream|story|novel|book|game|movie|film|play|scenario|script|scene"
    r"|chapter|world|simulation|campaign)"
    r"|(?:write|compose|draft|generate|invent|make up|tell|create|sing)(?: me| us)? (?:an?|some|the"
    r"|another) (?:[\w-]+ ){0,3}(?:story|poem|song|lyrics|script|screenplay|scene|dialogue|monologue"
    r"|essay|novel|speech|bio|letter|email|message|ad|tweet|post|haiku|limerick|rap|joke|fairy tale"
    r"|tale|cover letter|profile|sketch|obituary|toast)\b"
    r"|(?:her|his|their|the|whose) (?:bio|profile|sign|shirt|t-shirt|caption|status|post|email"
    r"|text) (?:says|said|reads|read)\b|how (?:do|would|can) (?:you|i|we) say\b"
    r"|in (?:another|a past|my next|my past) (?:life|universe|world)|in chapter|once upon a time"
    r"|(?:he|she|they|it|who|mom|mum|dad|friend|and i|i) (?:go|goes|went|was like|were like|is like"
    r"|said|says|asked|yelled),)"
    r"[^\n]*",
    re.I,
)


def own_words(text: str) -> str:
    """The beginning of a message without code, quotations, links, pasted blocks, fiction and suppositions."""
    text = _SINGLE.sub('""', text[:LONGEST].replace("\r", "\n")).translate(_PLAIN)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    text = _CODE.sub('""', text)
    text = _LINK.sub("", text)
    text = _DOUBLE.sub(_unquoted, text)
    text = _STRAIGHT.sub('""', text)
    text = text if text.isascii() else _EMOJI.sub(" . ", text)
    text = _SPACE.sub(" ", text)
    text = "\n".join(_BULLET.sub("", line.strip()) for line in text.split("\n") if line and _typed(line))
    text = _WRAPPED.sub(" ", text)
    stop = _STOPS.search(text)
    return _SUPPOSED.sub("", text[: stop.start()] if stop else text)


def _typed(line: str) -> bool:
    return len(line) <= LONGEST_LINE and not line.lstrip().startswith((">", "|", "♪", "♫"))


def _unquoted(quotation: re.Match[str]) -> str:
    """A name in quotation marks is only a name; anything longer is somebody's speech."""
    return quotation[1] if _SHORT.fullmatch(quotation[1]) else '""'
