"""A message from its words to its claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from ltst.learn.extract import family, person, plans, preferences, rules, tastes, work
from ltst.learn.extract.clauses import Clause, Sentence, sentences
from ltst.learn.extract.reading import own_words
from ltst.records import Claim
from ltst.support import validate

_RULES = rules.by_opener([*person.RULES, *work.RULES, *family.RULES, *tastes.RULES, *plans.RULES])
MOST_CLAIMS = 60
_SELF = re.compile(r"\b(?:I|we|my|our|me|im|ive|here)\b", re.I)
_NAMELESS = frozenset(("pet", "child", "sibling", "partner"))


# Of these a user may have several, and still name one for another by mistake.
CORRECTED = frozenset(("learning", "language", "instrument", "sport", "hobby", "pet", "allergy"))
THINGS = frozenset(("car", "phone", "pet"))


def read(text: str, said_at: datetime) -> list[Claim]:
    """What the message says about its writer, in the order of saying; nothing where nothing is said plainly."""
    said_at = validate.moment(said_at, "said_at")
    found: dict[tuple[str, str, str, str], Claim] = {}
    last: Claim | None = None
    own = own_words(text)
    for name in person.introduced(own):
        claim = rules.fact("name", name, confidence=0.85)
        found[_identity(claim)] = claim
    for sentence in sentences(own):
        last = _named_later(sentence, last, found)
        for claim in _read(sentence, said_at):
            found.setdefault(_identity(claim), claim)
            last = claim if claim.key in _NAMELESS else last
        if len(found) >= MOST_CLAIMS:
            break
    return [*_consistent(found.values())]


def _identity(claim: Claim) -> tuple[str, str, str, str]:
    return claim.noun, claim.key, claim.value.lower(), claim.change


def _read(sentence: Sentence, said_at: datetime) -> Iterator[Claim]:
    wanted = [*preferences.requests(sentence.text)]
    yield from wanted
    if not sentence.doubtful and _SELF.search(sentence.text):
        for key, value in person.described(sentence.text):
            yield rules.fact(key, value, confidence=0.75)
        yield from family.named(sentence.text, said_at)
        yield from family.together(sentence.text, said_at)
    for clause in sentence.clauses:
        for claim in rules.apply(_RULES, clause, said_at):
            # How answers are liked is no taste.
            if wanted and claim.key in ("like", "dislike"):
                continue
            yield claim
            yield from _corrected(claim, clause)
        yield from _birthday(clause, said_at)


def _corrected(claim: Claim, clause: Clause) -> Iterator[Claim]:
    """What a correction ends: "I live in Porto, not Lisbon"."""
    if claim.change == "ends" or not (claim.single_valued or claim.key in CORRECTED):
        return
    article = "(?:an? |the )?" if claim.key in THINGS else r"(?!an?\b)"
    found = re.search(
        rf"{re.escape(claim.value)},? (?:and )?not (?:in |at |for )?{article}(?P<v>[\w .&'-]{{2,40}})$", clause.whole
    )
    if found:
        yield replace(claim, value=found["v"].strip(" ."), change="ends", valid_from=None)


def _birthday(clause: Clause, said_at: datetime) -> Iterator[Claim]:
    """A birthday that is today: "It's my birthday", "I turned 30 today"."""
    text = clause.whole
    if re.match(
        r"(?:it's|it is|today is|today's) my (?:\d+\w\w )?(?:birthday|bday)\b(?! (?:party|present|month"
        r"|week|soon|next|in\b|on\b|tomorrow))",
        text,
        re.I,
    ) or re.match(r"(?:I|I've|I have)(?: just)? turned \d+ today\b|my birthday is today\b", text, re.I):
        yield rules.fact("birthday", f"{said_at:%B} {said_at.day}", confidence=0.9)


def _named_later(sentence: Sentence, last: Claim | None, found: dict[tuple[str, str, str, str], Claim]) -> Claim | None:
    """Put the name that this sentence gives in place of "puppy" or "two kids" in the one before."""
    if last is None or last.value[:1].isupper() or sentence.asks:
        return None if sentence.asks else last
    given = family.pronamed(sentence.text)
    if given:
        found.pop(_identity(last), None)
        detail = "species" if last.key == "pet" else "relation"
        for name in given:
            named = replace(last, value=name, details={detail: last.value, **last.details})
            found[_identity(named)] = named
        return None
    return last


def _consistent(found: Iterable[Claim]) -> Iterator[Claim]:
    """Without a bare "dog" beside "Rex the dog", and without an ending of what the same message says to hold."""
    kept = [*found]
    holds = {(each.key, each.value.lower()) for each in kept if each.change == "holds"}
    done = {each.value.lower() for each in kept if each.key in ("hobby", "sport")}
    species = {str(each.details.get("species")) for each in kept if each.key == "pet" and each.details.get("species")}
    for each in kept:
        if each.change == "ends" and (each.key, each.value.lower()) in holds:
            continue
        if each.key == "like" and each.value.lower() in done:
            continue
        if each.key == "pet" and each.value.lower() in species and not each.details:
            continue
        yield each
