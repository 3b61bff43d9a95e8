"""Dates of German, Spanish and French questions are those of the same question in English."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest

from ltst.recall.date_words import TONGUES
from ltst.recall.temporal import intervals
from ltst.recall.translated import SLOT, translated

NOW = datetime(2023, 5, 17, 15, 30, tzinfo=UTC)  # a Wednesday

ALIKE = [
    ("Was habe ich gestern gegessen?", "gestern", "yesterday"),
    ("Was habe ich vorgestern gemacht?", "vorgestern", "two days ago"),
    ("Wo war ich letzte Woche?", "letzte Woche", "last week"),
    ("Was war vorletzte Woche?", "vorletzte Woche", "the week before last"),
    ("Was habe ich im März gemacht?", "im März", "in March"),
    ("Was habe ich im Maerz gemacht?", "im Maerz", "in March"),
    ("Was war im März 2022 los?", "im März 2022", "in March 2022"),
    ("Was war im März letzten Jahres?", "im März letzten Jahres", "in March last year"),
    ("Wen habe ich vor drei Wochen getroffen?", "vor drei Wochen", "three weeks ago"),
    ("Wen habe ich vor 3 Wochen getroffen?", "vor 3 Wochen", "3 weeks ago"),
    ("Was war vor etwa zwei Jahren?", "vor etwa zwei Jahren", "about two years ago"),
    ("Was habe ich vor ein paar Tagen gesagt?", "vor ein paar Tagen", "a few days ago"),
    ("Was habe ich am 5. März 2023 gekauft?", "am 5. März 2023", "on March 5, 2023"),
    ("Was ist seit letztem Monat passiert?", "seit letztem Monat", "since last month"),
    ("Was geschah zwischen März und Mai 2022?", "zwischen März und Mai 2022", "between March and May 2022"),
    ("Was habe ich letzten Sommer gemacht?", "letzten Sommer", "last summer"),
    ("Was machte ich Anfang letzten Jahres?", "Anfang letzten Jahres", "beginning of last year"),
    ("Was hat sie am Montagabend gesagt?", "am Montagabend", "Monday evening"),
    ("Was habe ich in den letzten zwei Wochen gelernt?", "in den letzten zwei Wochen", "in the last two weeks"),
    ("Was habe ich 2022 gemacht?", "2022", "in 2022"),
    ("Wo waren wir vom 5. bis 10. Mai?", "vom 5. bis 10. Mai", "May 5-10"),
    ("Wo war ich am Wochenende?", "am Wochenende", "over the weekend"),
    ("Was habe ich vor Weihnachten gesagt?", "vor Weihnachten", "before Christmas"),
    ("Was hat er heute Morgen gesagt?", "heute Morgen", "this morning"),
    ("Was mache ich morgen?", "morgen", "tomorrow"),
    ("¿Qué hice ayer?", "ayer", "yesterday"),
    ("¿Qué hice la semana pasada?", "la semana pasada", "last week"),
    ("¿A quién vi hace dos semanas?", "hace dos semanas", "two weeks ago"),
    ("¿A quién vi hace unos tres meses?", "hace unos tres meses", "about three months ago"),
    ("¿Qué compré en marzo?", "en marzo", "in March"),
    ("¿Qué compré en marzo de 2022?", "en marzo de 2022", "in March 2022"),
    ("¿Qué hice en mayo del año pasado?", "en mayo del año pasado", "in May of last year"),
    ("¿Qué dije el 5 de marzo de 2023?", "el 5 de marzo de 2023", "on March 5, 2023"),
    ("¿Qué hice el lunes pasado?", "el lunes pasado", "last Monday"),
    ("¿Qué hice el miercoles?", "el miercoles", "on Wednesday"),
    ("¿Qué pasó en los últimos tres meses?", "en los últimos tres meses", "in the last three months"),
    ("¿Qué pasó entre enero y marzo?", "entre enero y marzo", "between January and March"),
    ("¿Dónde estuve el verano pasado?", "el verano pasado", "last summer"),
    ("¿Qué hice a principios de este año?", "a principios de este año", "beginning of this year"),
    ("¿Qué planeé a finales del año pasado?", "a finales del año pasado", "end of last year"),
    ("¿Qué hice anoche?", "anoche", "last night"),
    ("¿Qué ha pasado desde el martes?", "desde el martes", "since Tuesday"),
    ("¿Qué hice antes de Navidad?", "antes de Navidad", "before Christmas"),
    ("¿Qué hice en 2021?", "en 2021", "in 2021"),
    ("¿Qué tengo que hacer mañana?", "mañana", "tomorrow"),
    ("Qu'ai-je fait hier ?", "hier", "yesterday"),
    ("Où étais-je la semaine dernière ?", "la semaine dernière", "last week"),
    ("Qu'ai-je acheté en mars ?", "en mars", "in March"),
    ("Qu’ai-je acheté en février 2022 ?", "en février 2022", "in February 2022"),
    ("Qui ai-je rencontré il y a deux ans ?", "il y a deux ans", "two years ago"),
    ("Qu'ai-je dit il y a quelques jours ?", "il y a quelques jours", "a few days ago"),
    ("Qu'ai-je dit le 5 mars 2023 ?", "le 5 mars 2023", "on March 5, 2023"),
    ("Qu'ai-je dit le 1er mai ?", "le 1er mai", "on May 1"),
    ("Qu'ai-je fait l'année dernière en mai ?", "l'année dernière en mai", "last year in May"),
    ("Qu'ai-je fait lundi dernier ?", "lundi dernier", "last Monday"),
    ("Où étais-je l'été dernier ?", "l'été dernier", "last summer"),
    ("Que s'est-il passé ces trois derniers mois ?", "ces trois derniers mois", "in the last three months"),
    ("Que s'est-il passé entre janvier et mars 2022 ?", "entre janvier et mars 2022", "between January and March 2022"),
    ("Qu'ai-je fait hier soir ?", "hier soir", "yesterday evening"),
    ("Que s'est-il passé depuis début avril ?", "depuis début avril", "since the beginning of April"),
    ("Qu'ai-je fait avant Noël ?", "avant Noël", "before Christmas"),
    ("Qu'est-ce que je fais demain ?", "demain", "tomorrow"),
]


@pytest.mark.parametrize(("query", "words", "english"), ALIKE)
def test_a_date_is_that_of_english(query: str, words: str, english: str) -> None:
    (found,), (meant,) = intervals(query, NOW), intervals(f"What happened {english}?", NOW)
    assert ((found.start, found.end), found.text) == ((meant.start, meant.end), words)


@pytest.mark.parametrize(
    "query",
    [
        "Wo wohnt meine Schwester?",
        "Was kostet die Miete für 2000 Euro?",
        "Wer hat den Hund vor dem Haus gesehen?",
        "Nach Berlin oder nach Hamburg?",
        "¿Dónde vive mi hermana?",
        "¿Qué le gusta a la tía?",
        "Qu'ai-je été ?",
        "Où est-ce que j'habite ?",
        "Is the planet Mars red?",
        "Die Hard",
    ],
)
def test_what_names_no_date_is_not_read(query: str) -> None:
    assert intervals(query, NOW) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [("Los Angeles, March 2023", "March 2023"), ("What did Hans say in May?", "in May"), ("el Niño in May", "in May")],
)
def test_english_is_read_as_before(query: str, text: str) -> None:
    assert [each.text for each in intervals(query, NOW)] == [text]


@pytest.mark.parametrize("spoken", TONGUES, ids=lambda spoken: spoken.language.code)
def test_phrases_use_words_that_there_are(spoken) -> None:
    known = {*spoken.words, "day", "year"}
    for said, english in spoken.phrases:
        assert {name for name, _ in SLOT.findall(said + english)} <= known
        assert {*SLOT.findall(english)} <= {*SLOT.findall(said)}
    written = [*(name for names in spoken.words.values() for name in names), *spoken.plain]
    assert all(re.fullmatch(r"[a-z' -]+", word) for word in written), "texts are compared without accents"


@pytest.mark.parametrize("spoken", TONGUES, ids=lambda spoken: spoken.language.code)
@pytest.mark.parametrize(
    "piece", ["vor drei ", "hace dos ", "il y a ", "de la ", "le 5 ", "in der ", " ", "au ", "letzte "]
)
def test_long_texts_take_linear_time(spoken, piece: str) -> None:
    def seconds(size: int) -> float:
        start = time.process_time()
        translated(piece * (size // len(piece)), spoken)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(40_000) < 12 * max(seconds(10_000), 0.01)
