"""Estimates of tokens that need no model: never too few for a budget, the same everywhere, in linear time.

Tokenizers cut a text into words, numbers and marks, and long words into pieces. What each is worth was measured on the
vocabulary o200k_base, language by language, and rounded up; other vocabularies of its size differ little.
"""

from __future__ import annotations

import math
import re

BYTES_PER_TOKEN = 4  # on the average, for rough guesses of how long a text may be
MARGIN = 1.08  # over what was measured, so that an unusual text is not counted too low

WORD = re.compile(r"[^\W\d_]+(?:['’](?:s|t|d|m|ll|re|ve)\b)?")
NUMBER = re.compile(r"\d{1,3}")
BEFORE_NUMBER = re.compile(r" (?=\d)")
MARKS = re.compile(r"[^\w\s]+|_+")
JOINED = re.compile(r"(?<=\w)[^\w\s](?=[^\W\d_])|_(?=[^\W\d_])")  # one token with the letters behind: self.count
BREAK = re.compile(r"\n\s*")
BREAK_AFTER_MARK = re.compile(r"(?<=[^\w\s])\n")
SPACES = re.compile(r"(?<=\S)[^\S\n]{2,}")
CAPITAL = re.compile(r"(?<=[a-zß-öø-ÿ])[A-ZÀ-ÖØ-Þ]")
CAPITALS = re.compile(r"[A-ZÀ-ÖØ-Þ]{2,}")
UNPRONOUNCEABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)

SHORT = 4  # letters: most words so short are one token
# What each letter more costs. English, and code, have the most words of their own in a vocabulary; English is known by
# its small words, code by its marks.
ENGLISH_LETTER, LATIN_LETTER, CYRILLIC_LETTER, RARE_LETTER = 0.05, 0.23, 0.32, 0.47
ENGLISH = frozenset(
    re.findall(r"\w+", "the and to of is i you it for that my on with this are as at from not have your was a")
)
ENGLISH_SHARE = 0.12
CODE = re.compile(r"[(){}\[\]=<>_;]")
CODE_SHARE = 0.4
CYRILLIC = re.compile("[\u0400-\u04ff]")
RARE = re.compile("[\u0100-\u024f\u0404\u0406\u0407\u0454\u0456\u0457\u0490\u0491\u1e00-\u1eff]")
# What each character costs in scripts that are not counted by words: Han and kana, Hangul, others, pictures.
SCRIPTS = (
    (re.compile("[\u2e80-\u2fff\u3040-\ua4cf\uf900-\ufaff\uff66-\uff9f]"), 0.9),
    (re.compile("[\uac00-\ud7af\u1100-\u11ff]"), 0.8),
    (re.compile("[\u0370-\u03ff\u0530-\u08ff\u1f00-\u1fff]"), 0.6),
    (re.compile("[\u0900-\u10ff\u1200-\u1dff\uaa00-\uabff]"), 0.8),
    (re.compile("[\u2190-\u2bff\ufe00-\ufe0f\U00010000-\U0010ffff]"), 3.0),
)


def count(text: str) -> int:
    """About how many tokens a model reads for this text: seldom fewer than this, and at most one for each byte."""
    if not text:
        return 0
    breaks = len(BREAK.findall(text)) - 0.6 * len(BREAK_AFTER_MARK.findall(text))
    worth = breaks + 1.5 * len(SPACES.findall(text)) + sum(map(_worth, text.split("\n")))
    return max(1, min(math.ceil(worth * MARGIN), len(text.encode(errors="surrogatepass"))))


def _worth(line: str) -> float:
    """What a line is worth; lines are looked at by themselves, since each may be in another language."""
    worth = 0.0
    if not line.isascii():
        for script, cost in SCRIPTS:
            line, found = script.subn("\x1f", line)  # a space that is not counted
            worth += cost * found
    words = WORD.findall(line)
    worth += len(words) + _letter(line, words) * sum(len(word) - SHORT for word in words if len(word) > SHORT)
    worth += len(NUMBER.findall(line)) + 0.7 * len(BEFORE_NUMBER.findall(line))
    worth += sum(0.8 + 0.3 * len(run) for run in MARKS.findall(line)) - 0.9 * len(JOINED.findall(line))
    worth += 0.7 * len(CAPITAL.findall(line)) + sum(0.1 * len(run) for run in CAPITALS.findall(line))
    return worth + sum(0.4 * len(run) for run in UNPRONOUNCEABLE.findall(line))


def _letter(line: str, words: list[str]) -> float:
    """What a letter of a long word costs in this line."""
    if not line.isascii():
        if RARE.search(line):
            return RARE_LETTER
        if CYRILLIC.search(line):
            return CYRILLIC_LETTER
    english = sum(word.lower() in ENGLISH for word in words) > ENGLISH_SHARE * len(words)
    return ENGLISH_LETTER if english or len(CODE.findall(line)) > CODE_SHARE * len(words) else LATIN_LETTER
