"""Word pieces: cuts a text as BERT's uncased models do, with the vocabulary that comes with ltst."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from ltst.errors import ModelUnavailable
from ltst.providers.parts import LONGEST_STRETCH, by_pieces, encoded

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

VOCABULARY = "bert-uncased-vocab.txt"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
LONGEST_WORD = 100
UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"


class WordPieces:
    """Cuts texts into the pieces of a vocabulary; safe to use from many threads."""

    def __init__(self, vocabulary: bytes) -> None:
        """Reads the vocabulary: one piece per line, numbered from zero."""
        pieces = {piece: number for number, piece in enumerate(vocabulary.decode().rstrip("\n").split("\n"))}
        self._begin, self._end = pieces[BEGIN], pieces[END]
        self._tokenizer = _tokenizer(pieces)

    def ids(self, text: str, longest: int) -> list[int]:
        """Returns the ids of the pieces between the two marks, at most `longest` including the marks."""
        pieces = self._encode(text[:LONGEST_STRETCH]).ids
        return [self._begin, *pieces[: longest - 2], self._end]

    def parts(self, text: str, longest: int) -> list[str]:
        """Returns the text in parts of at most `longest` pieces, not counting the two marks."""
        return by_pieces(text, longest, self._encode)

    def _encode(self, text: str) -> Encoding:
        # This blocks other threads; a batch would not, but it starts threads that do not survive a fork.
        return encoded(self._tokenizer, text)


@cache
def word_pieces() -> WordPieces:
    """Returns the word pieces of the shipped vocabulary, loaded once per process."""
    vocabulary = (resources.files("ltst.providers") / "data" / VOCABULARY).read_bytes()
    if sha256(vocabulary).hexdigest() != VOCABULARY_SHA256:
        raise ModelUnavailable(f"{VOCABULARY} is not the file that ltst came with; install ltst again")
    return WordPieces(vocabulary)


def _tokenizer(pieces: dict[str, int]) -> Tokenizer:
    # The marks are not special tokens here, so that "[SEP]" written in a text is read as text.
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    tokenizer = Tokenizer(WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer
