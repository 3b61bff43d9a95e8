"""Estimates of tokens that need no model: never too few for a budget, the same everywhere, in linear time.

Tokenizers cut a text into words, numbers and marks, and long words into pieces. What each is worth was measured on the
vocabulary o200k_base, language by language, and rounded up; other vocabularies of its size differ little.
"""

from __future__ import annotations

import math
import re

BYTES_PER_TOKEN = 4  # on the average, for rough guesses of how long a text may be
MARGIN = 1.08  # over what was measured, so that an unusual text is not counted too low

# Of a longer text blocks are looked at, so many that they are about as long: a megabyte must not hold up a program.
LONGEST, BLOCK, SAMPLED_MARGIN = 200_000, 2000, 1.03

# Ranges and not classes such as \w, which take several times as long to match.
LETTERS = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u0400-\u052f\u1e00-\u1eff"
BLANKS = " \t-\r\x1c-\x1f\x85\xa0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORD = re.compile(f"[{LETTERS}]+(?:['’](?:s|t|d|m|ll|re|ve)\\b)?")
NUMBER = re.compile("[0-9]{1,3}")
BEFORE_NUMBER = re.compile(" [0-9]")
MARKS = re.compile(f"[^{LETTERS}0-9{BLANKS}]+")
JOINED = re.compile(f"[{LETTERS}0-9][^{LETTERS}0-9{BLANKS}](?=[{LETTERS}])")  # a mark, one token with what follows
BLANK = re.compile("[ \t\r]*")
MARK = re.compile(f"[^{LETTERS}0-9{BLANKS}]")
SPACES = re.compile("[ \t]{2,}")
CAPITAL = re.compile("[a-zß-öø-ÿ][A-ZÀ-ÖØ-Þ]")  # a word within a word
CAPITALS = re.compile("[A-ZÀ-ÖØ-Þ]{2,}")
UNPRONOUNCEABLE = re.compile("[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{5,}")

SHORT = 4  # letters: most words so short are one token
# What each letter more costs. English, and code, have the most words of their own in a vocabulary; English is known by
# its small words, code by its marks.
ENGLISH_LETTER, LATIN_LETTER, CYRILLIC_LETTER, RARE_LETTER = 0.05, 0.23, 0.32, 0.47
ENGLISH = frozenset(
    re.findall(r"\w+", "the and to of is I i you it for that my on with this are as at from not have your was a The It")
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
# Lines of a prompt by their hashes: nobody's words are kept.
MOST_KNOWN, LONGEST_KNOWN = 20_000, 2_000
_known: dict[int, float] = {}


def count(text: str) -> int:
    """About how many tokens a model reads for this text: hardly ever more than this, and at most one for each byte."""
    size = len(text.encode(errors="surrogatepass"))
    if len(text) <= LONGEST:
        return min(_counted(text), size)
    stride = BLOCK * -(-len(text) // LONGEST)
    blocks = [text[at : at + BLOCK] for at in range(0, len(text), stride)]
    return min(math.ceil(sum(map(_counted, blocks)) * len(text) / sum(map(len, blocks)) * SAMPLED_MARGIN), size)


def _counted(text: str) -> int:
    if not text:
        return 0
    lines = text.split("\n")
    worth = sum(map(_known_worth, lines)) + (_breaks(lines) if len(lines) > 1 else 0.0)
    return max(1, math.ceil(worth * MARGIN))


def _breaks(lines: list[str]) -> float:
    """What the breaks between lines are worth: blank lines go into one with the break before, and so does a mark."""
    apart = 1 + sum(not BLANK.fullmatch(line) for line in lines[1:-1])
    return apart - 0.6 * sum(bool(MARK.match(line[-1:])) for line in lines[:-1])


def _known_worth(line: str) -> float:
    """What a line is worth, read once: a prompt is counted again whenever something goes in or out."""
    if len(line) > LONGEST_KNOWN:
        return _worth(line)
    found = _known.get(key := hash(line))
    if found is None:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        found = _known[key] = _worth(line)
    return found


def _worth(line: str) -> float:
    """What a line is worth; lines are looked at by themselves, since each may be in another language."""
    worth = 0.0
    if not line.isascii():
        for script, cost in SCRIPTS:
            line, found = script.subn("\x1f", line)  # a space that is not counted
            worth += cost * found
    words = WORD.findall(line)
    worth += len(words) + _letter(line, words) * sum([size - SHORT for size in map(len, words) if size > SHORT])
    worth += len(NUMBER.findall(line)) + 0.7 * len(BEFORE_NUMBER.findall(line))
    marks = MARKS.findall(line)
    worth += (
        1.5 * len(SPACES.findall(line.lstrip()))
        + 0.8 * len(marks)
        + 0.3 * sum(map(len, marks))
        - 0.9 * len(JOINED.findall(line))
    )
    worth += 0.4 * sum(map(len, UNPRONOUNCEABLE.findall(line))) + 0.5 * line.count("\t")
    if not line.islower():
        worth += len(CAPITAL.findall(line)) + 0.08 * sum(map(len, CAPITALS.findall(line)))
    return worth


def _letter(line: str, words: list[str]) -> float:
    """What a letter of a long word costs in this line."""
    if not line.isascii():
        if RARE.search(line):
            return RARE_LETTER
        if CYRILLIC.search(line):
            return CYRILLIC_LETTER
    english = sum(map(ENGLISH.__contains__, words)) > ENGLISH_SHARE * len(words)
    return ENGLISH_LETTER if english or len(CODE.findall(line)) > CODE_SHARE * len(words) else LATIN_LETTER
