"""Estimates token counts without a model: hardly ever too low for a budget, the same everywhere, in linear time.

Tokenizers cut a text into words, numbers and marks, and long words into pieces. The cost of each was measured on the
vocabulary o200k_base, language by language, and rounded up; other vocabularies of its size differ little. Sums are in
whole hundredths of a token, so that they do not depend on the order of addition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

BYTES_PER_TOKEN = 4  # on average, for rough guesses of a text's length
MARGIN = 108  # in hundredths: a margin, so that an unusual text is not counted too low

# A longer text is sampled in evenly spaced blocks, LONGEST characters in all: a megabyte must not block a program.
LONGEST, BLOCK, SAMPLED_MARGIN = 200_000, 2000, 103

# Ranges, because classes such as \w take several times as long to match.
LETTERS = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u0400-\u052f\u1e00-\u1eff"
BLANKS = " \t-\r\x1c-\x1f\x85\xa0\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORD = re.compile(f"[{LETTERS}]+(?:['’](?:s|t|d|m|ll|re|ve)\\b)?")
NUMBER = re.compile("[0-9]{1,3}")
BEFORE_NUMBER = re.compile(" [0-9]")
MARKS = re.compile(f"[^{LETTERS}0-9{BLANKS}]+")
JOINED = re.compile(f"[{LETTERS}0-9][^{LETTERS}0-9{BLANKS}](?=[{LETTERS}])")  # one token with what follows the mark
BLANK = " \t\r"
MARK = re.compile(f"[^{LETTERS}0-9{BLANKS}]")
SPACES = re.compile("[ \t]{2,}")
CAPITAL = re.compile("[a-zß-öø-ÿ][A-ZÀ-ÖØ-Þ]")  # a word within a word
CAPITALS = re.compile("[A-ZÀ-ÖØ-Þ]{2,}")
UNPRONOUNCEABLE = re.compile("[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{5,}")

SHORT = 4  # letters: most words this short are one token
# The cost of each further letter. Vocabularies hold most words of English and of code; English is recognised by its
# small words, code by its marks.
ENGLISH_LETTER, LATIN_LETTER, CYRILLIC_LETTER, RARE_LETTER = 5, 23, 32, 47
ENGLISH = frozenset(
    re.findall(r"\w+", "the and to of is I i you it for that my on with this are as at from not have your was a The It")
)
ENGLISH_SHARE = 0.12
CODE = re.compile(r"[(){}\[\]=<>_;]")
CODE_SHARE = 0.4
CYRILLIC = re.compile("[\u0400-\u04ff]")
RARE = re.compile("[\u0100-\u024f\u0404\u0406\u0407\u0454\u0456\u0457\u0490\u0491\u1e00-\u1eff]")
# The cost of each character in scripts that are not counted by words: Han and kana, Hangul, others, emoji.
SCRIPTS = (
    (re.compile("[\u2e80-\u2fff\u3040-\ua4cf\uf900-\ufaff\uff66-\uff9f]"), 90),
    (re.compile("[\uac00-\ud7af\u1100-\u11ff]"), 80),
    (re.compile("[\u0370-\u03ff\u0530-\u08ff\u1f00-\u1fff]"), 60),
    (re.compile("[\u0900-\u10ff\u1200-\u1dff\uaa00-\uabff]"), 80),
    (re.compile("[\u2190-\u2bff\ufe00-\ufe0f\U00010000-\U0010ffff]"), 300),
)
# The costs of words, numbers and marks, and what is added or subtracted where they meet.
WHOLE, NUMBER_AFTER_BLANK, SPACES_COST, MARKS_COST, MARK_COST, JOINED_COST = 100, 70, 150, 80, 30, -90
UNPRONOUNCEABLE_COST, TAB_COST, CAPITAL_COST, CAPITALS_COST, MARK_BEFORE_BREAK = 40, 50, 100, 8, -60

# Most texts are ASCII. Classes of bytes show what does not occur in a text and need not be searched for.
DIGITS = frozenset("0123456789")
CONSONANTS = frozenset("bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ")


def _class(character: str) -> str:
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "0" if character in DIGITS else "." if MARK.match(character) else " "


ASCII = [chr(code) for code in range(128)]
ASCII_TABLE = b"".join(_class(each).encode() for each in ASCII) + bytes(128)
LETTERS_TABLE = b"".join(each.encode() if each.isalpha() else b" " for each in ASCII) + bytes(128)
SOUNDS_TABLE = b"".join(b"c" if each in CONSONANTS else b"v" for each in ASCII) + bytes(128)
CODE_MARKS = b"(){}[]=<>_;"
ENGLISH_BYTES = frozenset(word.encode() for word in ENGLISH)

# A line is read in pieces, cut at spaces, so that recurring ones are read once: "user:" before a turn, "[m3, its
# details]" before a memory, the separators between memories, and runs of words.
SPEAKERS, DETAILS, DETAILS_END, BETWEEN, RUN = ("user: ", "assistant: ", "system: "), "[m", "] ", " / ", 320
CUT = " […]"  # ends a text that was cut
# Counts of texts, lines and pieces by hash, so that nobody's words are kept.
MOST_KNOWN, LONGEST_KNOWN = 20_000, 20_000
_counts: dict[int, int] = {}
_lines: dict[int, int] = {}
_ended: dict[int, int] = {}
_pieces: dict[int, PieceCount] = {}


class PieceCount(NamedTuple):
    """What was counted in a piece of a line. Pieces separated by a space add up; the highest cost of a letter wins.

    Only the whole line decides what a letter costs.
    """

    worth: int  # the cost of everything but the letters of long words
    words: int
    letters: int  # letters of long words beyond the first SHORT
    english: int  # words
    code: int  # marks
    letter: int = 0  # the least cost of a letter, by its script


def count(text: str) -> int:
    """Estimates how many tokens a model reads for a text: hardly ever too low, and at most one for each byte."""
    if len(text) > LONGEST_KNOWN:
        return _count(text)
    found = _counts.get(key := hash(text))
    return _remember(_counts, key, _count(text)) if found is None else found


def _remember(known: dict[int, int], key: int, found: int) -> int:
    """Caches and returns a count, since a prompt is counted again whenever something is added or dropped."""
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[key] = found
    return found


def _count(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    if len(text) <= LONGEST:
        return min(_count_short(text), size)
    stride = BLOCK * -(-len(text) // LONGEST)
    blocks = [text[at : at + BLOCK] for at in range(0, len(text), stride)]
    return min(-(-sum(map(_count_short, blocks)) * len(text) * SAMPLED_MARGIN // (sum(map(len, blocks)) * 100)), size)


def _count_short(text: str) -> int:
    if not text:
        return 0
    words = text.rstrip("\n")
    if "\n" in words or not words:
        worth = _several(text.split("\n"))
    else:
        worth = _line(words)
        if len(words) < len(text):  # the usual case in a prompt: one line with the gap after it
            worth += WHOLE + MARK_BEFORE_BREAK * _is_mark(words[-1])
    return max(1, -(-worth * MARGIN // (WHOLE * 100)))


def _several(lines: list[str]) -> int:
    """Returns the cost of several lines with their line breaks; a leading line break has no text to merge with."""
    *ended, last = lines
    known = [*map(_ended.get, map(hash, ended))]
    worths = [_with_break(line) if worth is None else worth for line, worth in zip(ended, known, strict=True)]
    return sum(worths) + _line(last) + (0 if ended[0].strip(BLANK) else WHOLE)


def _with_break(line: str) -> int:
    """Returns the cost of a line with its line break; a blank line, or a mark at its end, merges into the break."""
    worth = _line(line) + (WHOLE if line.strip(BLANK) else 0)
    if line and _is_mark(line[-1]):
        worth += MARK_BEFORE_BREAK
    return worth if len(line) > LONGEST_KNOWN else _remember(_ended, hash(line), worth)


@lru_cache(MOST_KNOWN)
def _is_mark(character: str) -> bool:
    return bool(MARK.match(character))


def _line(line: str) -> int:
    """Returns the cost of a line, from the cache if possible."""
    if len(line) > LONGEST_KNOWN:
        return _worth(line)
    found = _lines.get(key := hash(line))
    return _remember(_lines, key, _worth(line)) if found is None else found


def _worth(line: str) -> int:
    """Computes the cost of a line. Lines are taken one by one, since each may be in another language."""
    words = line.lstrip(" ")
    if "  " in words or "\t" in words:
        read = _read(line)
        return read.worth + _letter(read) * read.letters
    after_blank = len(words) < len(line)
    worth = count = letters = english = code = letter = 0
    for piece in _cut(words):
        read = _read(piece)
        worth += read.worth + (NUMBER_AFTER_BLANK if after_blank and piece[:1] in DIGITS else 0)
        count += read.words
        letters += read.letters
        english += read.english
        code += read.code
        letter = max(letter, read.letter)
        after_blank = True
    return worth + letters * _letter(PieceCount(worth, count, letters, english, code, letter))


def _cut(words: str) -> list[str]:
    """Cuts a line into pieces, each separated from the next by one space."""
    pieces: list[str] = []
    if words.startswith(SPEAKERS):
        speaker, _, words = words.partition(" ")
        pieces.append(speaker)
    elif words.startswith(DETAILS) and DETAILS_END in words:
        details, _, words = words.partition(DETAILS_END)
        pieces.append(details + DETAILS_END.rstrip())
    for place, memory in enumerate(words.split(BETWEEN)):
        if place:
            pieces.append(BETWEEN.strip())
        start = 0
        while len(memory) - start > RUN and (end := memory.find(" ", start + RUN)) >= 0:
            pieces.append(memory[start:end])
            start = end + 1
        last = memory[start:]
        pieces += [last.removesuffix(CUT), CUT.strip()] if last.endswith(CUT) else [last]
    return pieces


def _letter(read: PieceCount) -> int:
    """Returns what a further letter of a long word costs in a line."""
    if read.letter:
        return read.letter
    english = read.english > ENGLISH_SHARE * read.words or read.code > CODE_SHARE * read.words
    return ENGLISH_LETTER if english else LATIN_LETTER


def _read(piece: str) -> PieceCount:
    """Returns the counts of a piece, from the cache if possible."""
    if len(piece) > LONGEST_KNOWN:
        return _read_anew(piece)
    found = _pieces.get(key := hash(piece))
    if found is None:
        if len(_pieces) >= MOST_KNOWN:
            _pieces.clear()
        found = _pieces[key] = _read_anew(piece)
    return found


def _read_anew(piece: str) -> PieceCount:
    if not piece.isascii():
        return _read_any(piece)
    written = piece.encode()
    classes, worth = written.translate(ASCII_TABLE), 0
    if b"0" in classes:
        worth += WHOLE * len(NUMBER.findall(piece)) + NUMBER_AFTER_BLANK * len(BEFORE_NUMBER.findall(piece))
    marks = classes.count(b".")
    if marks:
        worth += MARK_COST * marks + MARKS_COST * (len(MARKS.findall(piece)) if b".." in classes else marks)
        if b".a" in classes or b".A" in classes:
            worth += JOINED_COST * len(JOINED.findall(piece))
    if "  " in piece or "\t" in piece:
        worth += SPACES_COST * len(SPACES.findall(piece.lstrip())) + TAB_COST * piece.count("\t")
    if b"ccccc" in written.translate(SOUNDS_TABLE):
        worth += UNPRONOUNCEABLE_COST * sum(map(len, UNPRONOUNCEABLE.findall(piece)))
    worth += CAPITAL_COST * classes.count(b"aA")
    if b"AA" in classes:
        worth += CAPITALS_COST * sum(map(len, CAPITALS.findall(piece)))
    code = len(written) - len(written.translate(None, CODE_MARKS)) if marks else 0
    if "'" in piece:
        words = WORD.findall(piece)
        return _with_words(worth, words, sum(map(ENGLISH.__contains__, words)), code)
    plain = written.translate(LETTERS_TABLE).split()
    return _with_words(worth, plain, sum(map(ENGLISH_BYTES.__contains__, plain)), code)


def _read_any(piece: str) -> PieceCount:
    """Counts a piece in any script."""
    worth = 0
    for script, cost in SCRIPTS:
        piece, found = script.subn("\x1f", piece)  # counts as nothing
        worth += cost * found
    words, marks = WORD.findall(piece), MARKS.findall(piece)
    worth += WHOLE * len(NUMBER.findall(piece)) + CAPITAL_COST * len(CAPITAL.findall(piece))
    worth += NUMBER_AFTER_BLANK * len(BEFORE_NUMBER.findall(piece)) + SPACES_COST * len(SPACES.findall(piece.lstrip()))
    worth += MARKS_COST * len(marks) + MARK_COST * sum(map(len, marks)) + JOINED_COST * len(JOINED.findall(piece))
    worth += UNPRONOUNCEABLE_COST * sum(map(len, UNPRONOUNCEABLE.findall(piece))) + TAB_COST * piece.count("\t")
    worth += CAPITALS_COST * sum(map(len, CAPITALS.findall(piece)))
    letter = RARE_LETTER if RARE.search(piece) else CYRILLIC_LETTER if CYRILLIC.search(piece) else 0
    english = sum(map(ENGLISH.__contains__, words))
    return _with_words(worth, words, english, len(CODE.findall(piece)), letter)


def _with_words(worth: int, words: Sequence[str | bytes], english: int, code: int, letter: int = 0) -> PieceCount:
    letters = sum([size - SHORT for size in map(len, words) if size > SHORT])
    return PieceCount(worth + WHOLE * len(words), len(words), letters, english, code, letter)
