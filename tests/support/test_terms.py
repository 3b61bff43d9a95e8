"""The words of a text as search compares them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst.support.languages import LANGUAGES, Language, guess
from ltst.support.terms import LONGEST_TERM, distinct, terms

if TYPE_CHECKING:
    from ltst import Memory


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I moved to Lisbon in March!", ["move", "lisbon", "march"]),
        ("running runner runs", ["run", "runner", "run"]),
        ("Ana's 3 dogs", ["ana", "3", "dog"]),
        ("who are you", []),
        ("CAFÉ ﬁne", ["café", "fine"]),
        ("我喜欢", ["我", "喜", "欢", "我喜", "喜欢"]),
        ("東京Tower", ["東", "京", "東京", "tower"]),
        ("서울에 산다", ["서", "울", "에", "서울", "울에", "산", "다", "산다"]),
        ("", []),
    ],
)
def test_terms(text: str, found: list[str]) -> None:
    assert terms(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ich habe zwei Hunde und eine Katze.", ["zwei", "hund", "katz"]),
        ("Die Häuser meiner Schwestern", ["häuser", "haus", "schwestern", "schwest"]),
        ("¿Dónde vive mi hermana?", ["vive", "viv", "hermana", "herman"]),
        ("Où sont mes chaussures ?", ["chaussur"]),
        ("Где живёт моя сестра?", ["живёт", "живет", "сестра", "сестр"]),
        ("Купил яблоки", ["купил", "куп", "яблоки", "яблок"]),
    ],
)
def test_another_language_has_its_stems_beside_the_english_ones(text: str, found: list[str]) -> None:
    assert terms(text) == found
    every = [term for word in re.findall(r"\w+", text.lower()) for term in terms(word)]
    assert {*terms(text)} & {*every}, "what is told alone meets it"


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("Ich habe zwei Hunde und eine Katze.", "Wie heißt mein Hund und wo ist er?"),
        ("Sie wohnte damals in einem der alten Häuser.", "In welchem Haus wohnte sie denn?"),
        ("Ayer compré unas manzanas para mi hermana.", "¿Qué manzana le compré a ella?"),
        ("Nous avons acheté des chevaux et une maison.", "Quelle maison avons-nous achetée ?"),
        ("Ho comprato due macchine nuove per mia figlia.", "Che macchina nuova ho io?"),
        ("Comprei duas bicicletas para os meus filhos.", "Onde está a bicicleta do meu filho?"),
        ("Ik heb twee boeken gekocht voor mijn kinderen.", "Waar is het boek van mijn zoon?"),
        ("Jag har två hundar och en katt.", "Var är min hund?"),
        ("Я купил красные яблоки и груши.", "Где моё красное яблоко?"),
        ("Hund und Katze", "Hund"),  # where too little tells the language
    ],
)
def test_forms_of_a_word_meet_in_its_language(told: str, asked: str) -> None:
    assert {*terms(told)} & {*terms(asked)}


@pytest.mark.parametrize(
    "text",
    [
        "Die Hard is on tonight",
        "Las Vegas",
        "La La Land",
        "Los Angeles",
        "Der Spiegel",
        "And electron microscopy like TEM and SEM?",
        "How do I say 'wo ist der Bahnhof' in German?",
        "I met Müller at the café in São Paulo",
        "https://i.pinimg.com/originals/d5/2b/de/d52bde.jpg",
        "He wrote Ελλάδα and Россия on the board",
        "My sons are in Den Haag",
    ],
)
def test_english_stays_as_it_is(text: str) -> None:
    alone = [term for word in re.findall(r"\w+", text.lower()) for term in terms_of_english(word)]
    assert terms(text) == alone


def terms_of_english(word: str) -> list[str]:
    return terms(f"the {word} is on it")


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_each_language_is_told_by_its_common_words(language: Language) -> None:
    assert len(language.stop_words) > 40
    assert guess([*language.stop_words]) is language
    assert not language.stemmer or language.stemmer in Stemmer.algorithms()


def test_terms_take_linear_time() -> None:
    text = "Ich habe die Häuser gesehen und was der Hund да я 語 "

    def seconds(times: int) -> float:
        start = time.process_time()
        terms(text * times)
        return time.process_time() - start

    seconds(100)
    assert seconds(8_000) < 12 * max(seconds(2_000), 0.005)


def test_each_term_once() -> None:
    assert distinct("the dog and the other dog") == ["dog"]


@settings(max_examples=200)
@given(st.text())
def test_any_text_has_terms_of_bounded_length(text: str) -> None:
    assert all(0 < len(term) <= LONGEST_TERM and " " not in term for term in terms(text))


def test_postgres_reads_the_terms_back(sync_memory: Memory, database_url: str) -> None:
    from helpers.probes import superuser, value  # late: the driver takes longer to import than the other tests to run

    text = "Where's 東京 — it's a café; O'Brien & 42 'quotes' \\ backslash " * 50
    sync_memory.user("ana").chat("monday").add("user", text)
    assert sync_memory.user("ana").search("O'Brien 東京")
    asked = " ".join(distinct(text))  # as a question's terms are sent
    with superuser(database_url) as connection:
        kept = dict(connection.execute("SELECT term, postings[1] / 1024 FROM search_terms").fetchall())
        assert value(connection, "SELECT string_to_array(%s, ' ')", asked) == distinct(text)
    assert {term: kept[term] for term in terms(text)} == dict.fromkeys(terms(text), 31), "as often as is counted"
