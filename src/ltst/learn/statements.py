"""Statements: finds the sentences of a message in which its writer tells something of their life.

Sentences that are asked, quoted, pasted, invented, supposed or taken back are left out; the gate chooses among the
rest. Nothing is paraphrased: a statement is a span of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from ltst.learn import gate, pasted, when
from ltst.records import NewStatement
from ltst.support import questions
from ltst.support.sentences import spans
from ltst.support.text import holds_any

LEAST = 0.45  # from this probability on a sentence counts as a statement
LONGEST = 20_000  # characters of a message that are read
LONGEST_SENTENCE = 1_500  # nobody types a longer sentence about themself
MOST_SENTENCES = 200
LONGEST_ABOUT = 80

Span = tuple[int, int]

_PLAIN = str.maketrans({"’": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
# Someone else's words or a name in quotation marks, and code.
_QUOTED = re.compile(r'"[^"\n]{12,2000}"|`[^`\n]{1,500}`|‘[^‘\n]{12,500}?\'(?!\w)')
# Everything after these on the same line is invented or only supposed.
_INVENTED = re.compile(
    r"\b(?:imagine|imagining|suppose|supposing|assume|assuming|let's say|say that i|hypothetically|what if|picture this"
    r"|for the sake of argument|once upon a time|in (?:another|a past|my next|my past) (?:life|universe|world)"
    r"|in (?:my|a|this|the|our) (?:[\w-]{1,20} )?(?:dream|story|novel|game|movie|film|play|scenario|script|scene"
    r"|chapter|world|simulation|campaign|rpg|fanfic|screenplay)"
    r"|role-?\s?play\w*|pretend\w*|act as|in character|as a character|(?:my|your|the) (?:[\w&-]{1,20} )?character"
    r"|you are now|from now on you are|i want you to (?:be|act|play|pretend|respond as)|stay in character"
    r"|(?:if i were|if i was|if i had|i wish i)\b"
    # With what would be so: "if I won the lottery I'd live in Hawaii".
    r"|if (?:i|we) (?:ever )?(?:won|could|lived|owned|became|inherited)\b[^.!?\n]{0,80}? (?:(?:i|we)"
    r"(?:'d| would)|id)\b"
    r"|(?:write|compose|draft|generate|invent|make up|create|sing|rewrite|continue)(?: me| us| my)? (?:an?|some|the"
    r"|another|this) (?:[\w-]{1,30} ){0,3}(?:story|poem|song|lyrics|script|screenplay|scene|dialogue|monologue|essay"
    r"|novel|speech|bio|letter|email|message|ad|tweet|post|haiku|limerick|rap|joke|tale|profile|sketch|obituary|toast|diary|blog))"
    r"\b[^\n]{0,5000}",
    re.I,
)
# Every such text holds one of these (the same goes for the patterns below), and looking for them first is cheaper.
_INVENTING = tuple(
    """
    imagin|suppos|assum|let's say|say that i|hypothet|what if|picture this|for the sake|once upon|play|pretend|act as
    |charact|you are|want you to|if i |i wish|in my|in a|in this|in the|in our|write|compos|draft|generat|invent|make up
    |creat|sing|continue
    """.replace("\n    ", "").split("|")
)
# Words that make a whole message a game or a text for others.
_FICTION = re.compile(
    r"\b(?:personas?|d&d|dnd|npcs?|fan-?fic(?:tion)?s?|opening line|(?:my|this|the) (?:dialogue|monologue))\b"
    r"|^\s{0,9}you(?: are|'re) (?:an? |(?-i:[A-Z][a-z]{1,20}), )|(?:^|\s)\*[^*\n]{3,80}\*(?:\s|$)",
    re.I,
)
_FICTIONAL = ("*", "persona", "d&d", "dnd", "npc", "fan", "opening line", "logue", "you are", "you're")
# Takes back its own sentence and the ones next to it.
_TAKEN_BACK = re.compile(
    r"\b(?:just|only) (?:kidding|joking)\b|\bi'?m (?:kidding|joking)\b|\bjk\b|(?<!\S)/s(?!\S)|\bsarcas\w{1,8}\b"
    r"|\bnot really\b|\b(?:haha|lol),? (?:no|nope|not)\b|\bas if\b[.!]|\byeah,? right\b",
    re.I,
)
_TAKING_BACK = ("kidding", "joking", "jk", "/s", "sarcas", "not really", "haha", "lol", "as if", "yeah")
_KIN = (
    r"(?:(?:mother|father|sister|brother|son|daughter)-in-law|mom|mum|mother|mama|dad|father|parents|sister|brother"
    r"|siblings?|son|daughter|kids?|children|child|wife|husband|partner|boyfriend|girlfriend|fianc[eé]e?|grandma"
    r"|grandmother|grandpa|grandfather|grandparents|granny|nan|aunt|auntie|uncle|cousin|niece|nephew|family|baby|twins"
    r"|in-laws|friends?|roommate|flatmate|neighbou?rs?|boss|manager|colleagues?|co-?workers?|teacher|coach|therapist"
    r"|doctor|dog|cat|puppy|kitten|pets?|mutter|vater|schwester|bruder|frau|mann|tochter|sohn|freund|freundin)"
)
_RELATION = re.compile(
    rf"\b(?:my|our|mein|meine|unser|unsere) (?:[\w-]{{2,20}} ){{0,2}}?{_KIN}\b"
    r"(?:,? (?:(?:Mrs?|Ms|Dr|Prof)\.? )?(?-i:(?!(?:Mrs?|Ms|Dr|Prof)\b)[A-Z][a-zà-ÿ]{1,20})\b)?",
    re.I,
)
_OPENING = re.compile(
    r"(?:(?:and|but|so|also|oh|well|btw|by the way|yeah|yes|plus|actually|update|news|good news|bad news)\b[,:]? )*+",
    re.I,
)
# Goes on since a while ago, although a word for plans is in it: "I'm learning to play the cello since May".
_GOES_ON = re.compile(
    r"(?:i'm|im|i am|we're|we are|i've been|we've been) (?!going|planning|thinking|looking|hoping|considering|trying"
    r"|waiting|meaning|wanting|leaning|putting|wondering|dying|eyeing)\w{2,20}ing\b[^,;.!?\n]{0,60}?"
    r" (?:since (?=\d|last|this|the|(?-i:(?!I\b)[A-Z]))|for (?:ages|(?:[\w ]{1,12} )?(?:year|month|week)s?)\b)"
    r"[^,;\n]{0,30}$",
    re.I,
)
_SELF = re.compile(r"(?:i|i'\w{1,2}|im|ive|we|we'\w{1,2}|my|our|ich|wir)\b", re.I)
_PRONOUN = re.compile(r"(?:he|she|they|his|her|their|it|its)\b", re.I)
_NAMED = re.compile(r"(?:[A-Z][a-zà-ÿ]{1,20})(?: (?:and|&) [A-Z][a-zà-ÿ]{1,20})?(?=(?:'s)? [a-z])")
_COMMON = frozenset(
    """
    a about after all also an and any anyway as at because been before but by can could did do does even every everyone
    everything finally first for from good got great had has have he her here him his how however i if in is it its just
    last later like looking made make maybe me my never next no not nothing now of on once one only or other our people
    please she since so some someone something sometimes sorry speaking still take thank thanks that the their them then
    there these they thing things this those though to today tomorrow tonight too took turns two until update very was
    we well went were what when where which while who why will with work would yes yesterday yet you your
    """.split()  # noqa: SIM905 - as a list it would fill the screen
)


def read(text: str, said_at: datetime, before: str = "") -> list[NewStatement]:
    """Returns the statements of a message; `before` is the turn that it answers."""
    text = plain(text)
    places, found, person = candidates(text), list[NewStatement](), "me"
    for (start, end), judged in zip(places, gate.judged(text, places, before, LEAST), strict=True):
        sentence = text[start:end]
        if judged is None or questions.asks_alone(_opened(sentence)):
            continue
        kind = "activity" if judged.kind == "plan" and _GOES_ON.match(_opened(sentence)) else judged.kind
        person = about(sentence, kind, person)
        sure = round(judged.probability, 3)
        found.append(NewStatement(start, end, kind, person, sure, *lasts(sentence, kind, said_at)))
    return found


def _opened(sentence: str) -> str:
    """Returns a sentence without the words that only lead to it: "And by the way, "."""
    opening = _OPENING.match(sentence)
    return sentence[opening.end() if opening else 0 :]


def lasts(sentence: str, kind: str, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Returns since when something holds, or when it happened, and until when; only a plan has an end, its day."""
    return (None, when.over(sentence, said_at)) if kind == "plan" else (when.began(sentence, said_at), None)


def plain(text: str) -> str:
    """Returns the beginning of a message with plain quotation marks; no character moves."""
    return text[:LONGEST].translate(_PLAIN)


def candidates(text: str) -> list[Span]:
    """Returns the spans of the sentences in a plain text that its writer says in their own name."""
    if holds_any(text, _FICTIONAL) and _FICTION.search(text):
        return []
    own, left_out = pasted.own_spans(text), [*_left_out(text)]
    places = spans(text)[:MOST_SENTENCES]
    taken_back = set[int]()
    if holds_any(text, _TAKING_BACK):
        joking = [at for at, each in enumerate(places) if _TAKEN_BACK.search(text, *each)]
        taken_back = {at + step for at in joking for step in (-1, 0, 1)}
    kept = (each for at, each in enumerate(places) if at not in taken_back and each[1] - each[0] <= LONGEST_SENTENCE)
    said = (each for each in kept if any(start <= each[0] and each[1] <= end for start, end in own))
    return [each for each in said if not _is_left_out(each, left_out)]


def _left_out(text: str) -> Iterator[Span]:
    """Yields the spans of what is quoted, invented or supposed."""
    yield from (found.span() for found in _QUOTED.finditer(text))
    if holds_any(text, _INVENTING):
        yield from (found.span() for found in _INVENTED.finditer(text))


def _is_left_out(place: Span, left_out: Sequence[Span]) -> bool:
    """Returns whether at least half of a sentence is left out, or a longer left-out span begins in it."""
    return any(
        2 * (min(place[1], end) - max(place[0], start)) >= place[1] - place[0] or place[0] <= start < place[1] < end
        for start, end in left_out
    )


def about(sentence: str, kind: str, person: str = "me") -> str:
    """Returns whom a statement is about, as said; `person` is whom the sentence before it was about."""
    rest = _opened(sentence)
    related = _RELATION.match(rest)
    if related is None and kind == "person":
        related = _RELATION.search(sentence)
    if related:
        return _shorten(related[0][0].lower() + related[0][1:])
    named = _NAMED.match(rest) if kind == "person" else None
    if named and named[0].split()[0].lower() not in _COMMON:
        return _shorten(named[0])
    return person if _PRONOUN.match(rest) and not _SELF.match(rest) else "me"


def _shorten(words: str) -> str:
    return words[:LONGEST_ABOUT].strip()
