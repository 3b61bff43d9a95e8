"""Rules for partners, relatives and animals, who are known by name or by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from ltst.learn.extract import dates, values, words
from ltst.learn.extract.rules import Rule, fact, rule
from ltst.records import Claim

_SPECIES = "|".join(sorted((re.escape(each) for each in words.SPECIES), key=len, reverse=True))
_PARTNERS = (
    "wife|husband|spouse|partner|girlfriend|boyfriend|fiancée|fiancee|fiancé|fiance|better half"
    "|other half|hubby|significant other"
)
_CHILDREN = (
    "daughter|son|stepson|stepdaughter|baby girl|baby boy|little girl|little boy|boy|baby|toddler|kid|child|newborn"
)
_SIBLINGS = "twin brother|twin sister|half-brother|half-sister|stepbrother|stepsister|brother|sister|sibling|twin"
_PARENTS = "mother|father|mom|mum|mama|dad|papa|stepmother|stepfather|stepmom|stepdad"
_ADJECTIVES = (
    r"(?:(?:two|three|four|five|little|older|elder|younger|big|baby|kid|oldest|eldest|youngest|middle"
    r"|new|beloved|dear|late|lovely|sweet|old|twin|only|other|adopted|rescue|\d{1,2}[- ](?:year|month"
    r"|week)[- ]old|(?:two|three|four|five|six|seven|eight|nine|ten)[- ](?:year|month)[- ]old|black"
    r"|white|orange|ginger|tabby|fluffy|tiny|cute|golden) )*"
)
_NAME = r"(?-i:[A-Z])[\w'-]*"
_RELATIVE = re.compile(
    rf"\b(?:my|our) {_ADJECTIVES}(?:(?P<partner>{_PARTNERS})|(?P<child>{_CHILDREN})"
    rf"|(?P<sibling>{_SIBLINGS})|(?P<parent>{_PARENTS})|(?P<pet>{_SPECIES}))"
    rf"(?P<many>s|ies|ren)?(?:'s? name(?:s)?(?: is| are|'s)|'s? (?:called|named)|,? (?:is"
    rf"|are)?,? ?(?:called|named)| are|, (?!I\b)|: | \(| )(?: )?(?P<names>{_NAME}.{{0,80}})",
    re.I,
)
_APPOSED = re.compile(rf"{_NAME}(?:,| is\b| was\b|\)|'s\b| (?!and\b)[a-z]|$|[.!?;]| and\b)")
_REVERSED = re.compile(
    rf"(?<![\w'-])(?P<names>{_NAME})(?: is|(?P<apposed>,)) (?:my|our) {_ADJECTIVES}(?:(?P<partner>{_PARTNERS})"
    rf"|(?P<child>{_CHILDREN})|(?P<sibling>{_SIBLINGS})|(?P<parent>{_PARENTS})"
    rf"|(?P<pet>{_SPECIES}))\b(?!'s)(?(apposed),)",
    re.I,
)
_GONE = re.compile(
    r"^[,)]?(?: (?:just|sadly|unexpectedly|finally|suddenly|recently))* (?:died|passed away|passed"
    r"|crossed the rainbow bridge|was put down|was put to sleep|ran away|is gone|is no longer with us"
    r"|has died|has passed)\b",
    re.I,
)
_LOST = re.compile(
    r"\b(?:put|lost|buried|rehomed|gave away|said goodbye to|say goodbye to|put down|euthani[sz]e) $", re.I
)
_KEYS = ("partner", "child", "sibling", "parent", "pet")
_TOGETHER = re.compile(
    rf"(?<![\w'-])(?P<name>{_NAME}) and I(?:'ve| have)?(?: just| finally| recently)? (?P<what>got married"
    rf"|got engaged|are married|are engaged|tied the knot|broke up|split up|separated|got divorced"
    rf"|divorced|are dating|started dating|have been together|are together)",
    re.I,
)
_PRONAMED = re.compile(
    rf"(?:his|her|its|their|the (?:puppy|kitten|dog|cat|baby)'s) names?(?: is| are|'s) (?P<a>{_NAME}.*)"
    rf"|(?:he|she|it|they)(?:'s| is|'re| are) (?:called|named) (?P<b>{_NAME}.*)|(?:we|I) (?:named"
    rf"|called) (?:him|her|it|them) (?P<c>{_NAME}.*)",
    re.I,
)


def named(text: str, said_at: datetime) -> Iterator[Claim]:
    """Relatives and animals that the sentence names, wherever it does: "my daughter Mia starts school"."""
    asks = text.endswith("?")
    for found in _RELATIVE.finditer(text):
        # "Is my dog called Rex?" asks for what "food for my dog Rex?" knows.
        if asks and re.search(
            r"\b(?:called|named|name|is|are)\b", found[0][: found.start("names") - found.start()], re.I
        ):
            continue
        group = next(key for key in _KEYS if found[key])
        # "My sister Rome" does not exist, but "my mom Sunday" does: a name stands alone, or is announced.
        if not (found["many"] or "nam" in found[0] or "called" in found[0] or _APPOSED.match(found["names"])):
            continue
        several = bool(found["many"])
        found_names = values.names(found["names"]) if several else values.person(found["names"])
        yield from _relatives(group, found, found_names, text, said_at)
    for found in _REVERSED.finditer(text):
        group = next(key for key in _KEYS if found[key])
        yield from _relatives(group, found, values.person(found["names"]), text, said_at)


def _relatives(
    group: str, found: re.Match[str], found_names: list[str], text: str, said_at: datetime
) -> Iterator[Claim]:
    word = found[group].lower()
    details: dict[str, object] = {"species" if group == "pet" else "relation": word}
    for name in found_names:
        after = text[text.find(name, found.start("names")) + len(name) :]
        # "My sister, Liam's mom" names the nephew.
        if after.startswith("'s") and text[: found.start("names")].endswith(", "):
            continue
        gone = (
            bool(_GONE.match(after))
            or bool(_LOST.search(text[: found.start()]))
            or bool(re.search(r"\blate\b", found[0], re.I))
        )
        start = dates.since(text[found.start() :], said_at) if gone or re.match(r",? was born\b", after) else None
        yield fact(group, name, "ends" if gone else "holds", start, dict(details), 0.85)


def together(text: str, said_at: datetime) -> Iterator[Claim]:
    """Two people who marry or part: "Nadia and I got married in May"."""
    found = _TOGETHER.search(text)
    if found and re.search(r"\b(?:ex|friend|cousin|colleague) $", text[: found.start()], re.I):
        return
    name = values.person(found["name"]) if found else []
    if not found or not name:
        return
    what, start = found["what"].lower(), dates.since(text, said_at)
    parted = any(word in what for word in ("broke", "split", "separated", "divorced"))
    yield fact("partner", name[0], "ends" if parted else "holds", start)
    status = {"married": "married", "knot": "married", "engaged": "engaged", "divorced": "divorced"}
    for word, value in status.items():
        if word in what:
            yield fact("relationship_status", value, "holds", start)


def pronamed(text: str) -> list[str]:
    """The name that a following sentence gives: "We got a puppy! His name is Fig."."""
    found = _PRONAMED.match(text)
    return values.names(found["a"] or found["b"] or found["c"]) if found else []


_COUNT = r"(?:an?|one|two|three|four|five|six|seven|\d)"
_STATUS = (
    r"(?P<v>married|single|engaged(?! in\b| with\b)|divorced|widowed|separated"
    r"|in a (?:long[- ]distance |serious |committed |long-term |new |open )?relationship|a (?:widow"
    r"|widower|bachelor)|newlyweds?|happily married|recently divorced|recently married|newly married"
    r"|newly single|newly divorced|newly engaged|single again)"
)
_ENDED = (
    r"(?=$|[,.;:!?)]| and\b| but\b| now\b| with\b| any\b| to (?!(?:my|the|this|our|your)\b)| for\b"
    r"| since\b| so\b| again\b| last\b| in\b| at the moment| on\b| this\b| yesterday| \w+ (?:years"
    r"|months|weeks|days) ago| a )"
)


def _status(text: str) -> list[str]:
    value = re.sub(r"^(?:happily|recently|newly|a) | again$", "", text, flags=re.I)
    return ["married" if value.lower().startswith("newlywed") else value]


RULES: list[Rule] = [
    rule(
        "relationship_status",
        "am",
        rf"(?:(?:happily|recently|newly|currently|legally|still|freshly) )*{_STATUS}{_ENDED}",
        _status,
        dated=True,
        confidence=0.9,
    ),
    rule("relationship_status", "have", rf"been (?:happily )?{_STATUS}{_ENDED}", _status, dated=True, confidence=0.9),
    rule(
        "relationship_status",
        "do,have",
        rf"(?:got|gotten|get) (?:re)?(?P<v>married|engaged|divorced|separated){_ENDED}",
        dated=True,
        confidence=0.9,
    ),
    rule(
        "relationship_status",
        "my",
        r"(?:relationship|marital) status(?:'s| is|:) (?P<v>married|single|engaged|divorced|widowed"
        r"|separated|in a relationship)",
    ),
    rule(
        "relationship_status",
        "my",
        r"(?:divorce (?:was|is|got) (?:finali[sz]ed|final)|divorce came through)",
        fixed="divorced",
        dated=True,
    ),
    rule("relationship_status", "do", r"tied the knot", fixed="married", dated=True),
    rule(
        "relationship_status",
        "my",
        rf"(?:{_PARTNERS}) and I (?:just |recently |have |finally )*(?:got|tied|are|became) (?P<v>married"
        rf"|engaged|divorced|separated)",
        dated=True,
    ),
    rule(
        "relationship_status",
        "have",
        r"(?:got )?an? (?:new |serious |lovely )?(?:girlfriend|boyfriend)(?! who\b)",
        fixed="in a relationship",
        confidence=0.7,
    ),
    rule(
        "relationship_status",
        "do,have",
        r"(?:broke|broken|split) up(?! with (?:the|my (?:band|team)))",
        fixed="in a relationship",
        change="ends",
        dated=True,
        confidence=0.7,
    ),
    rule(
        "relationship_status",
        "my",
        rf"(?:{_PARTNERS}) and I (?:just |recently |have )*(?:broke|broken|split) up",
        fixed="in a relationship",
        change="ends",
        dated=True,
        confidence=0.7,
    ),
    rule(
        "partner",
        "am",
        r"(?:happily )?(?:married|engaged) to (?:a [\w ]+ (?:called|named) )?(?P<v>.+)",
        values.person,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "partner",
        "am",
        r"(?:dating|seeing|in a relationship with|going out with) (?:a [\w ]+ (?:called|named) )?(?P<v>(?-i:[A-Z]).+)",
        values.person,
        confidence=0.85,
    ),
    rule(
        "partner",
        "have",
        r"been (?:married to|dating|seeing|together with|in a relationship with) (?P<v>(?-i:[A-Z]).+)",
        values.person,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "partner",
        "do,have",
        r"(?:married|got (?:married|engaged) to|started dating|proposed to) (?P<v>(?-i:[A-Z]).+)",
        values.person,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "partner",
        "have",
        rf"(?:got )?an? {_ADJECTIVES}(?:{_PARTNERS}),? (?:called|named|whose name is) (?P<v>.+)",
        values.person,
        confidence=0.9,
    ),
    rule(
        "partner",
        "do,have",
        r"(?:broke up|broken up|split up|split|separated|got divorced) (?:with|from) (?P<v>(?-i:[A-Z]).+)",
        values.person,
        change="ends",
        dated=True,
        confidence=0.9,
    ),
    rule(
        "child",
        "have,am",
        rf"(?:got )?{_COUNT} (?:[\w-]+ )?(?P<relation>{_CHILDREN})s?,? (?:called|named|whose names? (?:is"
        rf"|are)|:) ?(?P<v>.+)",
        values.names,
        confidence=0.9,
    ),
    rule(
        "child",
        "have",
        rf"(?:got )?{_COUNT} (?:[\w-]+ )?(?P<relation>{_CHILDREN})s?, (?P<v>(?-i:[A-Z]).+)",
        values.names,
        confidence=0.85,
    ),
    rule(
        "child",
        "have",
        r"(?:got )?(?P<v>(?:an? |one |two |three |four |five |six |seven |\d )(?:(?:little|young|small"
        r"|grown|grown-up|adult|teenage|wonderful|beautiful|lovely|amazing|\d{1,2}[- ](?:year"
        r"|month|week)s?[- ]old|(?:two|three|four|five|six|seven"
        r"|eight|nine|ten)[- ](?:year|month|week)[- ]old|baby|older|younger) )*(?:kids|children"
        r"|daughters?|sons?|boys|girls|toddlers?|teenagers?|teens|twins|stepdaughters?|stepsons?|babies"
        r"|baby|newborn|child))\b(?!'| (?:on the way|brother|sister|carrot|steps))",
        lambda text: [values.bare(text)],
        confidence=0.85,
    ),
    rule(
        "child",
        "have",
        r"(?:got )?(?P<v>twins|triplets|twin (?:boys|girls)|kids|children)(?=$|[,.!]| and\b| who\b| aged\b)",
        confidence=0.7,
    ),
    rule(
        "child",
        "am",
        r"(?:now )?(?:an? |the )?(?:[\w-]+ )?(?:mother|father|mom|mum|dad|parents?|mama|single mom"
        r"|single dad|single mum|proud father) (?:of|to) (?P<v>(?:an? )?(?:(?:baby |little |newborn "
        r"|\w+-year-old )(?:girl|boy|daughter|son)|two|three|four|five|six|\d|one|twins"
        r"|triplets)(?: (?:[\w-]+ )?(?:kids|children|boys|girls|daughters|sons))?)\b",
        lambda text: [re.sub(r"^(?:two|three|four|five|six|\d)$", r"\g<0> children", values.bare(text))],
        confidence=0.85,
    ),
    rule(
        "child",
        "do,have",
        rf"(?:had|adopted|welcomed|just had|given birth to|gave birth to|became? (?:a )?(?:father|mother"
        rf"|parents?|mom|dad|mum) (?:of|to)) (?:our |my |an? )?(?P<v>(?:[\w-]+ )?(?:baby (?:boy|girl)|baby"
        rf"|daughter|son|twins|twin girls|twin boys))\b(?:,? (?:called|named) (?P<name>{_NAME}))?",
        lambda text: [values.bare(text)],
        dated=True,
        confidence=0.8,
    ),
    rule(
        "child",
        "am",
        r"(?:a |the )?(?:mum|mom|dad|mother|father|mama|papa) (?:to|of) (?P<v>(?-i:[A-Z]).+)",
        values.names,
    ),
    rule(
        "sibling",
        "have,am",
        rf"(?:got )?{_COUNT} (?:[\w-]+ )*?(?P<relation>{_SIBLINGS})s?,? (?:called|named|whose names? (?:is"
        rf"|are)|:) ?(?P<v>.+)",
        values.names,
        confidence=0.9,
    ),
    rule(
        "child",
        "am",
        r"(?:a |the )?(?:mum|mom|dad|mother|father|mama|papa) (?:to|of) (?P<v>(?-i:[A-Z]).+)",
        values.names,
    ),
    rule(
        "sibling",
        "have",
        rf"(?:got )?{_COUNT} (?:[\w-]+ )*?(?P<relation>{_SIBLINGS})s?, (?P<v>(?-i:[A-Z]).+)",
        values.names,
        confidence=0.85,
    ),
    rule(
        "child",
        "am",
        r"(?:a |the )?(?:mum|mom|dad|mother|father|mama|papa) (?:to|of) (?P<v>(?-i:[A-Z]).+)",
        values.names,
    ),
    rule(
        "sibling",
        "have",
        rf"(?:got )?(?P<v>{_COUNT} (?:(?:older|younger|big|little|elder|half|step|twin|baby|identical"
        rf"|wonderful) )*(?:{_SIBLINGS})s?(?: and {_COUNT} (?:(?:older|younger|big|little"
        rf"|elder) )*(?:brothers?|sisters?))?)\b",
        lambda text: [values.bare(text)],
        confidence=0.85,
    ),
    rule(
        "pet",
        "have,do",
        rf"(?:(?:own|got|adopted|bought|rescued|keep|took in|take care of|brought home|foster|welcomed"
        rf"|gotten|got myself|got ourselves|share [\w ]{2, 20}? with|live with) )*(?:{_COUNT}|another"
        rf"|our) (?:[\w-]+ ){{0,3}}?(?P<species>{_SPECIES})(?:s|es)?(?: puppy| kitten)?,? (?:called|named"
        rf"|whose names? (?:is|are)|by the name of|:) ?(?P<v>.+)",
        values.names,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "pet",
        "have,do",
        rf"(?:(?:own|got|adopted|bought|rescued) )*{_COUNT} (?:[\w-]+ ){{0,2}}?(?P<species>{_SPECIES})(?:s"
        rf"|es)?, (?P<v>(?-i:[A-Z]).+)",
        values.names,
        dated=True,
        confidence=0.8,
    ),
    rule(
        "pet",
        "have",
        r"(?:got |adopted |bought |rescued |gotten )?(?P<v>(?:an? |one |another ).+)",
        values.pets,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "pet",
        "have,do",
        r"(?:(?:own|keep|got|have|adopted|bought|rescued|raise|breed) )?(?P<v>(?:two|three|four|five|six"
        r"|seven|eight|ten|\d{1,2}|several) .+)",
        values.pets,
        dated=True,
        confidence=0.8,
    ),
    rule(
        "pet",
        "do,have",
        r"(?:own|got|adopted|bought|rescued|brought home|took in|got myself|got ourselves) (?P<v>(?:an? |another ).+)",
        values.pets,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "pet",
        "do",
        r"(?:keep|raise|breed) (?P<v>(?:chickens|bees|hens|ducks|goats|sheep|rabbits|pigeons|horses"
        r"|alpacas|quails|koi|tropical fish|pigs)\b)",
        lambda text: [text] if text.lower() != "bees" else [],
    ),
    rule(
        "pet",
        "do,have",
        rf"(?:had to (?:put|say goodbye to)|lost|put|rehomed|gave away|buried|said goodbye to) (?:(?:my"
        rf"|our) (?P<species>{_SPECIES})(?! (?:in|at|on)\b)(?:,? )?)(?P<v>(?-i:[A-Z])[\w'-]+)",
        values.person,
        change="ends",
        dated=True,
    ),
    rule(
        "pet",
        "my",
        rf"(?:{_ADJECTIVES})(?P<v>{_SPECIES})(?: (?:just|sadly|recently))* (?:died|passed away|has died"
        rf"|has passed away|was put down|was put to sleep|crossed the rainbow)\b",
        change="ends",
        dated=True,
    ),
    rule(
        "pet",
        "do,have",
        rf"(?:rehomed|gave away|had to put down|had to put) (?:my|our) (?P<v>{_SPECIES})\b",
        change="ends",
        dated=True,
    ),
    rule(
        "parent",
        "my",
        rf"(?P<v>{_PARENTS})(?: (?:just|sadly|recently|unexpectedly))* (?:died|passed away|has died|has passed away)\b",
        change="ends",
        dated=True,
    ),
]
