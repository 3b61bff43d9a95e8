"""Sealing, wrapping and the key file, without a database."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltst.errors import Denied, Invalid, Unavailable
from ltst.support.crypto import MasterKeys, UserCipher, WrappedKey

KEY = bytes(range(32))
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def keys(*raw: bytes) -> MasterKeys:
    return MasterKeys(",".join(each.hex() for each in raw), Path("/nowhere/master.key"))


@given(TEXT, TEXT, TEXT)
def test_what_is_sealed_can_be_opened_in_its_place(plain: str, user: str, row: str) -> None:
    cipher = UserCipher(user, 1, KEY)
    assert cipher.open(cipher.seal(plain, row), row) == plain


def test_a_sealed_value_hides_its_words_and_never_looks_the_same() -> None:
    cipher = UserCipher("ana", 1, KEY)
    sealed = {cipher.seal("the same words", "row") for _ in range(100)}
    assert len(sealed) == 100
    raw = base64.b64decode(sealed.pop().removeprefix("sealed:1:"))
    assert b"same" not in raw
    assert len(raw) == 12 + len("the same words") + 16


@pytest.mark.parametrize(
    ("user", "version", "key", "row"),
    [("eve", 1, KEY, "row"), ("ana", 2, KEY, "row"), ("ana", 1, bytes(32), "row"), ("ana", 1, KEY, "other")],
)
def test_a_sealed_value_opens_only_for_its_user_version_key_and_row(
    user: str, version: int, key: bytes, row: str
) -> None:
    sealed = UserCipher("ana", 1, KEY).seal("words", "row")
    with pytest.raises(Denied):
        UserCipher(user, version, key).open(sealed, row)


def test_user_and_row_cannot_run_into_each_other() -> None:
    sealed = UserCipher("ab", 1, KEY).seal("words", "c")
    for user, row in [("a", "bc"), ('ab", "c', ""), ("", "abc"), ("ab,c", "")]:
        with pytest.raises(Denied):
            UserCipher(user, 1, KEY).open(sealed, row)


@given(st.text(max_size=100))
def test_anything_else_is_refused(garbage: str) -> None:
    cipher = UserCipher("ana", 1, KEY)
    for forged in (garbage, f"sealed:1:{garbage}"):
        with pytest.raises(Denied):
            cipher.open(forged, "row")


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_sealed_value_has_one_spelling(length: int) -> None:
    cipher = UserCipher("ana", 1, KEY)
    sealed = cipher.seal("x" * length, "row")
    raw = base64.b64decode(sealed.removeprefix("sealed:1:"))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = len(sealed.rstrip("=")) - 1
    respelt = [
        sealed[:last] + letter + sealed[last + 1 :]
        for letter in letters
        if letter != sealed[last]
        and base64.b64decode((sealed[:last] + letter + sealed[last + 1 :]).removeprefix("sealed:1:")) == raw
    ]
    assert (len(respelt) > 0) == (len(raw) % 3 != 0)
    for forged in respelt:
        with pytest.raises(Denied):
            cipher.open(forged, "row")


def test_a_data_key_is_wrapped_for_its_user_version_and_master_key() -> None:
    first, second = secrets.token_bytes(32), secrets.token_bytes(32)
    both = keys(first, second)
    wrapped = both.new_user_key("ana")
    assert (wrapped.user_id, wrapped.key_version, wrapped.master_key_id) == ("ana", 1, keys(first).newest_id())
    both.cipher(wrapped)
    for forged in (
        replace(wrapped, user_id="eve"),
        replace(wrapped, key_version=2),
        replace(wrapped, master_key_id=keys(second).newest_id()),
        replace(wrapped, wrapped_key=wrapped.wrapped_key[:-1]),
        replace(wrapped, wrapped_key=b""),
    ):
        with pytest.raises(Denied):
            both.cipher(forged)


def test_a_data_key_wrapped_anew_opens_what_it_sealed_before() -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    wrapped = keys(old).new_user_key("ana")
    sealed = keys(old).cipher(wrapped).seal("words", "row")
    again = keys(new, old).rewrap(wrapped)
    assert again.master_key_id == keys(new).newest_id()
    assert again.wrapped_key != wrapped.wrapped_key
    assert keys(new).cipher(again).open(sealed, "row") == "words"


def test_a_master_key_that_is_missing_is_named_with_its_place(tmp_path: Path) -> None:
    wrapped = WrappedKey("ana", 1, b"x" * 60, "0123456789abcdef")
    with pytest.raises(Unavailable, match="0123456789abcdef is not in LTST_MASTER_KEY"):
        keys(KEY).cipher(wrapped)
    with pytest.raises(Unavailable, match=f"0123456789abcdef is not in {tmp_path / 'master.key'}"):
        MasterKeys(None, tmp_path / "master.key").cipher(wrapped)


def test_the_name_of_a_key_does_not_give_it_away() -> None:
    assert keys(KEY).newest_id() not in KEY.hex()
    assert len(keys(KEY).newest_id()) == 16


def test_a_key_file_with_nonsense_is_invalid_and_says_where(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    for written in ("", "nonsense", "\n"):
        file.write_text(written)
        file.chmod(0o600)
        with pytest.raises(Invalid, match=str(file)):
            MasterKeys(None, file).newest_id()


def test_a_rotation_that_fails_keeps_all_keys(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    ring = MasterKeys(None, file)
    wrapped = ring.new_user_key("ana")
    with pytest.raises(RuntimeError, match="halfway"), ring.begin_rotation():
        raise RuntimeError("halfway")
    assert len(file.read_text().split(",")) == 2
    MasterKeys(None, file).cipher(wrapped)
    assert MasterKeys(None, file).newest_id() != wrapped.master_key_id


def test_a_rotation_keeps_the_key_before_and_drops_the_older_ones(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    ring = MasterKeys(None, file)
    names = [ring.new_user_key("ana").master_key_id]
    for _ in range(3):
        with ring.begin_rotation():
            pass
        names.append(MasterKeys(None, file).newest_id())
    assert len(set(names)) == 4
    assert len(file.read_text().split(",")) == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["master.key", "master.key.lock"]


def test_another_ring_learns_of_a_new_key_when_it_meets_one(tmp_path: Path) -> None:
    one, two = (MasterKeys(None, tmp_path / "master.key") for _ in range(2))
    assert one.new_user_key("ana").master_key_id == two.newest_id()
    with one.begin_rotation():
        pass
    wrapped = one.new_user_key("ana")
    two.cipher(wrapped)
    assert two.new_user_key("bob").master_key_id == wrapped.master_key_id
