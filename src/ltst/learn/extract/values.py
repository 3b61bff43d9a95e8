"""From the words after a verb to a short value: each reader knows one kind of value and refuses everything else."""

from __future__ import annotations

import re
from collections.abc import Callable

from ltst.learn.extract import words

Reader = Callable[[str], list[str]]

LONGEST = 80
MOST_LISTED = 8

# Where a value ends: punctuation, the next clause, or the when and why of it.
_STOP = re.compile(
    r"[,;:!?()\[\]{}\"…→|]|\.(?= |$)| [-–—]+ | (?:and|but|so|because|cause|cuz|since|although|though"
    r"|while|which|who|whom|where|when|if|as|unless|until|till|these days|nowadays|right now|now"
    r"|currently|at the moment|at present|too|as well|any ?more|any longer|already|again|btw"
    r"|by the way|please|lol|haha|today|yesterday|tomorrow|last|next|this|ago|(?:\d+|one|two|three"
    r"|four|five|six|seven|eight|nine|ten|a|an|several) (?:day|week|month|year)s? ago|every|each"
    r"|after|before|recently|lately|a few"
    r"|a couple|for (?:a|the|about|almost|over|nearly|my|now|\w+ (?:year|month|week|day)s?)"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|\d{4}|the|my|order|a)"
    r"|on (?:my|the|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|weekends"
    r"|weekdays|january|february|march|april|may|june|july|august|september|october|november"
    r"|december)|by|with (?:my|a|an|the|two|three|some|our)|from \d"
    r"|instead|rather than|a lot|so much|very much|so badly|more than|most of|at all|to bits|to death"
    r"|though|actually|really|honestly|either|just|especially|mostly|mainly|even|whatever|that"
    r"|all day|all the time|one day|some day|someday|twice|once|daily|full[- ]time|part[- ]time"
    r"|back in|here|not)\b",
    re.I,
)
_STOP_NARROW = re.compile(
    r"[;:!?()\[\]{}\"…→|]|\.(?= |$)| [-–—]+ |, ?(?:and|but|so|which|who|because|though|I|my|it|he|she"
    r"|they|we|not|even|that|at least|too|always|[a-z]+ly|not just|hence|any|please|can|could|do|what"
    r"|how|unless|apart)\b"
    r"| (?:but|so|because|cause|cuz|since|although|though|while|which|who|where|when|if|as|unless"
    r"|until|these days|nowadays|right now|now|currently|at the moment|too|as well|any ?more"
    r"|any longer|already|again|btw|by the way"
    r"|please|lol|haha|today|yesterday|tomorrow|last|next|every|after|before|recently|lately|ago"
    r"|with (?:my|the|all|a)|for (?:my|the|a|now|\w+ (?:year|month|week|day)s?)|in (?:my|the morning"
    r"|general|\d{4}|january|february|march|april|may|june|july|august|september|october|november"
    r"|december)|on (?:my|the side|\w+days?|weekends)|instead|a lot|so much|very much|more than"
    r"|at all|to bits|to death|actually|really|honestly|especially|just|even|that|here|all day"
    r"|all the time|myself|at (?:work|home|school|night|the moment)|from time to time|by (?:christmas"
    r"|the|next|\w+day)|I|we|he|she|they)\b",
    re.I,
)
_ARTICLE = re.compile(r"(?:a|an|the|my|our|some|any|another|this|own|new|brand[- ]new|pair of|couple of)\s+", re.I)
_JUNK = " .,;:!?'\"-–—*_()[]~"
_CAPITAL = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’.&-]*)"
_NAME_WORD = r"(?:[^\W\d_a-zß-öø-ÿ][\w'’-]*)"
PLACE = re.compile(
    rf"(?:the )?((?:St\. |San |The )?{_CAPITAL}(?: (?:(?:de|of|upon|la|las|los|le|del|do|da|dos|di|am"
    rf"|an der|aan|den|el|al|on|sur|and the)(?: the)? )?{_CAPITAL})*)"
)
_CALLED = re.compile(r"\b(?:called|named|outside(?: of)?|near|in|of) (?=(?:the )?[^\W\d_a-zß-öø-ÿ])")
_NAME = re.compile(
    rf"((?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_NAME_WORD}(?:(?: (?:de|da|van|von|der|del|la|bin|al))* {_NAME_WORD}){{0,3}})"
)
_LOWER_PLACE = re.compile(
    r"(?:(?!the\b|a\b|an\b|my\b|your\b|our\b|this\b|that\b|fear\b|constant\b|hope\b)[a-z'-]+)(?: [a-z'-]+){0,2}$"
)
_NOT_PLACES = words.listed("""
    I, Mars, Venus, Earth, Hell, Heaven, Hogwarts, Narnia, Neptune, Jupiter, Pluto, Denial, Crocs, Neverland,
    Gotham, Wakanda, Middle-earth, Atlantis, Zoom, Python, Java, Mac, Linux, Windows, God, Monday, Tuesday,
    Wednesday, Thursday, Friday, Saturday, Sunday, January, February, March, April, June, July, August,
    September, October, November, December, English, Spanish, French, German
""")
_AND = re.compile(r",? (?:and|&|or|plus|as well as) |, ?")
PRONOUNS = re.compile(
    r"(?:it|this|that|these|those|you|your|yours|him|her|his|hers|them|their|theirs|us|me|mine|myself"
    r"|yourself|one|ones|everything|anything|nothing|something|someone|everyone|anyone|what|how|when"
    r"|where|why|who|which"
    r"|there|here|my|our|its|to|being|having|all|both|such|more|most|less|other|others|another|so|too"
    r"|very|not|no|i|we|he|she|they|if|that's|it's|things?|stuff|doing|getting|seeing|hearing|knowing"
    r"|spending|making|going|trying|helping|working|feeling|using|the idea|the way|the fact|the look"
    r"|the sound of (?:that|this)|the thought|the concept|sharing|watching you|talking|taking|giving"
    r"|finding|bringing)\b",
    re.I,
)
_THE_OK = re.compile(
    r"the (?-i:[A-Z])\w+s\b(?! (?-i:[A-Z]))|the Lord of|the (?:beach|sea|ocean|mountains?|outdoors"
    r"|rain|snow|cold|heat|sun|forest|countryside|cinema|theat(?:re|er)|gym|opera|ballet|woods|city"
    r"|piano|violin|winter|summer|autumn|fall|dark)\b",
    re.I,
)


def cut(text: str, stop: re.Pattern[str] = _STOP) -> str:
    """Up to where the value ends, without the articles before it."""
    text = text[: LONGEST * 2].strip()
    if found := stop.search(f" {text}"):
        text = text[: max(found.start() - 1, 0)]
    return bare(text)


def bare(text: str) -> str:
    """Without articles and outer punctuation."""
    text = text.strip(_JUNK)
    for _ in range(3):
        if not (article := _ARTICLE.match(text)):
            break
        text = text[article.end() :]
    return text.strip(_JUNK)


def thing(text: str) -> list[str]:
    """A noun phrase."""
    value = cut(text)
    return [value] if _fits(value) else []


def phrase(text: str) -> list[str]:
    """A noun phrase with what describes it: "crime novels set in cold places"."""
    value = cut(text, _STOP_NARROW)
    return [value] if _fits(value, 8) else []


def _fits(value: str, most: int = 6) -> bool:
    return 1 < len(value) <= LONGEST and len(value.split()) <= most and not PRONOUNS.match(value) and value[0].isalnum()


def things(text: str) -> list[str]:
    """A list of noun phrases: "jazz, old maps and strong coffee"."""
    text = text[: LONGEST * 3]
    if text.lower().startswith("the ") and not _THE_OK.match(text):
        return []
    found = []
    text = text[: found_at.start()] if (found_at := _STOP_NARROW.search(text)) else text
    for part in _AND.split(text)[:MOST_LISTED]:
        value = bare(part)
        if not _fits(value, 8) or PRONOUNS.match(part.strip()):
            break
        found.append(value)
    return found


def member(*lists: frozenset[str], longest: int = 4) -> Reader:
    """What is in one of the lists, as long as possible from the beginning on; a plural counts as its singular."""
    known = frozenset(entry.lower() for each in lists for entry in each)

    def read(text: str) -> list[str]:
        tokens = _tokens(bare(text[:LONGEST]))[:longest]
        for size in range(len(tokens), 0, -1):
            entry = " ".join(tokens[:size]).strip(_JUNK)
            if entry.lower() in known or _singular(entry.lower()) in known:
                return [entry]
        return []

    return read


def members(*lists: frozenset[str]) -> Reader:
    """All that are in one of the lists, in an enumeration that begins with one of them."""
    one = member(*lists)

    def read(text: str) -> list[str]:
        found: list[str] = []
        for part in _AND.split(text[: LONGEST * 3])[:MOST_LISTED]:
            part = re.sub(
                r"^(?:a (?:bit|little) (?:of )?|some |fluent |basic |also |both |native |conversational |decent "
                r"|broken |and )+",
                "",
                part,
                flags=re.I,
            )
            value = one(part)
            if not value:
                break
            found += value
        return found

    return read


def _tokens(text: str) -> list[str]:
    return re.split(r" |(?<=\w),|(?<=\w)[;:!?)]", text)


def _singular(text: str) -> str:
    if text.endswith("ies"):
        return text[:-3] + "y"
    return text[:-2] if text.endswith(("ches", "shes", "xes", "sses")) else text.removesuffix("s")


def place(text: str) -> list[str]:
    """A place with a name of its own."""
    text = text[:LONGEST].strip()
    if (
        called := _CALLED.search(text)
        if re.match(
            r"(?:an? |the (?:city|town|village|suburbs|outskirts|north|south|east|west|middle|heart|center"
            r"|centre)\b|near |outside |central |downtown |north |south |east |west |rural )",
            text,
        )
        else None
    ):
        text = text[called.end() :]
    found = PLACE.match(text)
    if not found:
        value = cut(text)
        return [value] if _LOWER_PLACE.fullmatch(value) and value in _LOWER_CITIES else []
    value = found[1].strip(_JUNK)
    known = value in _NOT_PLACES or value.lower() in _NAMED_OTHERWISE
    return [] if known else [value]


_NAMED_OTHERWISE = words.NOT_NAMES | words.TOOLS | words.LANGUAGES | words.DEMONYMS
_LOWER_CITIES = words.listed("""
    san francisco, new york, new york city, nyc, los angeles, la, chicago, boston, seattle, austin, denver,
    portland, miami, houston, dallas, atlanta, philadelphia, phoenix, san diego, toronto, vancouver, montreal,
    mexico city, london, manchester, birmingham, leeds, glasgow, edinburgh, dublin, cork, paris, lyon,
    marseille, berlin, munich, hamburg, cologne, frankfurt, vienna, zurich, geneva, basel, bern, amsterdam,
    rotterdam, utrecht, the hague, brussels, antwerp, ghent, lisbon, porto, madrid, barcelona, valencia,
    seville, rome, milan, naples, turin, florence, venice, athens, istanbul, ankara, warsaw, krakow, prague,
    budapest, bucharest, sofia, belgrade, zagreb, copenhagen, stockholm, oslo, helsinki, tallinn, riga, vilnius,
    kyiv, moscow, tokyo, osaka, kyoto, seoul, busan, beijing, shanghai, hong kong, taipei, singapore, bangkok,
    hanoi, manila, jakarta, kuala lumpur, mumbai, delhi, bangalore, chennai, kolkata, karachi, lahore, dubai,
    doha, cairo, casablanca, nairobi, lagos, accra, johannesburg, cape town, sydney, melbourne, brisbane, perth,
    auckland, wellington, sao paulo, rio de janeiro, buenos aires, santiago, lima, bogota, quito, portugal,
    spain, france, germany, italy, england, scotland, wales, ireland, poland, sweden, norway, denmark, finland,
    holland, belgium, austria, switzerland, greece, turkey, japan, china, india, brazil, canada, mexico,
    australia, new zealand, texas, california, florida, ohio, oregon, colorado, ukraine, romania, hungary,
    egypt, kenya, nigeria
""")


def person(text: str) -> list[str]:
    """A name."""
    found = _NAME.match(text[:LONGEST].strip())
    if not found:
        return []
    value = re.sub(r"'s$", "", found[1].strip(_JUNK))
    first = re.sub(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.? ", "", value).split(" ")[0].lower()
    if first in words.NOT_NAMES or value.lower() in words.JOKES | words.TOOLS or first in words.DEMONYMS:
        return []
    return [value]


def names(text: str) -> list[str]:
    """One name or several: "Mia, Leo and Tom"."""
    found: list[str] = []
    for part in re.split(r",? (?:and|&) |, ", text[: LONGEST * 2])[:MOST_LISTED]:
        value = person(part)
        if not value:
            break
        found += value
        if len(part.strip(_JUNK)) > len(value[0]):
            break
    return found


def organisation(text: str) -> list[str]:
    """A company by its name, or the kind of it: "hospital"."""
    text = text[:LONGEST].strip()
    if found := PLACE.match(text):
        value = found[1].strip(_JUNK)
        return [] if value.lower() in words.NOT_NAMES or value in _NOT_PLACES else [value]
    if not re.match(r"(?:an?|the|my|our|this)\b", text):
        return []
    if called := re.search(r" (?:called|named) (?=[A-Z])", text):
        return organisation(text[called.end() :])
    value = re.split(r" (?:in|near|that|for|outside|on|of) ", cut(text))[0]
    last = " ".join(value.lower().split()[-2:])
    return (
        [value]
        if last in words.ORGANISATIONS
        or (value.lower().split()[-1:][0:1] and value.lower().split()[-1] in words.ORGANISATIONS)
        else []
    )


ROLE_END = re.compile(
    r" (?:at|for|in|from|on|with|by|working|living|based|specializing|specialising|who|near|of (?:my"
    r"|a|an|two|three|the)|to|out|here|over|during|under)\b",
    re.I,
)
_OLD = re.compile(
    r"^(?:\d{1,3}[- ]years?[- ]old |(?:first|second|third|fourth|final)[- ]year |very |really "
    r"|fairly |pretty |big |huge |proud |humble |simple |professional |full[- ]time |part[- ]time "
    r"|certified |licensed |qualified )+",
    re.I,
)


def occupation(text: str) -> list[str]:
    """A job: its last word is on the list of jobs, and it is nothing that one merely is."""
    value = bare(_OLD.sub("", bare(cut(_OLD.sub("", bare(text[: LONGEST * 2]))))))
    if head := re.match(
        r"(?:deputy |assistant )?(?:head|director|vp|chief|manager|professor|editor|vice president) of [\w &]{2,40}",
        value,
        re.I,
    ):
        return [head[0]]
    if (
        re.search(
            r" (?:in (?:the kitchen|bed|my head|another life|disguise|training|denial|name only)|at heart"
            r"|when it comes|of nothing|to (?:my|the|his|her) )",
            text[:LONGEST],
            re.I,
        )
        or "know it" in text
    ):
        return []
    value = ROLE_END.split(value)[0].strip(_JUNK)
    lowered = value.lower()
    tokens = lowered.split()
    if tokens[-1:] == ["student"] and lowered not in _STUDENTS:
        return []
    if (
        not tokens
        or len(tokens) > 5
        or lowered in words.NOT_JOBS
        or (tokens[-1] in words.NOT_JOBS and not tokens[0].startswith("stay-at-home"))
        or two_in(tokens)
    ):
        return []
    if tokens[0] in words.DEMONYMS and len(tokens) > 1 and tokens[-1] not in _TEACHERS:
        value, tokens = value.partition(" ")[2], tokens[1:]
    return [value] if _is_job(tokens) else []


_TEACHERS = words.listed("""
    teacher, tutor, professor, translator, interpreter, instructor
""")
_STUDENTS = words.listed("""
    student, grad student, graduate student, phd student, college student, university student, high school
    student, full-time student, exchange student
""")


_WOULD_BE = words.listed("""
    aspiring, cautious, careful, safe, nervous, confident, happy, proud, lazy, wannabe, would-be, former, ex,
    failed, future, budding, closet, armchair, frustrated, hopeless, awful, amazing, excellent, fantastic,
    horrible, mediocre, amateur, hobby, home, weekend, backyard, avid, keen, passionate, self-proclaimed,
    so-called, virtual, pretend, temporary, fake, human, one-man, glorified, old-school, level
""")


def two_in(tokens: list[str]) -> bool:
    """Whether the last two words together are no job: a native speaker, a team player."""
    return " ".join(tokens[-2:]) in words.NOT_JOBS or tokens[0] == "native"


def _is_job(tokens: list[str]) -> bool:
    phrase, last, two = " ".join(tokens), tokens[-1], " ".join(tokens[-2:])
    if phrase in words.NEVER_ALONE or tokens[0] in (
        "bad",
        "good",
        "terrible",
        "great",
        "lousy",
        "slow",
        "fast",
        "better",
        "worse",
        "decent",
        "natural",
        "born",
        "secret",
        *_WOULD_BE,
    ):
        return False
    return (
        phrase in words.OCCUPATIONS
        or last in words.OCCUPATIONS
        or two in words.OCCUPATIONS
        or last.endswith(("ologist", "ographer", "surgeon"))
    )


def pets(text: str) -> list[str]:
    """Animals by what they are: "cat", "two rabbits and a parrot"."""
    found: list[str] = []
    for part in re.split(r"(?:,| and|, and) (?=(?:an?|one|two|three|four|five|six|\d+|another)\b)", text[:LONGEST])[
        :MOST_LISTED
    ]:
        animal = _ANIMAL.match(part)
        if not animal or animal["species"].lower() == "pet":
            break
        found.append(
            re.sub(r"^(?:(?:an?|one|another|my|our) )?(?:(?:new|lovely|cute|beloved|old) )?", "", animal[0].strip())
        )
    return found


_ANIMAL = re.compile(
    rf"(?:(?:an?|one|another|two|three|four|five|six|seven|eight|ten|\d{{1,2}}|several) )?(?:(?!and\b"
    rf"|with\b|of\b"
    rf"|for\b)[\w-]+ ){{0,2}}?(?P<species>{'|'.join(sorted(map(re.escape, words.SPECIES), key=len, reverse=True))})(?:s"
    rf"|es)?\b"
    r"(?! in (?:my|the|this)\b)(?=$|[,.;:!?)(]| (?:and|but|who|that|which|named|called|from|since"
    r"|last|this|yesterday|today"
    r"|two|three|an?|in|at|with|for|so|because|too|now|as|on|over|recently|these|again|to|it|he|she|they|my|his|her|yet"
    r"|any|anymore|when|while|or|plus|I|we|right|ago|though|back|if|then|puppy|kitten|at)\b)",
    re.I,
)


def number(text: str) -> list[str]:
    """An age, in digits."""
    found = re.match(r"(\d{1,3}|[a-z]+(?:-[a-z]+)?)\b", text.strip(), re.I)
    if not found:
        return []
    years = int(found[1]) if found[1].isdecimal() else _SPELLED.get(found[1].lower(), 0)
    return [str(years)] if 3 <= years <= 110 else []


_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_SPELLED = {
    **{word: value for value, word in enumerate(_TEENS, 10)},
    **_TENS,
    **{f"{ten}-{one}": value + more for ten, value in _TENS.items() for more, one in enumerate(_ONES, 1)},
}


def verbatim(text: str) -> list[str]:
    """The words as they are, without outer punctuation."""
    value = text.strip(_JUNK)
    return [value] if 0 < len(value) <= LONGEST else []


def action(text: str) -> list[str]:
    """What somebody does or means to do: a verb phrase."""
    text = text[: LONGEST * 2]
    if found := _STOP_ACTION.search(text):
        text = text[: found.start()]
    value = text.strip(_JUNK)
    return [value] if 0 < len(value) <= LONGEST and len(value.split()) <= 10 else []


_STOP_ACTION = re.compile(
    r"[;:!?()\"…]|\.(?= |$)| [-–—]+ |,(?!\d)| (?:but|so|because|cause|since|although|though|which|if|when"
    r"|please|btw|lol|haha|right now|now|tomorrow|tonight|today|next (?:week|month|year|spring|summer"
    r"|fall|autumn|winter|\w+day)|this (?:week|weekend|month|year|spring|summer|fall|autumn|winter"
    r"|\w+day|afternoon|evening)"
    r"|(?:in|on|for|at|by|from|during)(?: early| late| mid)?(?: the)?(?: (?:first|second|third|last"
    r"|end|beginning|start|middle) of)? (?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|\d{1,2}(?:st|nd|rd|th)\b|\d{4}|spring|summer|autumn|fall"
    r"|winter|christmas|easter|new year|\w+day\b|a (?:week|month|year|few)|(?:two|three|four|five|six"
    r"|\d) (?:day|week|month|year)s?|a couple)|I|we)\b",
    re.I,
)
