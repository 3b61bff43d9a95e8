"""How an agent without a model says what it knows: facts as sentences, quotes with their day and speaker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ltst.learn.keys import words
from ltst.records import Hit, UserPreference

NOTHING = "I don't know that; you never told me."
NOTED = "Noted."
KNOWN = "This is what I know about you:"
TOLD = "You told me"
OFFER = "I would forget"
OWN_WORDS = (NOTHING, NOTED, KNOWN, TOLD, OFFER)

LONGEST_QUOTE = 300
# What nobody has "since" a day.
LASTING = words("name nickname birthday age hometown nationality email plan goal")
# Keys that are said with another verb than "is": how the sentence goes on after "You".
VERBS = {
    "like": "like",
    "dislike": "dislike",
    "allergy": "are allergic to",
    "language": "speak",
    "learning": "are learning",
    "hobby": "do for fun:",
    "sport": "do as a sport:",
    "instrument": "play",
    "tool": "use",
    "possession": "have",
    "studies": "study",
    "employer": "work for",
    "commute": "commute by",
    "plan": "plan:",
    "goal": "want:",
    "health": "said of your health:",
}
NOUNS = {"relationship_status": "relationship status", "partner": "partner"}


def fact_sentence(key: str, value: str, since: datetime | None, *, alone: bool = True) -> str:
    """Return a fact as a sentence, with the day since when it holds: "Your home is Lisbon, since March 2026."."""
    value = quotable(value)
    if key in VERBS:
        said = f"You {VERBS[key]} {value}"
    elif alone:
        said = f"Your {spoken(key)} is {value}"
    else:
        said = f"One {spoken(key)} of yours is {value}"
    if since is None or key in LASTING:
        return f"{said}."
    return f"{said}, since {moment(since)}."


def preference_sentence(preference: UserPreference) -> str:
    """Return a preference as a sentence."""
    return f"You prefer {spoken(preference.key)}: {quotable(preference.value)}."


def spoken(key: str) -> str:
    """Return a key as one says it."""
    return NOUNS.get(key) or key.replace("_", " ")


def moment(when: datetime) -> str:
    """Return a day, or the month where only that is known: such a time is the first moment of it."""
    month = (when.day, when.hour, when.minute, when.second) == (1, 0, 0, 0)
    return f"{when:%B %Y}" if month else day(when)


def day(when: datetime) -> str:
    """Return a day as it is said, such as 5 Oct 2026."""
    return f"{when.day} {when:%b %Y}"


def attribution(hit: Hit, titles: Mapping[str, str]) -> str:
    """Return what stands before a quote: whose words they are, and from when."""
    when = f" on {day(hit.occurred_at)}" if hit.occurred_at else ""
    if hit.kind == "document":
        page = f", page {hit.metadata['page']}" if "page" in hit.metadata else ""
        return f"The document {titles.get(hit.id) or hit.id}{page} says"
    if hit.kind == "entry":
        return f"My notes{_of(hit)} say" if hit.trusted else f"My notes{_of(hit)}, not verified, say"
    if not hit.trusted:
        return f"A tool or another source, not you, said{when}"
    if is_the_users(hit):
        return f"{TOLD}{when}"
    speakers = {"Assistant": "The assistant", "System": "The system"}
    return f"{speakers.get(hit.speaker or '', hit.speaker or 'Someone')} said{when}"


def is_the_users(hit: Hit) -> bool:
    """Whether these are the user's own words."""
    return hit.kind == "message" and hit.role == "human" and hit.trusted and hit.speaker in (None, "User")


def is_own(hit: Hit) -> bool:
    """Whether these are words of an agent without a model, which only retell others."""
    return bool(hit.scores.get("retold")) or (hit.role == "ai" and hit.content.startswith(OWN_WORDS))


def _of(hit: Hit) -> str:
    return f" of {day(hit.occurred_at)}" if hit.occurred_at else ""


def quoted(text: str) -> str:
    """Return a text between quotation marks."""
    return f"“{quotable(text)}”"


def ended(quote: str) -> str:
    """Return a quote with a full stop behind it, unless it has an end of its own."""
    return quote if quote[-2:-1] in ".!?…" else f"{quote}."


def quotable(text: str) -> str:
    """Return a text in one line, and not the whole of a long one."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"
