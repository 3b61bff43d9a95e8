"""Reads all claims of one message, from its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from ltst.learn.extract import family, identity, rules, wishes
from ltst.learn.extract.clauses import MOST_CLAUSES, Clause, ParsedSentence, sentences
from ltst.learn.extract.reading import own_words
from ltst.records import Claim
from ltst.support import validate
from ltst.support.timeline import ANY

_RULES = rules.by_opener(rules.ways({**identity.READERS, **family.READERS}))
MOST_CLAIMS = 60
# In words: a longer message gives orders for one task only; a still longer one is not in the writer's own words.
LONGEST_WITH_WISHES, LONGEST_WITH_FACTS = 80, 400
_SELF = re.compile(r"\b(?:I|we|my|our|me|im|ive|here)\b", re.I)
_NAMELESS = frozenset(("pet", "child"))
# A user may have several of these, and still name one in place of another by mistake.
CORRECTED = frozenset(("language", "pet", "allergy", "child"))
_TODAY = re.compile(
    r"(?:it's|it is|today is|today's) my (?:\d+\w\w )?(?:birthday|bday)\b(?! (?:party|present|month|week|soon|next|in\b"
    r"|on\b|tomorrow))|(?:I|I've|I have)(?: just)? turned \d+ today\b|my birthday is today\b",
    re.I,
)

_Found = dict[tuple[str, str, str, str], Claim]


def read(text: str, said_at: datetime) -> list[Claim]:
    """Returns what the message says about its writer, in the order said; empty if nothing is said plainly."""
    said_at = validate.moment(said_at, "said_at")
    found: _Found = {}
    last: Claim | None = None
    own = own_words(text)
    words = len(own.split())
    if words > LONGEST_WITH_FACTS:
        return []
    for name in identity.introduced(own):
        claim = rules.fact("name", name)
        found[_identity(claim)] = claim
    for sentence in sentences(own):
        last = _named_later(sentence.text, sentence.asks, last, found)
        for claim in _read_sentence(sentence, said_at, wishing=words <= LONGEST_WITH_WISHES):
            found.setdefault(_identity(claim), claim)
            last = claim if claim.key in _NAMELESS else last
        for before, clause in pairwise(sentence.text.split(", ")[:MOST_CLAUSES]):
            if last and before.lower().endswith(last.value.lower()):
                last = _named_later(clause, sentence.asks, last, found)
        if len(found) >= MOST_CLAIMS:
            break
    return [*_consistent(found.values())]


def _identity(claim: Claim) -> tuple[str, str, str, str]:
    return claim.noun, claim.key, claim.value.lower(), claim.change


def _read_sentence(sentence: ParsedSentence, said_at: datetime, *, wishing: bool) -> Iterator[Claim]:
    if wishing:
        yield from wishes.wishes(sentence.text)
    if not sentence.doubtful and _SELF.search(sentence.text):
        for key, value in identity.described(sentence.text):
            yield rules.fact(key, value)
        yield from family.named(sentence.text, said_at)
        yield from family.together(sentence.text, said_at)
    if not sentence.doubtful and not sentence.asks:
        yield from family.died(sentence.text, said_at)
    for clause in sentence.clauses:
        for claim in rules.apply(_RULES, clause, said_at):
            yield claim
            yield from _claims_ended(claim, clause)
        if _TODAY.match(clause.whole):
            yield rules.fact("birthday", f"{said_at:%B} {said_at.day}")


def _claims_ended(claim: Claim, clause: Clause) -> Iterator[Claim]:
    """Yields what a correction ends: Lisbon in "I live in Porto, not Lisbon"."""
    if claim.change == "ends" or not (claim.single_valued or claim.key in CORRECTED):
        return
    article = "(?:an? |the )?" if claim.key == "pet" else r"(?!an?\b)"
    found = re.search(
        rf"{re.escape(claim.value)},? (?:and )?not (?:in |at |for )?{article}(?P<v>[\w .&'-]{{2,40}})$", clause.whole
    )
    if found:
        yield replace(claim, value=found["v"].strip(" ."), change="ends", valid_from=None)


def _named_later(text: str, asks: bool, last: Claim | None, found: _Found) -> Claim | None:
    """Replaces "puppy" or "two kids" of an earlier sentence or clause by the name that this one gives."""
    if last is None or last.value[:1].isupper() or asks:
        return None if asks else last
    given = family.pronamed(text)
    if not given:
        return last
    found.pop(_identity(last), None)
    detail = "species" if last.key == "pet" else "relation"
    for name in given:
        named = replace(last, value=name, details={detail: last.value, **last.details})
        found[_identity(named)] = named
    return None


def _consistent(found: Iterable[Claim]) -> Iterator[Claim]:
    """Yields the claims without a bare "dog" beside "Rex the dog", and without ends of what the message says holds."""
    kept = [*found]
    holds = {(each.key, each.value.lower()) for each in kept if each.change == "holds"}
    followed = {key for key, _ in holds}
    species = {str(each.details.get("species")) for each in kept if each.key == "pet" and each.details.get("species")}
    for each in kept:
        over = each.change == "ends" and ((each.key, each.value.lower()) in holds or each.value == ANY)
        if over and (each.value != ANY or each.key in followed):
            continue
        if each.key == "pet" and each.value.lower() in species and not each.details:
            continue
        yield each
