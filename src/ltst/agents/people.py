"""Finds the people that a question is about, by relation ("my wife's") or by name, and the texts about them.

Uses rules for English and German. Facts about the user never answer a question about somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ltst.support.tables import Table, alternatives

_TABLE = Table("ltst.agents", "people.txt")
_NOBODY, _PRONOUNS = _TABLE.words("nobody"), _TABLE.words("pronouns")
_SELF = _TABLE.pattern("self")
_KIN = {
    name: tuple(frozenset(line.split()) for line in lines)
    for name, lines in _TABLE.lines.items()
    if name not in ("nobody", "pronouns", "self")
}
_RELATIONS = frozenset(word for own, *_ in _KIN.values() for word in own)
_RELATION = alternatives(_RELATIONS)
_OURS = r"(?:my|our|mein(?:e[mnrs]?)?|unser(?:e[mnrs]?)?)"
_NAME = r"(?-i:(?P<name>[A-ZÄÖÜ][\w-]{1,30}))"

# Only the beginning of a long text is read for names.
LONGEST_TEXT = 20_000
_WORD = re.compile(r"\w+")
_RELATED = re.compile(
    rf"\b{_OURS}\s+(?:[\w-]{{1,20}}\s+){{0,2}}?(?P<kin>{_RELATION})\b(?P<law>[\s-]in[\s-]law\b)?", re.IGNORECASE
)
_CALLED = (
    re.compile(rf"(?<![\w'’]){_NAME}['’]s?\s+\w", re.IGNORECASE),
    re.compile(
        r"\b(?:does|do|did|is|are|was|were|has|had|will|can|wohnt|arbeitet|lebt)\s+"
        rf"(?:(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau)\b\.?\s+)?{_NAME}",
        re.IGNORECASE,
    ),
)
_INSIDE = re.compile(r"(?<=[\w,] )[A-ZÄÖÜ][\w-]{1,30}")
_OWNED = re.compile(rf"\b{_OURS}\s+([\w-]{{2,30}})", re.IGNORECASE)
_INTRODUCED = (
    re.compile(
        rf"\b(?P<kin>{_RELATION})(?:,|['’]s\s+name)?\s+(?:(?:is|called|named|ist|heißt)\s+){{0,2}}{_NAME}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w'’]){_NAME}(?:,|\s+is|\s+ist)\s+{_OURS}\s+(?:[\w-]{{1,20}}\s+)?(?P<kin>{_RELATION})\b", re.IGNORECASE
    ),
)
# How a sentence about somebody else begins, and the words that make it about the user too.
_OTHERS = re.compile(
    rf"\W{{0,3}}(?:{_OURS}|his|her|their)\s+(?:[\w-]{{1,20}}\s+){{0,2}}?(?:{_RELATION})\b", re.IGNORECASE
)
_NAMED = re.compile(
    r"\W{0,3}(?!I\b)[A-ZÄÖÜ][\w-]{1,30}(?:\s+(?:and|und|&)\s+[A-ZÄÖÜ][\w-]{1,30})?\s+(?:is\s+(?:allergic|called|named|\d)"
    r"|has|had|got|lives|lived|moved|works|worked|speaks|studies|turned|was\s+born|joined|started|wohnt|arbeitet|lebt)\b"
)
_WITH_ME = re.compile(r"\b(?:i|i['’]\w{1,2}|im|me|we|us|both|ich|mir|mich|wir|uns)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Person:
    """A person asked about: the words for the relation, if there is one, and all words that refer to the person."""

    relation: frozenset[str]
    called: frozenset[str]

    def is_in(self, text: str) -> bool:
        """Returns whether a text mentions this person."""
        return not self.called.isdisjoint(_words(text))

    def is_a(self, relation: str) -> bool:
        """Returns whether a stated relation may be this one, which is so unless it only names another relation."""
        said = _words(relation)
        return not self.called.isdisjoint(said) or _RELATIONS.isdisjoint(said)

    def also(self, names: Iterable[str]) -> Person:
        """Returns the same person with additional names."""
        return replace(self, called=self.called.union(*map(_forms, names)))


def asked_about(question: str) -> tuple[Person, ...]:
    """Returns the people that a question is about; none if it is about the user."""
    if _SELF.search(question):
        return ()
    related = [
        Person(frozenset(), frozenset({"law"})) if found["law"] else _relative(found["kin"].lower())
        for found in _RELATED.finditer(question)
    ]
    names = {found["name"].lower() for pattern in _CALLED for found in pattern.finditer(question)}
    return (*related, *(Person(frozenset(), _forms(name)) for name in sorted(names - _NOBODY)))


def is_naming(question: str) -> bool:
    """Returns whether a question names somebody or something, after its first word."""
    return any(found[0].lower() not in _NOBODY for found in _INSIDE.finditer(question[:LONGEST_TEXT]))


def kinds(text: str) -> list[Person]:
    """Returns the relatives and pets that a text speaks of, whoever it is about."""
    return [_relative(word) for word in sorted(_words(text) & _RELATIONS)]


def introduced(people: Sequence[Person], texts: Iterable[str]) -> tuple[Person, ...]:
    """Returns people with the names that texts give to their relation, as in "my sister Jo"."""
    if not any(each.relation for each in people):
        return tuple(people)
    said = [
        (found["kin"].lower(), found["name"])
        for text in texts
        for pattern in _INTRODUCED
        for found in pattern.finditer(text[:LONGEST_TEXT])
        if found["name"].lower() not in _NOBODY
    ]
    return tuple(each.also(name for kin, name in said if kin in each.relation) for each in people)


def speaks_on(text: str) -> bool:
    """Returns whether a text uses a pronoun for somebody named before: "she takes metformin"."""
    return not _PRONOUNS.isdisjoint(_words(text))


def is_meant(people: Sequence[Person], before: Sequence[str]) -> bool:
    """Returns whether a pronoun after these turns refers to one of these people, who were mentioned last."""
    for text in reversed(before):
        if any(each.is_in(text) for each in people):
            return True
        if not _RELATIONS.isdisjoint(_words(text)):
            return False
    return False


def is_of_somebody(text: str) -> bool:
    """Returns whether a text mentions neither the user nor a relative, so that it may be about anybody."""
    return not _WITH_ME.search(text[:LONGEST_TEXT]) and _RELATIONS.isdisjoint(_words(text))


def owned(text: str) -> frozenset[str]:
    """Returns what a text calls its writer's: "my assistant" names the assistant."""
    return frozenset(found[1].lower() for found in _OWNED.finditer(text[:LONGEST_TEXT]))


def is_of_user(text: str) -> bool:
    """Returns whether a text mentions the user."""
    return _WITH_ME.search(text[:LONGEST_TEXT]) is not None


def is_of_others(sentence: str) -> bool:
    """Returns whether a sentence is about a relative or a named person, and not about the user."""
    return bool(_OTHERS.match(sentence) or _NAMED.match(sentence)) and not _WITH_ME.search(sentence)


def _relative(kin: str) -> Person:
    own = [lines for lines in _KIN.values() if kin in lines[0]]
    relation = frozenset[str]().union(*(lines[0] for lines in own))
    return Person(relation, relation.union(*(line for lines in own for line in lines)))


def _forms(name: str) -> frozenset[str]:
    """Returns the words of a name, also with the German possessive "s": "Maltes"."""
    return frozenset(form for word in _words(name) for form in (word, f"{word}s"))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text[:LONGEST_TEXT])}
