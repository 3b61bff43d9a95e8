"""Words the replies of an agent without a model: facts as sentences, quotes with their date and speaker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ltst.agents.intents import ABLE, ABLE_IN_GERMAN
from ltst.agents.memories import Memory
from ltst.learn.keys import words
from ltst.records import ME, Fact, Hit, UserPreference

NOTHING = "I don't know that; you never told me."
NOTED = "Noted."
UNANSWERED = "I don't know the answer to your question; you never told me."
KNOWN = "This is what I know about you:"
TOLD = "You told me"
OFFER = "I would forget"
OWN_WORDS = (NOTHING, NOTED, KNOWN, TOLD, OFFER, ABLE, ABLE_IN_GERMAN)

LONGEST_QUOTE = 300
# Keys that are not said with "since".
LASTING = words("name nickname birthday age hometown nationality email plan goal")
# Keys that take another verb than "is": the verb after "You", after a name, and of what is over.
VERBS = {
    "like": ("like", "likes", "liked"),
    "dislike": ("dislike", "dislikes", "disliked"),
    "allergy": ("are allergic to", "is allergic to", "had an allergy to"),
    "language": ("speak", "speaks", "spoke"),
    "learning": ("are learning", "is learning", "learned"),
    "hobby": ("do for fun:", "does for fun:", "did for fun:"),
    "sport": ("do as a sport:", "does as a sport:", "did as a sport:"),
    "instrument": ("play", "plays", "played"),
    "tool": ("use", "uses", "used"),
    "possession": ("have", "has", "had"),
    "studies": ("study", "studies", "studied"),
    "employer": ("work for", "works for", "worked for"),
    "commute": ("commute by", "commutes by", "commuted by"),
    "plan": ("plan:", "plans:", "planned:"),
    "goal": ("want:", "wants:", "wanted:"),
    "health": ("said of your health:", "has:", "had:"),
}
# The key in the metadata of a fact of whose beginning only the year was said.
ONLY_YEAR = "only_year"
MY = re.compile(r"^\s*(?:my|our)\s+", re.IGNORECASE)
PLURALS = {"child": "children"}
# Preferences that are not worded with "prefer".
WISHES = {"address_as": "You want to be called {}.", "answer_language": "You want answers in {}."}


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, the memories that it rests on, and further metadata."""

    text: str
    memories: tuple[Memory, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def fact_sentence(fact: Fact, *, then: bool = False) -> str:
    """Returns a fact as a sentence with the date since which it holds: "Your home is Lisbon, since March 2026.".

    What is over is told as such, and with `then`, what held at the time in question: "Your home was Porto then.".
    """
    clause = _capital(_clause(fact, quotable(fact.value), then=then))
    return f"{clause}{_say_dates(fact, then=then)}{_past_word(fact, then)}."


def fact_sentences(facts: Sequence[Fact], *, then: bool = False) -> list[tuple[str, list[Fact]]]:
    """Returns facts as sentences, each with its facts; several values of a key share one sentence."""
    groups: dict[tuple[str, str, bool], list[Fact]] = {}
    for each in facts:
        groups.setdefault((each.label, each.fact_id if each.single_valued else "", is_over(each)), []).append(each)
    return [
        (fact_sentence(group[0], then=then) if len(group) == 1 else _list_values(group, then), group)
        for group in groups.values()
    ]


def counted(sentence: str, count: int) -> str:
    """Returns a sentence that lists something, with how many of it are known."""
    return f"I know of {count}: {sentence[:1].lower() if sentence.startswith('You') else sentence[:1]}{sentence[1:]}"


def is_over(fact: Fact) -> bool:
    """Returns whether a fact no longer holds."""
    return fact.valid_to is not None and fact.valid_to <= datetime.now(UTC)


def _list_values(facts: Sequence[Fact], then: bool) -> str:
    """Returns several values of one key as a sentence: "Your children are Ben and Mia."."""
    *others, last = (quotable(each.value) + _say_dates(each, " ({} {})", then=then) for each in facts)
    return (
        _capital(_clause(facts[0], f"{', '.join(others)} and {last}", many=True, then=then))
        + _past_word(facts[0], then)
        + "."
    )


def _clause(fact: Fact, value: str, *, many: bool = False, then: bool = False) -> str:
    """Returns one or several facts of a key as a clause: "Your home is Lisbon", "you speak German and English"."""
    past = then or is_over(fact)
    if fact.key in VERBS:
        yours, others, over = VERBS[fact.key]
        who, verb = ("you", yours) if fact.about == ME else (_refer_to(fact.about), others)
        return f"{who} {over if past else verb} {value}"
    noun = spoken(fact.key)
    if many:
        return f"{_possessive(fact)} {PLURALS.get(noun, f'{noun}s')} {'were' if past else 'are'} {value}"
    return f"{_possessive(fact)} {noun} {'was' if past else 'is'} {value}"


def _say_dates(fact: Fact, form: str = ", {} {}", *, then: bool = False) -> str:
    """Returns since when a fact holds, or until when it held.

    It is "" if the user named no date, because a named date is stored as midnight.
    """
    if fact.key in LASTING:
        return ""
    if fact.valid_to is not None and is_over(fact):
        return form.format("until", moment(fact.valid_to))
    only_told = fact.learned and (fact.valid_from.hour, fact.valid_from.minute, fact.valid_from.second) != (0, 0, 0)
    since = f"{fact.valid_from:%Y}" if fact.metadata.get(ONLY_YEAR) else moment(fact.valid_from)
    return "" if only_told or then else form.format("since", since)


def _past_word(fact: Fact, then: bool) -> str:
    """Returns the word for the time in question, which an end makes needless."""
    return " then" if then and (fact.key in LASTING or not is_over(fact)) else ""


def former_sentence(fact: Fact) -> str:
    """Returns a former value as a sentence: "Your home was Porto before."."""
    return _capital(f"{_possessive(fact)} {spoken(fact.key)} was {quotable(fact.value)} before.")


def no_former_sentence(fact: Fact) -> str:
    """Returns a sentence saying that no former value is known, followed by the current one."""
    former = f"{_possessive(fact).lower() if fact.about == ME else _possessive(fact)} {spoken(fact.key)}"
    return f"I don't know {former} before that; you never told me. {fact_sentence(fact)}"


def _possessive(fact: Fact) -> str:
    return "Your" if fact.about == ME else f"{_refer_to(fact.about)}'s"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _refer_to(about: str) -> str:
    """Returns how an agent refers to a person: "my sister Jo" becomes "your sister Jo"."""
    return quotable(MY.sub("your ", about))


def preference_sentence(preference: UserPreference) -> str:
    """Returns a preference as a sentence."""
    value = quotable(preference.value)
    wish = WISHES.get(preference.key)
    return wish.format(value) if wish else f"You prefer {spoken(preference.key)}: {value}."


def spoken(key: str) -> str:
    """Returns a key as words."""
    return key.replace("_", " ")


def moment(when: datetime) -> str:
    """Returns a date, or just the month if the time is the first moment of one."""
    month = (when.day, when.hour, when.minute, when.second) == (1, 0, 0, 0)
    return f"{when:%B %Y}" if month else day(when)


def day(when: datetime) -> str:
    """Returns a date such as 5 Oct 2026."""
    return f"{when.day} {when:%b %Y}"


def clock(when: datetime) -> str:
    """Returns the day and the time as a sentence, in the zone of the time."""
    return f"It is {when:%A}, {day(when)}, {when:%H:%M} {when.tzname() or ''}".rstrip() + "."


def instruction_sentence(content: str) -> str:
    """Returns an instruction to an agent as a sentence."""
    return f"You want: {ended(quoted(content))}"


def attribution(hit: Hit, titles: Mapping[str, str]) -> str:
    """Returns the words before a quote: who said it and when."""
    when = f" on {day(hit.occurred_at)}" if hit.occurred_at else ""
    if hit.kind == "document":
        page = f", page {hit.metadata['page']}" if "page" in hit.metadata else ""
        return f"The document {titles.get(hit.id) or hit.id}{page} says"
    if hit.kind == "entry":
        return f"My notes{_of_day(hit)} say" if hit.trusted else f"My notes{_of_day(hit)}, not verified, say"
    if not hit.trusted:
        return f"A tool or another source, not you, said{when}"
    if is_the_users(hit):
        return f"{TOLD}{when}"
    speakers = {"Assistant": "The assistant", "System": "The system"}
    return f"{speakers.get(hit.speaker or '', hit.speaker or 'Someone')} said{when}"


def pasted(hit: Hit) -> str:
    """Returns the words before a quote from a text that a message holds, which somebody else may have written."""
    whose = "your message" if is_the_users(hit) else "a message"
    return f"A text in {whose}{_of_day(hit)} says"


def is_the_users(hit: Hit) -> bool:
    """Returns whether a hit has the user's own words."""
    return hit.kind == "message" and hit.role == "human" and hit.trusted and hit.speaker in (None, "User")


def is_own(hit: Hit) -> bool:
    """Returns whether a hit has the words of an agent without a model, which only retell others."""
    return bool(hit.scores.get("retold")) or (hit.role == "ai" and hit.content.startswith(OWN_WORDS))


def _of_day(hit: Hit) -> str:
    return f" of {day(hit.occurred_at)}" if hit.occurred_at else ""


def offer(listed: Sequence[str], left: int) -> str:
    """Returns the offer to forget the listed items; `left` is how many more messages say the same."""
    many = "1 more message says" if left == 1 else f"{left} more messages say"
    more = f" {many} it too: ask me again after that." if left else ""
    going = f"{OFFER} {', '.join(listed)}, and the replies and requests that repeat it."
    return f"{going}{more} Say yes and it is gone; anything else leaves all as it is."


def quoted(text: str) -> str:
    """Returns a text in quotation marks."""
    return f"“{quotable(text)}”"


def ended(quote: str) -> str:
    """Returns a quote with a full stop after it unless it ends with punctuation."""
    return quote if quote[-2:-1] in ".!?…" else f"{quote}."


def quotable(text: str) -> str:
    """Returns a text on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"
