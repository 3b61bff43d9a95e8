"""The cut of long texts into what the local model reads whole."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst.providers.local import LONGEST, LocalEmbedder
from ltst.providers.wordpieces import word_pieces

FITS = LONGEST - 2


def pieces(text: str) -> int:
    return len(word_pieces()._tokenizer.encode(text, add_special_tokens=False))


def check(text: str, room: int = 0) -> list[str]:
    parts = LocalEmbedder().parts(text, room=room)
    assert "".join(parts) == text
    assert all(pieces(part.encode(errors="replace").decode()) <= FITS - room for part in parts)
    assert len(parts) == 1 or all(parts)
    return parts


FRAGMENTS = st.sampled_from([
    "word ", "Sentence. ", "\n\n", "\n", "unbelievableness", "。", "東京", "한국어", "e\u0301", "İ", "ß", "ﷺ", "हिन्दी",
    "123456789", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\u200b", "\x00", "x" * 101,
    "!?", "...", "\u0345\u0301", "\u302e", "[SEP]",
])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(FRAGMENTS, st.integers(1, 300)), max_size=6), st.integers(0, 50))
def test_parts_cover_the_text_and_fit_the_model(runs, room):
    check("".join(fragment * times for fragment, times in runs), room)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=200, max_size=1500))
def test_any_unicode_is_covered(text):
    check(text)


def test_every_kind_of_character_is_covered():
    seen: dict[tuple[str, int, int], int] = {}
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code < 0xE000:
            character = chr(code)
            kind = (
                unicodedata.category(character),
                unicodedata.combining(character),
                len(unicodedata.normalize("NFD", character)),
            )
            seen.setdefault(kind, code)
    for code in seen.values():
        check(chr(code) * 600)
        check(f"a{chr(code)}" * 300)


def test_a_text_that_fits_is_one_part():
    for text in ("", " ", "Hello there.", "word " * FITS, "word " * FITS + "\n\n "):
        assert LocalEmbedder().parts(text) == [text]


def test_one_piece_too_many_makes_two_parts_of_a_size():
    parts = check("word " * (FITS + 1))
    assert [pieces(part) for part in parts] == [127, 128]


def test_room_is_left_for_what_the_caller_puts_before_each():
    assert len(check("word " * FITS, room=20)) == 2
    assert LocalEmbedder().parts("word " * 500, room=10_000) == LocalEmbedder().parts("word " * 500, room=80)
    assert LocalEmbedder().parts("word " * 500, room=-1) == LocalEmbedder().parts("word " * 500)


def test_paragraphs_are_preferred_to_sentences():
    paragraph = "This is a sentence of eight words. " * 17
    parts = check("\n\n".join([paragraph] * 6))
    assert all(part.endswith("\n\n") for part in parts[:-1])


def test_sentences_are_preferred_to_words():
    parts = check('She said: "This is a sentence of a dozen words, more or less." ' * 60)
    assert all(part.endswith('less." ') for part in parts)


def test_chinese_sentences_end_without_a_space():
    parts = check("我昨天去了市场买了很多新鲜的蔬菜。" * 60)
    assert all(part.endswith("。") for part in parts)


def test_words_stay_whole():
    parts = check("electroencephalographically " * 300)
    assert all(part.endswith(" ") and not part.startswith(" ") for part in parts)


def test_a_word_without_end_is_cut_where_it_can_be():
    assert len(check("https://example.org/" + "/".join(f"step{number}" for number in range(400)))) > 3
    assert len(check("語" * 1000)) == 4


def test_half_of_a_surrogate_pair_does_no_harm():
    check("\ud800 broken " * 300)


def test_a_megabyte_is_cut():
    text = "The quick brown fox jumps over the lazy dog, again and again. " * 17_000
    parts = LocalEmbedder().parts(text)
    assert "".join(parts) == text
    assert len(parts) == pytest.approx(17_000 * 14 / FITS, rel=0.15)
    assert all(part.endswith("again. ") for part in parts)
