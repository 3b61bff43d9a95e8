"""Rules for who somebody is and where they are at home."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ltst.learn.extract import values, words
from ltst.learn.extract.rules import Rule, rule

_HERE = (
    r"(?=$|[,.;:!?)(]| -| and\b| but\b| from\b| so\b| now\b| by the way\b| btw\b| here\b| today\b"
    r"| yesterday\b| last\b| this\b| in\b| on\b| who\b| if\b| as of\b| already\b| old\b| years\b"
    r"| yo\b| y/o\b| too\b)"
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = (
    rf"(?:{_MONTH}\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:the )?\d{{1,2}}(?:st|nd|rd"
    rf"|th)? (?:of )?{_MONTH}(?:,? \d{{4}})?|\d{{4}}-\d\d-\d\d"
    rf"|\d{{1,2}}[/.]\d{{1,2}}(?:[/.]\d{{2,4}})?)"
)


_demonym = values.member(words.DEMONYMS, longest=2)
_diet = values.member(words.DIETS, longest=3)


def _nationality(text: str) -> list[str]:
    found = _demonym(text)
    return (
        found
        if found
        and re.match(
            r"(?: (?:citizen|national|passport|and\b|by birth|but\b|so\b|actually|originally|guy|girl|man"
            r"|woman|person|eh|myself|too|living|btw|though)|$|[,.;:!?)-])",
            _after(text, found[0]),
        )
        else []
    )


def _citizen(text: str) -> list[str]:
    found = re.match(
        r"(?:an? )?(?:dual |proud |naturali[sz]ed )*([\w ]{3,20}?) (?:citizen|national|passport|citizenship)\b",
        text,
        re.I,
    )
    return _demonym(found[1]) if found else []


def _heritage(text: str) -> list[str]:
    found = re.match(r"(half|part) (\w+)(?:(?:,| and) half (\w+))?", text, re.I)
    if not found or found[2].lower() not in words.DEMONYMS:
        return []
    return [found[0]]


def _with_job(text: str) -> list[str]:
    """The nationality of "I'm a Portuguese nurse"."""
    found = re.match(r"an? (?:\d{1,3}[- ]years?[- ]old )?(\w+) (?=\w)", text)
    # "An English teacher" teaches it.
    if found and re.search(
        rf"{found[1]} (?:teacher|tutor|professor|translator|interpreter|instructor|student)\b", text
    ):
        return []
    return [found[1]] if found and found[1].lower() in words.DEMONYMS and values.occupation(text) else []


def _after(text: str, value: str) -> str:
    at = text.find(value)
    return text[at + len(value) :]


def _own_name(text: str) -> list[str]:
    """A name after "I'm": only a name, and nothing that other words with capitals mean."""
    found = values.person(text)
    if (
        not found
        or len(found[0].split()) > 3
        or not re.match(
            r"(?:$|[,.;:!?)(]| -| and (?:I|my|this|we)\b| from\b| but I\b| by the way\b| btw\b| here\b)",
            _after(text, found[0]),
        )
    ):
        return []
    lowered = found[0].lower()
    if (
        lowered in words.LANGUAGES
        or lowered in words.TOOLS
        or lowered.isdigit()
        or found[0].isupper()
        or lowered in words.DIETS
        or values.occupation(lowered)
    ):
        return []
    if values.place(lowered) or re.match(
        r"(?:Captain|Queen|King|Miss|Lord|Lady|Master|Agent|Team|Chief|President|Professor|Team)\b", found[0]
    ):
        return []
    return found


_INTRODUCED = re.compile(
    r"(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day))(?: (?:there|again|everyone|all"
    r"|team))?[,!.]* (?:it's |this is |I'm )(?P<v>(?-i:[A-Z]).{0,60})",
    re.I,
)


_HERE_IS = re.compile(
    r"(?:(?:hi|hello|hey)(?: there| all)?[,!.]* )?(?:it's )?(?P<v>[\w-]{1,40}(?: [\w-]{1,40}){0,2}?) (?:here"
    r"|again|speaking)\b(?=$|[,.!:;\n]| -)",
    re.I,
)
_AS_A = re.compile(r"(?:^|(?<=[,.;!] )|(?<=\b(?:and|but) ))as an? (?P<v>[\w' -]{3,40}?),? (?:I|I'm|I've|my|we)\b", re.I)


def described(text: str) -> Iterator[tuple[str, str]]:
    """What "vegan here" and "as a nurse, I ..." say: a key and its value."""
    for found in (_HERE_IS.match(text), *_AS_A.finditer(text)):
        value = found["v"] if found else ""
        if not value:
            continue
        if diet := _diet(value):
            yield "diet", diet[0]
        elif value.lower() in words.DEMONYMS:
            yield "nationality", value
        elif job := values.occupation(value):
            yield "job", job[0]
        elif (
            found
            and found.re is _HERE_IS
            and (
                status := re.fullmatch(
                    r"(?:recently |newly |happily )?(married|single|divorced|engaged|widowed)", value, re.I
                )
            )
        ):
            yield "relationship_status", status[1]
        if found and (age := re.match(r"(\d{1,3})[- ]years?[- ]old", value)):
            yield "age", age[1]
        elif found and found.re is _HERE_IS and (name := _own_name(value)):
            yield "name", name[0]


def introduced(text: str) -> list[str]:
    """The name in a message that begins with "Hello, this is Ana"."""
    found = _INTRODUCED.match(text)
    return _own_name(re.split(r"[\n!?.,]", found["v"])[0]) if found else []


def _hometown(text: str) -> list[str]:
    found = values.place(text)
    return (
        [] if found and re.match(r"(?:Team|Department|Marketing|Sales|Support|HR|IT|Accounting)\b", found[0]) else found
    )


def _date(text: str) -> list[str]:
    found = re.match(rf"(?:on )?({_DAY})", text, re.I)
    return [re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", re.sub(r"^the | of\b", "", found[1], flags=re.I))] if found else []


_HOW = r"(?: (?:right|now|here|alone|happily|down|currently|mostly|up|out|over|together))*"
RULES: list[Rule] = [
    rule(
        "name",
        "my",
        r"(?:(?:full|first|real|given|legal|actual|christian) )?name(?:'s| is|:)(?: actually| really)? (?P<v>.+)",
        values.person,
        confidence=0.95,
    ),
    rule("name", "other", r"(?:the )?name(?:'s| is) (?P<v>(?-i:[A-Z]).+)", values.person, confidence=0.9),
    rule("name", "other", r"this is (?P<v>(?-i:[A-Z][a-z]+)(?: (?-i:[A-Z][a-z]+))?) (?=here\b|speaking\b)", _own_name),
    rule("name", "do", r"go by the name (?:of )?(?P<v>.+)", values.person),
    rule("name", "my", r"(?:parents|mother|father|mom|mum|dad)(?: \w+)? named me (?P<v>(?-i:[A-Z]).+)", values.person),
    rule("name", "was", r"(?:named|christened|baptised|baptized) (?P<v>(?-i:[A-Z]).+)", values.person),
    rule("name", "am", r"(?:called |named )(?P<v>.+)", values.person, confidence=0.9),
    rule("name", "am", r"(?P<v>(?-i:[A-Z]).+)", _own_name),
    rule("nickname", "my", r"nickname(?:'s| is)(?: actually)? (?P<v>.+)", values.thing, confidence=0.9),
    rule(
        "nickname",
        "my",
        r"(?:friends|family|colleagues|mates|mom|mum|dad|parents|siblings|teammates|coworkers|buddies"
        r"|kids|wife|husband)(?: and \w+)?(?: all| usually| just)* calls? me (?P<v>(?-i:[A-Z]).+)",
        values.person,
    ),
    rule(
        "nickname",
        "other",
        r"(?!not?\b|nobody|only|if|when|don't|why)(?:[\w ]{0,20} )?(?:everyone|everybody|people|friends"
        r"|most people|they|folks)(?: all| usually| just| here| always| at (?:the )?\w+| in \w+)* (?:calls? me"
        r"|knows? me as) (?P<v>(?-i:[A-Z]).+)",
        values.person,
    ),
    rule(
        "nickname",
        "am",
        r"(?:better |also |usually |mostly )?known (?:(?:to|among) [\w ]{3,20} )?as (?P<v>(?-i:[A-Z]).+)",
        values.person,
    ),
    rule("nickname", "do", r"(?:go|went) by (?P<v>(?-i:[A-Z]).+)", values.person),
    rule(
        "age",
        "am",
        rf"(?P<v>\d{{1,3}})(?: (?:years?|yrs?)(?: old| of age| young)| yo\b| y/o\b|{_HERE})(?! ?(?:%|older"
        rf"|younger|into|in\b"
        rf"|minutes|weeks|months|days))",
        values.number,
        confidence=0.9,
    ),
    rule("age", "am", r"(?P<v>[a-z]+(?:-[a-z]+)?)(?: years? old\b|(?=$|[,.;!]| and\b))", values.number),
    rule("age", "am", r"an? (?:\w+ )?(?P<v>\d{1,3})[- ]years?[- ]old\b", values.number, confidence=0.9),
    rule("age", "am", r"(?P<v>\d{1,3})[- ]years?[- ]old\b", values.number, confidence=0.9),
    rule(
        "age",
        "do,have",
        rf"(?:turned|hit|reached) (?P<v>\d{{1,3}}|[a-z]+(?:-[a-z]+)?){_HERE}",
        values.number,
        dated=True,
        confidence=0.9,
    ),
    rule("age", "other", rf"being (?P<v>\d{{1,3}})(?: years old)?{_HERE}", values.number),
    rule("age", "do,have", r"celebrated my (?P<v>\d{1,3})(?:st|nd|rd|th) birthday\b", values.number, dated=True),
    rule("age", "my", r"age is (?P<v>\d{1,3})", values.number, confidence=0.9),
    rule(
        "birthday",
        "my",
        r"(?:birthday|bday|b-day|date of birth|dob)(?:'s| is|:| falls| comes)(?: actually| coming up"
        r"| always)?(?: on)? (?P<v>.+)",
        _date,
        confidence=0.9,
    ),
    rule("birthday", "was", r"born (?P<v>.+)", _date, confidence=0.9),
    rule("birthday", "do", r"born (?P<v>.+)", _date),
    rule("birthday", "am", r"a leap (?:day|year) baby,? born (?P<v>.+)", _date),
    rule("birthday", "do", r"celebrate my birthday (?P<v>.+)", _date),
    rule("birthday", "other", r"(?:the )?(?P<v>.+) is my birthday\b", _date),
    rule(
        "home",
        "do",
        rf"(?:live|living|reside|residing|settled|settled down){_HOW}(?: with [\w ]{{2,25}}?{_HOW})? "
        rf"(?:in|on the (?=Isle|Island|island)) ?(?P<v>.+)",
        values.place,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "home",
        "do",
        r"(?:live|living) (?:just |right )?(?:near|outside|outside of|close to) (?P<v>.+)",
        values.place,
        confidence=0.7,
    ),
    rule(
        "home",
        "am",
        r"(?:living|based|residing|settled|located)(?: now| here| happily| currently| mainly| out)* (?:in"
        r"|of|near|outside) (?P<v>.+)",
        values.place,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "home",
        "have",
        r"been (?:here )?in (?P<v>(?-i:[A-Z])[\w .'-]*?)(?= (?:since|for (?:\w+ )?\w+ years?)\b)",
        values.place,
        dated=True,
    ),
    rule("home", "do,have", r"made the move(?: back)? (?:from [\w ]{2,20} )?to (?P<v>.+)", values.place, dated=True),
    rule(
        "home",
        "have",
        r"(?:been living|lived|been based|been residing|resided|settled)(?: here| happily)* in (?P<v>.+)",
        values.place,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "home",
        "do,have",
        r"(?:moved|relocated|emigrated|immigrated|migrated)(?: back| out| over| away| down| up"
        r"| all the way| permanently| house)*(?: from [\w .']{2,30}?)? to (?P<v>.+)",
        values.place,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "home",
        "do,have",
        r"(?:moved|relocated)(?: back)? (?:into|in) (?:an?|our|my|the) (?:\w+ ){0,3}(?:in|near) (?P<v>.+)",
        values.place,
        dated=True,
    ),
    rule(
        "home",
        "do,have",
        r"(?:moved|relocated|gone)(?: back)? (?:home )?(?:here )?to (?P<v>(?-i:[A-Z]).+)",
        values.place,
        dated=True,
    ),
    rule(
        "home",
        "do,have",
        r"(?:bought|rent|rented|got|share) (?:an?|our|my|the) (?:\w+ ){0,3}(?:house|flat|apartment|home|place"
        r"|condo|studio) in (?P<v>.+)",
        values.place,
        dated=True,
        confidence=0.6,
    ),
    rule("home", "do", r"call (?P<v>(?-i:[A-Z])[\w ]+?) (?:my )?home\b", values.place),
    rule("home", "my", r"(?:home|house|flat|apartment|place) (?:is|'s) in (?P<v>.+)", values.place),
    rule(
        "home", "my", r"(?:home ?town|city|town|home city|home base|address|home) (?:is|'s) now (?P<v>.+)", values.place
    ),
    rule("home", "my", r"(?:home base|home city|city|location|current city)(?:'s| is|:) (?P<v>.+)", values.place),
    rule(
        "home",
        "do,have",
        r"(?:moved|relocated)(?: away)? from (?P<v>.+)",
        values.place,
        change="ends",
        dated=True,
        confidence=0.7,
    ),
    rule("home", "other", r"(?:home for (?:me|us) is|home is(?: now)?) (?P<v>.+)", values.place),
    rule("home", "do,have", r"moved (?:out of|away from) (?P<v>.+)", values.place, change="ends", dated=True),
    rule("hometown", "am", r"(?:originally |actually )?from (?P<v>.+)", _hometown, confidence=0.9),
    rule("hometown", "am", r"(?:a )?(?P<v>(?-i:[A-Z])\w+)[ -](?:native|born and (?:bred|raised))\b", values.place),
    rule("hometown", "am", r"an? (?:[\w-]+ ){1,4}from (?P<v>(?-i:[A-Z]).+)", _hometown, confidence=0.7),
    rule("hometown", "do", r"(?:originally )?(?:come|came|hail) from (?P<v>.+)", _hometown, confidence=0.9),
    rule("hometown", "do", r"grew up(?: mostly| mainly)? (?:in|near|outside) (?P<v>.+)", values.place, confidence=0.9),
    rule(
        "hometown",
        "do",
        r"spent my (?:whole )?(?:childhood|youth|early years|formative years) (?:in|near) (?P<v>.+)",
        values.place,
    ),
    rule(
        "hometown",
        "was",
        r"(?:born and )?(?:raised|brought up|born)(?: and raised| and bred)? (?:in|near|on(?= an? )) (?P<v>.+)",
        values.place,
        confidence=0.9,
    ),
    rule("hometown", "my", r"home ?town(?:'s| is|:) (?!now\b)(?P<v>.+)", values.place, confidence=0.9),
    rule("nationality", "am", r"(?:an? )?(?P<v>.+)", _nationality, confidence=0.9),
    rule(
        "nationality", "am,do,have", r"(?:become |became |got |a |an )?(?P<v>.+)", _citizen, dated=True, confidence=0.9
    ),
    rule(
        "nationality",
        "have,do",
        r"(?:(?:got|hold|have|received|obtained|a|an|my) )*(?P<v>(?:an? )?[\w ]{3,20}? (?:passport|citizenship)\b.*)",
        _citizen,
        dated=True,
    ),
    rule("nationality", "am", r"(?P<v>(?:half|part) .+)", _heritage),
    rule("nationality", "am", r"(?P<v>an? .+)", _with_job, confidence=0.7),
    rule("nationality", "am", r"of (?P<v>\w+) (?:nationality|citizenship)\b", values.member(words.DEMONYMS)),
    rule("nationality", "my", r"nationality(?:'s| is|:) (?P<v>.+)", _demonym, confidence=0.9),
    rule(
        "email",
        "my",
        r"(?:new |work |personal |private |current )*(?:e-?mail|gmail)(?: address)?(?:'s| is|:"
        r"|,)?(?: now)? (?P<v>\S+@\S+\.\S+)",
        values.verbatim,
        confidence=0.95,
    ),
    rule(
        "email",
        "other",
        r"(?:(?:you can |please )?(?:reach|email|e-mail|contact|write(?: to)?|mail) me (?:at|on|via"
        r"|under)|(?:new |my )?e-?mail(?: address)?:|(?:it's|that's)) (?P<v>\S+@\S+\.\S+)",
        values.verbatim,
        confidence=0.9,
    ),
    rule("email", "can", r"be reached at (?P<v>\S+@\S+\.\S+)", values.verbatim, confidence=0.9),
]
