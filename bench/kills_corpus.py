"""What the users of the kill test say: every session tells other things, so that all that is learnt is learnt once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

BEGINNING = datetime(2024, 1, 1, 9, tzinfo=UTC)
CITIES = ("Lisbon", "Porto", "Utrecht", "Bergen", "Kyoto", "Quito", "Tartu", "Windhoek")
NAMES = ("Ana", "Bela", "Caio", "Dora", "Elin", "Faro", "Gita", "Hugo")
# Each theme has words of its own; two sessions with one theme are related, those of two themes are not.
THEMES = (
    (
        "We planned the garden in {place} with beds for tomatoes and beans.",
        "The fence around the garden in {place} needs paint before the summer.",
        "Compost for the garden in {place} comes with the farmer's cart on Friday.",
    ),
    (
        "Our sailing trip to {place} starts at the old pier with two boats.",
        "The mast of the second boat was mended by a carpenter near {place}.",
        "For the sailing trip to {place} we still lack life jackets and a chart.",
    ),
)
OWN = (
    ("My name is {name}.", "I live in {city}.", "I work at {city} Mills."),
    ("I have a dog called {name}.", "I'm allergic to peanuts.", "I drive a blue Volvo."),
    ("I prefer short answers.", "My sister is called {name}.", "I play the cello."),
    ("Use metric units.", "I'm vegetarian.", "I speak Portuguese."),
)


class Session(NamedTuple):
    """One conversation, long over."""

    user: str
    session_id: str
    turns: list[dict[str, Any]]


def sessions(number: int) -> Iterator[Session]:
    """The conversations of one user."""
    user = f"user-{number}"
    place, city, name = (words[number % len(words)] for words in (CITIES[::-1], CITIES, NAMES))
    for position, own in enumerate(OWN):
        theme = THEMES[position % len(THEMES)]
        said = [*own, *theme[: 2 + position // len(THEMES)]]
        turns = [
            _turn("user", text.format(place=place, city=city, name=name), number, position, at)
            for at, text in enumerate(said)
        ]
        turns.append(_turn("assistant", "Noted, thank you.", number, position, len(said)))
        yield Session(user, f"session-{position}", turns)


def _turn(role: str, content: str, number: int, position: int, at: int) -> dict[str, Any]:
    moment = BEGINNING + timedelta(minutes=number, days=10 * position, seconds=at)
    return {"role": role, "content": content, "at": moment, "key": f"{position}-{at}"}
