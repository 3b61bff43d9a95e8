"""What a message wants of an agent without a model: to be answered, noted, forgotten, or only to be polite.

By rules, in English and German; a question mark asks in any language.
"""

from __future__ import annotations

import re
from itertools import islice

from ltst.learn.keys import words

# Whoever greets, thanks or takes leave says only such words, and few of them.
LONGEST_COURTESY = 12
# A few words without a verb look something up: "wifi password".
LONGEST_LOOKUP = 4

WORD = re.compile(r"\w+(?:['’]\w+)?")
QUESTION_MARK = re.compile(r"[?？؟](?=[\s\"'”’»)\]*]|$)|？")
OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|and|but|well|please|now|hallo|moin|also|und|aber|bitte)\b[\s,!.]*)+", re.IGNORECASE
)
# Without a question mark, "when I was young" and "what I like" tell; "what is my name" and "do you remember" ask.
ASKING = re.compile(
    r"(?:what|who|whom|whose|which|when|where|why|how)(?:['’]s)?\b(?!\s+(?:i|we|he|she|they|it|you|an?|if)\b)"
    r"|(?:is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had)n?['’]?t?\s+"
    r"(?:i|you|we|he|she|it|they|there|my|your|our|his|her|their|the|this|that|these|those|any|anyone|anything)\b"
    r"|(?:tell|show|give)\s+(?:me|us)\b|remind\s+(?:me|us)\s+(?:of|about|what|who|where|when|which|how|why)\b"
    r"|(?:list|describe|summari[sz]e|recall|explain|find|search|look\s+up)\b"
    r"|(?:was|wo|wer|wen|wem|wann|wie|warum|wieso|wohin|woher|welche[nmrs]?)\s+"
    r"(?:ist|sind|war|waren|hab|habe|hat|haben|heiß\w{1,3}|wohn\w{1,3}|arbeite\w{0,2}|weißt|mag|viele?|lange|alt|oft)\b"
    r"|(?:erinner\w{0,3}\s+mich\s+(?:an|wann|wo|was)|sag\s+mir|zeig\s+mir|weißt\s+du)\b",
    re.IGNORECASE,
)
# "Can you remember that I live in Porto?" asks for nothing but to be noted.
TELLING = re.compile(
    r"(?:(?:can|could|will|would)\s+you\s+)?(?:please\s+)?(?:remember|note|keep\s+in\s+mind|don['’]?t\s+forget)\s+that\b"
    r"|(?:bitte\s+)?merk\s+dir\b",
    re.IGNORECASE,
)
ABOUT_ME = re.compile(
    r"\b(?:know|remember|learnt|learned|remembered)\b.{0,300}\b(?:about|of)\s{1,9}(?:me|us)\b"
    r"|\bweißt\s{1,9}du\b.{0,300}\büber\s{1,9}(?:mich|uns)\b"
    r"|\b(?:who\s+am\s+i|about\s+me|wer\s+bin\s+ich)\s*[?？.!]*$",
    re.IGNORECASE,
)
ABOUT_ASKING = re.compile(r"\b(?:ask|asked|asking|question|questions|gefragt|frage|fragen)\b", re.IGNORECASE)
ABOUT_THE_ASSISTANT = re.compile(
    r"\b(?:did|have|had|would|were|are)\s+you\b|\byou\s+(?:said|say|told|suggest\w{0,4}|recommend\w{0,4}|wrote|gave|mention\w{0,4})\b"
    r"|\byour\s+(?:answer|advice|suggestion|recommendation|reply)\b|\bhast\s+du\b",
    re.IGNORECASE,
)
# What is asked for is more than one thing.
SEVERAL = re.compile(
    r"\b(?:both|all|list|each|every|everything|together|in\s+total|altogether|combined|sum|things|names"
    r"|beide[ns]?|alle[ns]?|liste|insgesamt|zusammen)\b"
    r"|\b(?:and|und),?\s+(?:\w{1,12}\s+){0,1}(?:what|who|when|where|which|how|why|did|was|wo|wer|wann|wie|woher|für)\b",
    re.IGNORECASE,
)
# What is asked for held before, and something else may hold now.
FORMERLY = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|earlier|originally|initially|at\s+first|used\s+to|back\s+then|last\s+year|ago"
    r"|damals|früher|vorher|zuerst|ursprünglich|vor\s+einem\s+jahr|letztes\s+jahr)\b",
    re.IGNORECASE,
)

_POLITELY = (
    r"(?:(?:please|pls|can|could|would|will|may|should|you|now|just|kindly|also|bitte|kannst|du|mal)\b[\s,]{0,9}){0,6}"
)
FORGET = re.compile(
    rf"{_POLITELY}(?:forget|vergiss|vergesse?n?)\b[\s,:]{{0,9}}(?:about\b|that\b|the\s+fact\s+that\b|dass\b|daß\b)?(?P<topic>.*)",
    re.IGNORECASE | re.DOTALL,
)
SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
WHOLE = words("everything all alles")
EVERYTHING = WHOLE | words("me us know mich uns weißt du über")
# Said after "forget": they name nothing, or what was said last.
POINTING = words(
    """
    it that this i just said told you about what was the last thing message please now mentioned anything es das
    dies diese ich eben gerade gesagt hab habe was dir erzählt letzte nachricht bitte mal
    """
)

AGREEING = words(
    """
    yes y yep yeah yup sure ok okay do it please forget that this go ahead correct right exactly definitely of
    course confirm confirmed ja jo jep jawohl klar genau bitte mach das vergiss es tu
    """
)
AGREEMENT = words("yes y yep yeah yup sure ok okay ja jo jep jawohl klar confirm confirmed do mach go")
REFUSING = words("no nope nah don't dont not keep leave nein nee nicht behalt behalte lass")

_GREETINGS = words("hello hi hey morning evening afternoon moin hallo servus morgen abend tag")
_THANKS = words("thanks thank thx cheers ta danke dank merci")
_LEAVING = words("bye goodbye ciao tschüss tschüs later soon tomorrow bald")
_NIGHT = words("night goodnight nacht")
_GERMAN = words(
    """
    danke dank schön vielen gute guten nacht morgen abend tag moin hallo tschüss tschüs bis bald
    """
)
_POLITE = words(
    """
    you very much so a lot again ok okay great cool nice perfect lovely wonderful awesome good see talk take care
    have one day too you're welcome all right alright got it fine sure sorry lol haha ha sleep well tight and then
    for now that's is everything today no yes yep nope please there ltst my friend schön vielen gute guten bis dann
    bald okay super prima alles klar schlaf gut und sehr nett dir wieder ja nein bitte
    """
)
COURTESIES = _GREETINGS | _THANKS | _LEAVING | _NIGHT | _POLITE
# The first whose words are said; in the language of the one who says them.
ANSWERS = (
    (_NIGHT, "Good night!", "Gute Nacht!"),
    (_THANKS, "You're welcome!", "Gern!"),
    (_LEAVING - {"tomorrow", "soon"} | {"bald"}, "See you!", "Bis bald!"),
    (_GREETINGS, "Hello! Tell me something, or ask me.", "Hallo! Erzähl mir etwas, oder frag mich."),
)
OTHERWISE = "All right."

# Words that make a few others a statement.
_STATING = re.compile(
    r"\b(?:i|i['’]m|we|he|she|it|they|is|am|are|was|were|has|have|had|got|lost|found|bought|sold|quit|left|went|won|made|did|met"
    r"|passed|gave|took|ate|saw|broke|felt|done|gone|new|no|not|never|today|yesterday|tomorrow|now|ich|wir|bin|ist|hab|habe|war)\b"
    r"|\w{2,40}ed\b|[.!:;,=\d]",
    re.IGNORECASE,
)


def is_question(text: str) -> bool:
    """Whether a message asks: by its question mark in any language, by its beginning in English and German."""
    begun = OPENING.sub("", text.strip())
    return not TELLING.match(begun) and bool(QUESTION_MARK.search(text) or ASKING.match(begun))


def is_lookup(text: str) -> bool:
    """Whether a message is a few words without a verb, in small letters: what one types to look something up."""
    text = text.strip()
    return 1 < len(text[:200].split()) <= LONGEST_LOOKUP and text == text.lower() and not _STATING.search(text[:200])


def courtesy(text: str) -> str | None:
    """Return a short answer to a message that only greets, thanks or takes leave; None for any other."""
    said = _said(text, LONGEST_COURTESY + 1)
    if not said or len(said) > LONGEST_COURTESY or QUESTION_MARK.search(text) or not COURTESIES.issuperset(said):
        return None
    german = not _GERMAN.isdisjoint(said)
    for signs, english, native in ANSWERS:
        if not signs.isdisjoint(said):
            return native if german else english
    return OTHERWISE


def to_forget(text: str) -> str | None:
    """Return what a message asks to forget: empty where it points to what was said last, None if it asks nothing."""
    found = FORGET.match(OPENING.sub("", text.strip()))
    if found is None:
        return None
    topic = SENTENCE_END.split(found["topic"], maxsplit=1)[0].strip(" .!?,")
    return "" if POINTING.issuperset(_said(topic, 20)) else topic


def is_everything(topic: str) -> bool:
    """Whether what is to be forgotten is all there is."""
    said = set(_said(topic, 20))
    if len(said) > 1:
        return not WHOLE.isdisjoint(said) and said <= EVERYTHING | POINTING
    return said <= EVERYTHING and bool(said)


def agrees(text: str) -> bool:
    """Whether a message is a yes, and nothing else."""
    said = _said(text, 8)
    return 0 < len(said) < 8 and said[0] in AGREEMENT and AGREEING.issuperset(said) and "?" not in text


def refuses(text: str) -> bool:
    """Whether a message begins with a no, and is short."""
    said = _said(text, 8)
    return 0 < len(said) < 8 and said[0] in REFUSING


def _said(text: str, most: int) -> list[str]:
    """The first words, in small letters."""
    return [word.group().lower().replace("’", "'") for word in islice(WORD.finditer(text), most)]
