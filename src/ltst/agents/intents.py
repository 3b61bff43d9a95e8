"""Recognises what a message wants from an agent without a model: an answer, a note, forgetting, or just courtesy.

Uses rules for English and German; a question mark counts in any language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from ltst.support import questions
from ltst.support.tables import Table

_TABLE = Table("ltst.agents", "intents.txt")

# Greetings, thanks and goodbyes consist of a few such words only.
LONGEST_COURTESY = 12
LONGEST_TOPIC = 300
LONGEST_CORRECTION = 15
# A few words without a verb are a lookup: "wifi password".
LONGEST_LOOKUP = 4
_END = r"(?:\s+(?:here|then|exactly|so|eigentlich|denn|alles|hier))?\s{0,9}[?!.]{0,3}$"

WORD = re.compile(r"\w+(?:['’]\w+)?")
OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|and|but|well|please|now|hallo|moin|also|und|aber|bitte)\b[\s,!.]*)+", re.IGNORECASE
)
LOOKING_UP = _TABLE.pattern("looking_up")
TELLING = _TABLE.pattern("telling")
# What looks like a question beside something told and asks nothing, and what looks told and only asks.
TAG = _TABLE.pattern("tag", after=r"[?!.\s]*$")
PHATIC = _TABLE.pattern("phatic", after=r"[?!.\s]*$")
WONDERING = _TABLE.pattern("wondering", after=r"\b")
SUBORDINATE = _TABLE.pattern("subordinate", after=r"\b")
ABOUT_ME = _TABLE.pattern("about_me")
ABOUT_ASKING = re.compile(r"\b(?:ask|asked|asking|question|questions|gefragt|frage|fragen)\b", re.IGNORECASE)
ABOUT_THE_ASSISTANT = _TABLE.pattern("about_the_assistant")
SEVERAL = _TABLE.pattern("several")
# What asks for nothing but what happened at a time or is to come.
OF_TIME = _TABLE.pattern("of_time", after=r"\b")
PLANS = _TABLE.pattern("plans", r"\b", r"\b")
UNSPECIFIC = " ".join(_TABLE.lines["unspecific"])
FORMERLY = _TABLE.pattern("formerly", r"\b", r"\b")
OVER = _TABLE.pattern("over", r"\b", r"\b")

FORGET = _TABLE.pattern("forget", flags=re.I | re.S)
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
WHOLE = _TABLE.words("whole")
TOPIC_OF = _TABLE.pattern("topic_of")
EVERYTHING = WHOLE | _TABLE.words("me")
POINTING = _TABLE.words("pointing")

# "My cat and the hamster" are two topics.
AND = re.compile(r",\s|\s(?:and|or|und|oder)\s", re.IGNORECASE)

AGREEING, AGREEMENT, REFUSING = map(_TABLE.words, ("agreeing", "agreement", "refusing"))
TAKING_NOTE = _TABLE.words("taking_note")
_GREETINGS, _THANKS, _LEAVING, _NIGHT = map(_TABLE.words, ("greetings", "thanks", "leaving", "night"))
_GERMAN, _POLITE = _TABLE.words("german"), _TABLE.words("polite")
COURTESIES = _GREETINGS | _THANKS | _LEAVING | _NIGHT | _POLITE
# The first entry whose words occur in the message answers it, in its language.
ANSWERS = (
    (_NIGHT, "Good night!", "Gute Nacht!"),
    (_THANKS, "You're welcome!", "Gern!"),
    (_LEAVING - {"tomorrow", "soon"} | {"bald"}, "See you!", "Bis bald!"),
    (_GREETINGS, "Hello! Tell me something, or ask me.", "Hallo! Erzähl mir etwas, oder frag mich."),
)
OTHERWISE = "All right."
ABLE = (
    "I remember what you tell me, and answer your questions from it, in your words and with the day. "
    "Ask what I know about you; in `ltst chat`, /why shows what an answer rests on. Say “forget …” and it goes."
)
ABLE_IN_GERMAN = (
    "Ich merke mir, was du mir erzählst, und beantworte damit deine Fragen, in deinen Worten und mit dem Tag. "
    "Frag, was ich über dich weiß; in `ltst chat` zeigt /why, worauf eine Antwort beruht. Sag „vergiss …“, und es geht."
)

COMPANY = "I am only a memory: I note what you tell me, and answer from it. Tell me something, or ask me."
COMPANY_IN_GERMAN = (
    "Ich bin nur ein Gedächtnis: Ich merke mir, was du erzählst, und antworte daraus. Erzähl, oder frag."
)

_ABILITIES, _ABILITIES_IN_GERMAN = (
    _TABLE.pattern("abilities", after=_END),
    _TABLE.pattern("german_abilities", after=_END),
)
_CHATTING, _CHATTING_IN_GERMAN = (
    _TABLE.pattern("chatting", after=_END),
    _TABLE.pattern("german_chatting", after=_END),
)
_TODAY = _TABLE.pattern("today", after=_END)
STATING = _TABLE.pattern("stating")
CORRECTION, OOPS = _TABLE.pattern("correction"), _TABLE.pattern("oops")


def asks(sentence: str, *, marked: bool = False) -> bool:
    """Returns whether a sentence asks for something: as a question, or as a request such as "tell me"."""
    return questions.asks(sentence, marked=marked) or LOOKING_UP.match(sentence) is not None


def is_lookup(text: str) -> bool:
    """Returns whether a message is a few lower-case words without a verb, as typed to look something up."""
    text = text.strip()
    return 1 < len(text[:200].split()) <= LONGEST_LOOKUP and text == text.lower() and not STATING.search(text[:200])


def courtesy(text: str) -> str | None:
    """Returns a short answer to a message that is only a greeting, thanks or goodbye, else None."""
    said = _first_words(text, LONGEST_COURTESY + 1)
    if not said or len(said) > LONGEST_COURTESY or questions.is_marked(text) or not COURTESIES.issuperset(said):
        return None
    german = not _GERMAN.isdisjoint(said)
    for signs, english, native in ANSWERS:
        if not signs.isdisjoint(said):
            return native if german else english
    return OTHERWISE


def capabilities(text: str) -> str | None:
    """Returns what an agent without a model can do if a message asks only that, else None."""
    begun = OPENING.sub("", text.strip())
    if _ABILITIES.match(begun):
        return ABLE
    return ABLE_IN_GERMAN if _ABILITIES_IN_GERMAN.match(begun) else None


def company(text: str) -> str | None:
    """Returns the answer to what is asked only for company ("How are you?"), else None."""
    begun = OPENING.sub("", text.strip())
    if _CHATTING.match(begun):
        return COMPANY
    return COMPANY_IN_GERMAN if _CHATTING_IN_GERMAN.match(begun) else None


def asks_for_today(text: str) -> bool:
    """Returns whether a message asks only for the day or the time."""
    return bool(_TODAY.match(OPENING.sub("", text.strip())))


def takes_note(text: str) -> bool:
    """Returns whether a message only takes note of something: "ok"."""
    return TAKING_NOTE.issuperset(_first_words(text, 8))


def corrects(text: str, shapes: Sequence[re.Pattern[str]]) -> bool:
    """Returns whether a short message corrects what was said before it; `shapes` are the kinds of answer asked for."""
    words = text[:LONGEST_TOPIC].split()
    if CORRECTION.match(text):
        return len(words) <= LONGEST_CORRECTION
    begun = OOPS.match(text)
    return (
        begun is not None
        and len(words) <= LONGEST_COURTESY // 2
        and any(each.search(text, begun.end()) for each in shapes)
    )


def to_forget(text: str) -> str | None:
    """Returns what a message asks to forget; "" if it points to the previous message, None if it asks no such thing."""
    found = FORGET.match(OPENING.sub("", text.strip()))
    if found is None:
        return None
    topic = SENTENCE_END.split(found["topic"], maxsplit=1)[0].strip(" .!?,")
    named = TOPIC_OF.match(topic)
    topic = topic[named.end() :] if named else topic
    return "" if POINTING.issuperset(_first_words(topic, 20)) else topic


def topics(topic: str) -> list[str]:
    """Returns the topics that are listed in one: "Big Thief and the cello" are two."""
    return [each.strip() for each in AND.split(topic[:LONGEST_TOPIC]) if each.strip()]


def is_everything(topic: str) -> bool:
    """Returns whether a topic to forget means everything."""
    said = set(_first_words(topic, 20))
    if len(said) > 1:
        return not WHOLE.isdisjoint(said) and said <= EVERYTHING | POINTING
    return said <= EVERYTHING and bool(said)


def agrees(text: str) -> bool:
    """Returns whether a message is just a yes."""
    said = _first_words(text, 8)
    return 0 < len(said) < 8 and said[0] in AGREEMENT and AGREEING.issuperset(said) and "?" not in text


def refuses(text: str) -> bool:
    """Returns whether a message is short and begins with a no."""
    said = _first_words(text, 8)
    return 0 < len(said) < 8 and said[0] in REFUSING


def _first_words(text: str, most: int) -> list[str]:
    """Returns the first words in lower case."""
    return [word.group().lower().replace("’", "'") for word in islice(WORD.finditer(text), most)]
