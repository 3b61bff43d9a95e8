"""What of a message its writer says in their own name: no code, no quotation, no pasted or invented text."""

from __future__ import annotations

import re

from ltst.learn import pasted

LONGEST = 20_000
# Nobody types such a line about themself.
LONGEST_LINE = 1_500

_PLAIN = str.maketrans({"’": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
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
    r"|in (?:another|a past|my next|my past) (?:life|universe|world)|(?:in )?chapter \d|once upon a time"
    r"|(?:he|she|they|everyone|everybody|people) (?:say|says|said|thinks?|thought|claims?) (?:that )?(?:i|i'm|my)\b"
    r"|i (?:told|lied to) (?:her|him|them|everyone|people) (?:that )?(?:i|i'm|my)\b"
    r"|(?:as|i'm|i am|im) (?:sherlock holmes|iron man|spider-?man|batman|superman|the (?:pope|king|queen|president)"
    r"|dracula|gandalf|harry potter|darth vader|james bond|captain america|santa(?: claus)?)\b"
    r"|(?:yeah right|yeah sure|sure thing|oh sure|oh great)[,.!]"
    r"|(?:he|she|they|it|who|mom|mum|dad|friend|and i|i) (?:go|goes|went|was like|were like|is like"
    r"|said|says|asked|yelled),)"
    r"[^\n]*",
    re.I,
)

# A joke is taken back, with the sentence before it and what follows on its line.
_JOKE = re.compile(
    r"(?:^|(?<=[.!?] ))(?:[^.!?\n]{1,300}[.!?]{1,3} )?"
    r"(?:(?:i'm |i am |im )?(?:just |only )(?:kidding|joking)|jk)\b[^\n]*",
    re.I | re.M,
)


def own_words(text: str) -> str:
    """The beginning of a message without code, quotations, links, pasted blocks, fiction and suppositions."""
    text = pasted.own_words(_SINGLE.sub('""', text[:LONGEST]).translate(_PLAIN))
    text = _CODE.sub('""', text)
    text = _LINK.sub("", text)
    text = _DOUBLE.sub(_unquoted, text)
    text = _STRAIGHT.sub('""', text)
    text = text if text.isascii() else _EMOJI.sub(" . ", text)
    text = _SPACE.sub(" ", text)
    text = "\n".join(_BULLET.sub("", line.strip()) for line in text.split("\n") if len(line) <= LONGEST_LINE)
    return _SUPPOSED.sub("", _JOKE.sub("", _WRAPPED.sub(" ", text)))


def _unquoted(quotation: re.Match[str]) -> str:
    """A name in quotation marks is only a name; anything longer is somebody's speech."""
    return quotation[1] if _SHORT.fullmatch(quotation[1]) else '""'
