"""Rules for tastes, food, health, free time and belongings."""

from __future__ import annotations

import re

from ltst.learn.extract import values, words
from ltst.learn.extract.rules import Rule, rule

_MEDICINE = re.compile(
    r"\w+(?:formin|statin|pril|sartan|olol|azole|zepam|zolam|oxetine|raline|cillin|mycin|tinib|mab"
    r"|lukast|terol|thyroxine|tidine|tadine|pram|triptan|sone|dipine|apine|idone|trigine|gabalin"
    r"|pentin|afil|parin|gliptin|glutide|xaban|setron|dronate|semide|thiazide|afaxine|xetine"
    r"|phenidate|amphetamine)\b",
    re.I,
)
_MEDICINES = words.listed("""
    insulin, antidepressants, blood thinners, statins, antihistamines, birth control, the pill, iron
    supplements, ssris, beta blockers, prednisone, adderall, ritalin, vyvanse, ozempic, lexapro, zoloft, prozac,
    xanax, humira, methotrexate, levothyroxine, warfarin, albuterol, gabapentin, lithium, melatonin, vitamin d,
    metformin, sertraline, concerta, wegovy, mounjaro, cetirizine, loratadine, ibuprofen, omeprazole, aspirin
""")
_NO_PASTIME = words.listed("""
    smoking, drinking, vaping, eating, working, trying, hoping, looking, thinking, caring, using, taking, going,
    sleeping, worrying, talking, studying, driving, teaching, living, dieting, breathing, everything, nothing,
    anything, something
""")
_NOT_MEDICINE = words.listed("""
    one, time, medicine, some time, none, ine, someone, anyone, everyone, line, online, a ride, ride, pride,
    side, phone, date, late, aside, cocaine, wine, caffeine, a break, mine, alone, state, inside, outside
""")


_diets = values.member(words.DIETS, longest=3)
_adjectives = values.member(words.HEALTH_ADJECTIVES, frozenset({"a diabetic"}))
_species = values.member(words.SPECIES)


def _diet(text: str) -> list[str]:
    return _diets(text)


def _medicine(text: str) -> list[str]:
    value = re.split(r" (?:for|every|twice|once|daily|at|to|in|each|after|before|when|\d) ?", values.cut(text))[0]
    value = re.sub(r"^(?:\d+ ?mg (?:of )?|daily |low-dose )", "", value)
    if value.lower() in _MEDICINES:
        return [value]
    single = len(value.split()) == 1 and len(value) > 5 and value.lower() not in _NOT_MEDICINE
    return [value] if single and _MEDICINE.fullmatch(value) else []


def _pastime(text: str) -> list[str]:
    """What one does for fun and may give up, by its form."""
    value = values.cut(text)
    return [value] if re.fullmatch(r"[a-z]{3,}ing", value) and value not in _NO_PASTIME else []


def _diagnosis(text: str) -> list[str]:
    value = re.split(r" at \d", values.cut(text))[0]
    if re.search(r"(?:day|weekend|night|party|trip|week|breakup|loss|shock|flight)s?$", value, re.I):
        return []
    return (
        [value]
        if value
        and len(value.split()) <= 5
        and not re.match(r"(?:it|this|that|the|something|nothing|what)\b", text, re.I)
        else []
    )


def _allergens(text: str) -> list[str]:
    found = values.things(re.sub(r"^(?:both|all|most|certain|some kinds of|all kinds of) ", "", text, flags=re.I))
    return [
        each
        for each in found
        if not re.match(
            r"(?:mondays?|work|mornings?|bullshit|drama|stupidity|exercise|people|fun|commitment|nonsense"
            r"|idiots|meetings|math|early|effort|small talk|cardio|bs|responsibility|decisions|spreadsheets"
            r"|paperwork|hype|cheap|bad|early|working|losing|rules|change|success|failure|happiness|hard work"
            r"|adulting|sundays|housework|cleaning|anything|everything|nothing)\b",
            each,
            re.I,
        )
    ]


def _known(*lists: frozenset[str]) -> values.Reader:
    one = values.members(*lists)

    def read(text: str) -> list[str]:
        # Who reads a book today has begun no hobby.
        if re.match(
            r"(?:some )?(?:reading|writing|coding|programming|cooking|drawing) (?!and\b|or\b|in\b|as\b|for\b"
            r"|every\b|again\b)",
            text,
            re.I,
        ):
            return []
        return one(
            re.sub(
                r"^(?:a lot of|a bit of|some|the|regular|competitive|amateur|recreational|a little|a|an|social"
                r"|casual|weekly|five-a-side) ",
                "",
                text,
                flags=re.I,
            )
        )

    return read


_sports = _known(words.SPORTS)
_instruments = _known(words.INSTRUMENTS)
_hobbies = _known(words.HOBBIES)


def _likes(text: str) -> list[str]:
    """What is liked: things of the world, not what is at hand in the conversation."""
    text = (
        re.sub(
            r"^(?:to (?:eat|drink|watch|read|play|listen to|cook|wear|go) |(?:eating|drinking|watching"
            r"|reading|listening to|cooking with) (?=\w))",
            "",
            text,
            flags=re.I,
        )
        if not re.match(r"(?:to go|to play|reading$|watching$|cooking$|reading\b(?= and|,|$))", text, re.I)
        else text
    )
    if re.match(r"to \w+$|to \w+ ", text):
        return []
    found = (
        values.things(text)
        if not re.match(r"(?:the sound|the smell|the taste|two|three|four|some of|number|option|no\.|#)\b", text, re.I)
        else []
    )
    if found and (not _worldly(found[0]) or re.match(r"(?-i:[A-Z])[\w ]*'s ", found[0])):
        return []
    return [each for each in found if _worldly(each) and _known_doing(each)]


def _known_doing(value: str) -> bool:
    """Of what one loves to do, only the short: "capturing the beauty of it all" tells nothing."""
    tokens = value.lower().split()
    if not tokens[0].endswith("ing") or value.lower() in words.HOBBIES or value.lower() in words.SPORTS:
        return True
    return (
        len(tokens) in (2, 3)
        and tokens[-1] not in _PARTICLES
        and not {"to", "my", "our", "up", "into", "about"} & set(tokens)
    )


_PARTICLES = words.listed("""
    a, an, the, to, in, on, at, of, for, with, up, out, off, my, our, and, or, into, about, by, from, around,
    away, over, new
""")


_WORLDLY = re.compile(
    r"(?:idea|ideas|suggestion|sound|look|looks|way|fact|vibe|answer|answers|response|responses|reply"
    r"|replies|question|plan|option|options|first|second|last|latter|former|one|part|result|version"
    r"|photo|picture|concept|approach|style|design|tone|that|dark mode|light mode|how|part about"
    r"|recommendation|recommendations|tips?|examples?|details?|name|names|title|recipe|info|job|jobs"
    r"|life|chat|chatting|hearing|seeing|when|where)\b",
    re.I,
)


def _worldly(value: str) -> bool:
    return (
        not _WORLDLY.match(value)
        and not re.search(
            r"\b(?:you|your|yours|he|she|his|him|her|their|them|it|this|these|those|me|us|I|is|are|was|were"
            r"|my|our|one|particular)\b",
            value,
        )
        and not re.search(
            r"\b(?:answers?|replies|responses|explanations|ideas?|too|much|vibes?|looks?|feel|and|or|together"
            r"|a|the|of|to)$",
            value,
            re.I,
        )
    )


def _favourite(text: str) -> list[str]:
    found = values.phrase(text)
    return [
        each
        for each in found
        if _worldly(each)
        and not re.match(
            r"(?:probably|definitely|when|how|that|from|in|on|always|still|really|also|hard|not|also|between|by)\b",
            each,
            re.I,
        )
    ]


def _collects(text: str) -> list[str]:
    found = values.thing(text) if not re.match(r"(?:my|your|the|his|her|this)\b", text, re.I) else []
    return (
        [f"collecting {found[0]}"]
        if found
        and not re.match(
            r"(?:data|information|my|feedback|samples|money|evidence|requirements|dust|unemployment|the|it)\b",
            found[0],
            re.I,
        )
        else []
    )


def _vehicle(text: str) -> list[str]:
    value = re.split(r" (?:with|that|to|in|for|from) ", values.cut(text))[0]
    tokens = [token.strip(".,").lower() for token in value.split()]
    brand = next(
        (n for n in range(len(tokens)) if tokens[n] in words.CARS or " ".join(tokens[n : n + 2]) in words.CARS), None
    )
    # "A Tom Ford perfume" and "a car cover" are no cars.
    if (
        brand is None
        or any(token[0].isupper() or token in ("about", "of", "for", "on", "with") for token in value.split()[:brand])
        or (tokens[brand] in _KINDS and (brand == 0 or brand + 1 < len(tokens)))
    ):
        return []
    return (
        [value]
        if len(tokens) <= 6
        and not re.search(
            r"\b(?:payment|insurance|key|loan|accident|rental|ride|sales|charger|game|course|tournament|class"
            r"|club|clubs|guard)\b",
            value,
            re.I,
        )
        else []
    )


def _branded(text: str) -> list[str]:
    """Any make with a capital, after "I drive a"."""
    value = re.split(r" (?:with|that|to|in|for|from) ", values.cut(text))[0]
    return [value] if re.search(r"(?-i:[A-Z])", value) and len(value.split()) <= 5 else []


_KINDS = words.listed("""
    car, truck, van, suv, sedan, pickup, minivan, convertible, hatchback, golf, focus, polo, leaf, accord,
    panda, mini, seat, beetle, outback, forester
""")


def _phone(text: str) -> list[str]:
    value = re.split(r" (?:with|that|to|in|for|from) ", values.cut(text))[0]
    lowered = value.lower()
    return (
        [value]
        if any(
            re.match(
                rf"(?:(?:old|new|trusty|ancient|refurbished|second-hand|used|battered|blue|black|white"
                rf"|red) )*{re.escape(each)}\b",
                lowered,
            )
            for each in words.PHONES
        )
        and len(value.split()) <= 5
        and not re.search(r"\b(?:charger|case|app|buds|earbuds|tv|watch|tablet|laptop|fridge)\b", lowered)
        else []
    )


def _new_phone(text: str) -> list[str]:
    value = values.cut(text)
    return [value] if value and len(value.split()) <= 5 and re.search(r"(?-i:[A-Z0-9])", value) else []


def _owned(text: str) -> list[str]:
    value = re.split(r" (?:with|that|to|in|for|from|of|at|near|on|by|called) ", values.cut(text))[0]
    tokens = value.lower().split()
    if not tokens or len(tokens) > 5:
        return []
    return (
        [value]
        if value.lower() in words.POSSESSIONS
        or tokens[-1] in words.POSSESSIONS
        or " ".join(tokens[-2:]) in words.POSSESSIONS
        else []
    )


def _anything_owned(text: str) -> list[str]:
    value = re.split(r" (?:with|that|to|in|for|from|near|on|by|called) ", values.cut(text))[0]
    if (
        _vehicle(text)
        or _phone(text)
        or re.match(r"(?:up|mistakes?|copy|shares?|stake|percent|\d|business|company|it|lots?|bunch)\b", value, re.I)
    ):
        return []
    return (
        [value]
        if value
        and len(value.split()) <= 4
        and not values.PRONOUNS.match(value)
        and not _species(re.sub(r"^(?:two|three|four|\d) ", "", value))
        else []
    )


_PLAYERS = {
    "drummer": "drums",
    "bassist": "bass",
    "guitarist": "guitar",
    "pianist": "piano",
    "violinist": "violin",
    "cellist": "cello",
    "keyboardist": "keyboard",
    "saxophonist": "saxophone",
}
_TIMES = r"(?:every day|every morning|weekly|daily|regularly|a lot|often|on weekends|at weekends)"
_LOVE = r"(?:love|like|enjoy|adore|appreciate a good|can't get enough of|have a (?:soft spot|weakness|passion) for)"
RULES: list[Rule] = [
    rule("car", "am", r"driving an? (?P<v>.+)", _vehicle, confidence=0.7),
    rule(
        "diet",
        "am",
        r"(?:(?:an? |strict |strictly |mostly |lifelong |fully |completely |100% |on an? |trying out "
        r"|a committed |ethically |eating )*)(?P<v>.+)",
        lambda text: (
            found
            if (found := _diet(text))
            and re.match(
                r"(?: (?:diet|and|but|so|now|since|for|any|again|too|by|these|at|who|these days|because|with|in"
                r"|this|after|eater|as|myself)\b|$|[,.;:!?)-])",
                text[len(found[0]) :],
            )
            else []
        ),
        dated=True,
        confidence=0.9,
    ),
    rule(
        "diet", "have", r"been (?:an? |strictly |mostly |on an? |eating )*(?P<v>.+)", _diet, dated=True, confidence=0.9
    ),
    rule(
        "diet",
        "have,do",
        r"(?:went|gone|turned|became|become|go) (?:an? |fully |completely )?(?P<v>.+)",
        _diet,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "diet",
        "do",
        r"(?:eat|cook|keep)(?: strictly| mostly| only)? (?P<v>.+)",
        lambda text: (
            found
            if (found := _diet(text))
            and re.match(
                r"(?:$|[,.;!]| (?:now|only|food|meat|at home|diet|and|so|since|these days|because|any)\b)",
                text[len(found[0]) :],
            )
            else []
        ),
        dated=True,
    ),
    rule(
        "diet",
        "do,have",
        r"(?:follow|following|started|switched to|keep to|eat|stick to|been on|been following"
        r"|went on) (?:an? |the )?(?:strict )?(?P<v>.+? diet)\b",
        lambda text: (
            _diet(text)
            or (
                [text[:-5]]
                if len(text.split()) <= 3
                and text.lower()
                not in ("diet", "healthy diet", "balanced diet", "strict diet", "new diet", "special diet")
                else []
            )
        ),
        dated=True,
    ),
    rule(
        "diet",
        "am",
        r"(?:following|on|doing|trying|starting|sticking to) (?:an? |the )?(?:strict )?(?P<v>.+? diet)\b",
        _diet,
        dated=True,
    ),
    rule("diet", "my", r"diet(?:'s| is|:)(?: now| mostly| strictly)? (?P<v>.+)", _diet),
    rule("diet", "other", r"(?:so )?call it (?P<v>\w+)$", _diet, confidence=0.6),
    rule(
        "allergy",
        "am",
        r"(?:(?:severely|highly|mildly|very|deathly|badly|extremely|slightly|also) )*allergic to (?P<v>.+)",
        _allergens,
        confidence=0.95,
    ),
    rule("allergy", "am", r"(?:\w+ )?(?P<v>lactose|gluten|histamine|fructose)[- ]intolerant\b", confidence=0.9),
    rule("allergy", "not am", r"allergic to (?P<v>.+)", _allergens, change="ends", confidence=0.7),
    rule(
        "allergy",
        "have",
        r"(?:got |developed )?(?:an? )?(?:(?:severe|bad|mild|serious|nasty|life-threatening"
        r"|slight) )*(?P<v>[\w -]{2,30}?) allerg(?:y|ies)\b",
        lambda text: (
            _allergens(text)
            if text.lower()
            not in (
                "no",
                "any",
                "food",
                "a",
                "an",
                "some",
                "seasonal",
                "severe",
                "many",
                "a lot of",
                "several",
                "two",
                "bad",
            )
            else []
        ),
        dated=True,
        confidence=0.9,
    ),
    rule(
        "allergy",
        "have",
        r"(?:got |developed )?(?:an? )?(?:\w+ )?allergy to (?P<v>.+)",
        _allergens,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "allergy",
        "my",
        r"(?:\w+ )?allerg(?:y|ies)(?:'s| is| are| include|:)(?: to)? (?P<v>.+)",
        _allergens,
        confidence=0.7,
    ),
    rule(
        "dislike",
        "do",
        r"(?:hate|dislike|despise|detest|loathe|can't stand|avoid|am sick of)(?: eating| drinking"
        r"| watching)? (?P<v>.+)",
        _likes,
        confidence=0.85,
    ),
    rule(
        "dislike",
        "cannot",
        r"(?:stand|bear|abide|tolerate)(?! (?:up|still|straight|in|on|by|here|there"
        r"|upright)\b)(?: the (?:taste|smell|sight|sound|texture) of)? (?P<v>.+)",
        _likes,
        confidence=0.85,
    ),
    rule(
        "dislike",
        "not have,not do",
        r"(?:(?:really|ever|much) )*(?:liked|enjoyed|loved|cared for) (?P<v>.+)",
        _likes,
        confidence=0.75,
    ),
    rule("like", "cannot", r"get enough of (?P<v>.+)", _likes, confidence=0.75),
    rule(
        "dislike",
        "not do",
        r"(?:(?:really|particularly|much) )*(?:like|enjoy|love|care for)(?: eating| drinking)? (?P<v>.+)",
        _likes,
        confidence=0.8,
    ),
    rule(
        "dislike",
        "not am",
        r"(?:a |much of a |a big |a huge |really a |that )*(?:fan of|into|keen on|fond of|crazy about) (?P<v>.+)",
        _likes,
        confidence=0.8,
    ),
    rule(
        "dislike",
        "am",
        r"(?:not a fan of|no fan of|terrified of|scared of|afraid of) (?P<v>.+)",
        lambda text: _likes(text) if not re.match(r"\w+ing\b", text) else [],
        confidence=0.6,
    ),
    rule("like", "do", rf"{_LOVE}(?: all things| all kinds of| both)? (?P<v>.+)", _likes, confidence=0.85),
    rule(
        "dislike", "have", r"(?:always )?(?:hated|despised|loathed|disliked|detested) (?P<v>.+)", _likes, confidence=0.8
    ),
    rule(
        "like",
        "have",
        r"been (?:really |very |super )?(?:into|obsessed with|hooked on) (?P<v>.+)",
        _likes,
        confidence=0.75,
    ),
    rule(
        "like",
        "have",
        r"(?:always loved|loved|always liked|a (?:soft spot|weakness|passion|thing) for"
        r"|always been (?:into|fond of|a fan of)|been a (?:huge |big )?fan of) (?P<v>.+)",
        _likes,
        confidence=0.8,
    ),
    rule(
        "like",
        "am",
        r"(?!no )(?:(?:an? )?(?:\w+ )?(?:fan|lover) of|(?:really |very |super |so |big |totally )*(?:into"
        r"|fond of|keen on|crazy about|obsessed with|passionate about|mad about|nuts about|partial to"
        r"|addicted to)) (?P<v>.+)",
        _likes,
        confidence=0.85,
    ),
    rule(
        "like",
        "am",
        r"an? (?:big |huge |massive |real |avid |die-?hard |lifelong )*(?P<v>[\w' ]{2,30}?) (?:fan|lover"
        r"|enthusiast|buff|nerd|geek|addict|(?<=\bdog )person|(?<=\bcat )person|(?<=\btea )person"
        r"|(?<=coffee )person|(?<=\bbeach )person)(?=$|[,.!]| and\b| so\b| but\b| myself\b| who\b"
        r"| through)",
        lambda text: (
            []
            if re.match(
                r"(?:big|huge|people|good|bad|nice|private|quiet|busy|simple|different|happy|lazy|positive"
                r"|creative|social|shy|only|changed|an?|real|morning|night|the|introverted|kind|terrible|visual"
                r"|practical|type|total|such|great|hard|computer|math)\b",
                text,
                re.I,
            )
            else values.thing(text)
        ),
        confidence=0.7,
    ),
    rule(
        "like",
        "my",
        r"(?:all-time |absolute |current )?favou?rite (?!programming|hobby|hobbies|sport|instrument|part"
        r"|thing (?:about|to)|way|moment|memory|person|ones?\b|from|of|so far)(?:[\w' -]{2,30}?)(?:'s| is"
        r"| are|:| has to be| would be) (?P<v>.+)",
        _favourite,
        confidence=0.85,
    ),
    rule("like", "my", r"(?:go-to|comfort) (?:[\w' -]{2,30}?)(?:'s| is| are) (?P<v>.+)", _favourite, confidence=0.6),
    rule(
        "hobby",
        "my",
        r"(?:main |new |favou?rite |biggest |other )?(?:hobby|hobbies|pastimes?|passions?)(?:'s| is| are"
        r"| include|:)(?: currently)? (?P<v>.+)",
        values.things,
        confidence=0.9,
    ),
    rule(
        "hobby",
        "do",
        r"(?:go|do|doing|practi[sc]e|practi[sc]ing|enjoy doing|get into)(?: some| a lot of| a bit of)? (?P<v>.+)",
        _hobbies,
        confidence=0.85,
    ),
    rule(
        "hobby",
        "am",
        r"(?:into|really into|getting into|an? (?:keen|avid|passionate|amateur|hobby)) (?P<v>.+)",
        _hobbies,
        confidence=0.8,
    ),
    rule(
        "hobby",
        "have,do",
        r"(?:started|taken up|took up|picked up|begun|got into|gotten into|started doing|got back into"
        r"|been doing|been getting into)(?: doing)? (?P<v>.+)",
        _hobbies,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "hobby",
        "do",
        r"spend (?:all |most of |much of |a lot of )?my (?:weekends|free time|spare time|evenings|sundays"
        r"|saturdays|downtime|days off) (?P<v>\w+ing\b.*)",
        lambda text: values.phrase(text) if len(text) < 60 else [],
        confidence=0.8,
    ),
    rule("hobby", "do", r"collect(?:ing)? (?P<v>.+)", _collects, confidence=0.85),
    rule(
        "hobby",
        "am",
        r"an? (?:keen |avid |amateur |passionate |hobbyist |hobby )+(?P<v>photographer|baker|gardener"
        r"|birdwatcher|birder|hiker|knitter|painter|cook|reader|gamer|woodworker|astronomer|beekeeper"
        r"|potter|writer)\b",
        confidence=0.7,
    ),
    rule(
        "hobby",
        "do",
        r"(?P<v>paint|knit|crochet|sew|garden|bake|draw|sketch|hike|birdwatch|fish|quilt|whittle|woodwork"
        r"|journal|blog)(?=$|[,.!]| (?:in my|as a hobby|for fun|on weekends|at weekends|every|to relax"
        r"|a lot|regularly))",
        confidence=0.75,
    ),
    rule(
        "hobby",
        "do",
        r"(?:(?:enjoy|love|like|do) )?(?P<v>[\w ]{3,30}?) (?:as a hobby|in my (?:free|spare) time|for fun)\b",
        lambda text: (
            [text]
            if len(text.split()) <= 3 and not re.match(r"(?:it|that|this|love|like|enjoy|do|just)\b", text, re.I)
            else []
        ),
        confidence=0.7,
    ),
    rule(
        "hobby",
        "do",
        r"play (?P<v>chess|poker|video games|board games|dungeons (?:and|&) dragons|d&d|scrabble|bridge"
        r"|go|mahjong|minecraft)\b",
        confidence=0.8,
    ),
    rule(
        "sport",
        "do",
        r"(?:play|playing|do|doing|practi[sc]e|practi[sc]ing|train|compete in|go|train in|coach|run"
        r"|ride)(?: in)? (?P<v>.+)",
        _sports,
        confidence=0.85,
    ),
    rule(
        "sport",
        "have",
        r"(?:been(?: (?:playing|doing|practi[sc]ing|training))?|played|practi[sc]ed|taken up|started|picked up"
        r"|joined an?) (?P<v>.+)",
        _sports,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "sport",
        "do",
        r"(?:started|took up|picked up|got into|started (?:playing|doing)|joined an?|signed up for) (?P<v>.+)",
        lambda text: (
            []
            if re.match(r"[\w ]+ (?:materials?|equipment|gear|shoes|supplies|kit|bag|ball|tickets?)\b", text)
            else _sports(text)
        ),
        dated=True,
        confidence=0.85,
    ),
    rule(
        "sport",
        "am",
        r"(?:on|in|part of|a member of) (?:an?|the|my|our) (?:local |school |university |amateur "
        r"|\w+ )?(?P<v>[\w -]{3,20}?) (?:team|club|league|squad)\b",
        lambda text: _sports(text),
        confidence=0.85,
    ),
    rule(
        "sport",
        "am",
        r"(?:really |very |big )?(?:into|training (?:in|for)) (?P<v>.+)",
        lambda text: _sports(text) if not re.match(r"(?:a|the)\b", text) else [],
        confidence=0.8,
    ),
    rule(
        "sport",
        "am",
        r"an? (?:keen |avid |competitive |amateur |passionate |regular |long-distance |marathon "
        r"|trail )*(?P<v>runner|swimmer|cyclist|climber|rower|skier|surfer|snowboarder|tennis player"
        r"|football player|basketball player|golfer|triathlete|boxer|gymnast|volleyball player)(?=$|[,.!]"
        r"| and\b| so\b| but\b)",
        confidence=0.75,
    ),
    rule(
        "sport",
        "do",
        rf"(?P<v>swim|run|surf|ski|climb|row|box|jog|snowboard|boulder|lift weights|cycle)(?=$|[,.!]"
        rf"| {_TIMES}| (?:every|whenever|twice|three times|once|\d|marathons|on (?:\w+days|weekends)"
        rf"|competitively|laps))",
        confidence=0.75,
    ),
    rule("sport", "my", r"(?:favou?rite |main )?sport(?:'s| is|:) (?P<v>.+)", _sports, confidence=0.85),
    rule("instrument", "do,can", r"(?:play|playing|practi[sc]e)(?: both)? (?P<v>.+)", _instruments, confidence=0.9),
    rule(
        "instrument",
        "have",
        r"(?:been (?:playing|practi[sc]ing)|played)(?: the)? (?P<v>.+)",
        _instruments,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "instrument",
        "do,have",
        r"(?:started playing|started|taken up|took up|picked up|got back into) (?P<v>.+)",
        _instruments,
        dated=True,
        confidence=0.8,
    ),
    rule(
        "instrument",
        "my",
        r"(?:main |first |favou?rite )?instrument(?:'s| is|:) (?P<v>.+)",
        _instruments,
        confidence=0.9,
    ),
    rule("instrument", "do", r"(?P<v>drum)(?= in\b|$|[,.])", fixed="drums"),
    rule(
        "instrument",
        "am",
        r"(?:the |an? )(?P<v>drummer|bassist|guitarist|pianist|violinist|cellist|keyboardist|saxophonist) in\b",
        lambda text: [_PLAYERS[text.lower()]],
    ),
    rule(
        "health",
        "have",
        r"(?:got |had |been living with |suffered from |always had )?(?:(?:severe|mild"
        r"|really bad|terrible|moderate|slight|some) )?(?P<v>(?!.* (?:about|over) ).+)",
        values.member(words.CONDITIONS),
        dated=True,
        confidence=0.85,
    ),
    rule(
        "health",
        "do,have",
        r"(?:had) (?:an? |my )?(?P<v>(?:[\w-]+ )?(?:replacement|transplant|bypass|stroke|heart attack))\b",
        dated=True,
        confidence=0.7,
    ),
    rule(
        "health",
        "am",
        r"(?:(?:(?:slightly|partially|completely|severely|legally|\w+ months|\w+ weeks) )?)(?P<v>.+)",
        lambda text: (
            found
            if (found := _adjectives(text))
            and not re.match(r" (?:to|about|with|without|drunk|spot)\b", text[len(found[0]) :])
            else []
        ),
        confidence=0.85,
    ),
    rule(
        "health", "am", r"(?:a )?(?P<v>(?:type [12] )?diabetic|asthmatic|epileptic|celiac|coeliac)\b", confidence=0.85
    ),
    rule(
        "health",
        "was,have,do",
        r"(?:(?:been|got|was|just been) )*(?:re)?diagnosed (?:with|as(?: having)?) (?P<v>.+)",
        _diagnosis,
        dated=True,
        confidence=0.95,
    ),
    rule("health", "do", r"(?:suffer|suffering) from (?P<v>.+)", _diagnosis, confidence=0.9),
    rule("health", "do", r"live with (?P<v>.+)", values.member(words.CONDITIONS), confidence=0.8),
    rule("health", "do", r"struggle with (?P<v>.+)", values.member(words.CONDITIONS), confidence=0.8),
    rule(
        "health",
        "am",
        r"(?:living with|suffering from|recovering from|being treated for) (?P<v>.+)",
        _diagnosis,
        confidence=0.8,
    ),
    rule(
        "health",
        "do,am,have",
        r"(?:take|taking|been taking|started taking|started on|on|been on|been prescribed|was prescribed"
        r"|am prescribed|inject|use) (?P<v>.+)",
        _medicine,
        dated=True,
        confidence=0.8,
    ),
    rule("health", "was", r"prescribed (?P<v>.+)", _medicine, dated=True),
    rule(
        "health",
        "do,have",
        r"(?P<v>(?:broke|broken|sprained|tore|torn|fractured|dislocated|injured|twisted|ruptured|pulled"
        r"|hurt) my (?:left |right )?(?:arm|leg|ankle|wrist|foot|toe|finger|hand|elbow|shoulder"
        r"|collarbone|knee|acl|meniscus|hamstring|back|nose|rib|ribs|hip|achilles|rotator cuff|neck|thumb"
        r"|jaw))\b",
        values.verbatim,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "health",
        "do,have",
        r"(?:had|have had|undergone|underwent|just had) (?P<v>(?:[\w-]+ )?(?:surgery|replacement"
        r"|transplant|bypass|stroke|heart attack|hysterectomy|appendectomy)(?: on my [\w ]{3,15})?)\b",
        lambda text: [values.bare(text)],
        dated=True,
        confidence=0.7,
    ),
    rule(
        "health",
        "do,have",
        r"(?:recovered|fully recovered|healed) from (?:my |the )?(?P<v>.+)",
        values.thing,
        change="ends",
        dated=True,
    ),
    rule(
        "health",
        "do,have",
        r"(?:(?:came|come|went|gone) off|(?:just |have )?(?:stopped|quit) taking) (?P<v>.+)",
        _medicine,
        change="ends",
        dated=True,
    ),
    rule(
        "hobby",
        "do,have",
        r"(?:just )?(?:gave up|given up|quit|stopped) (?:doing |playing )?(?P<v>.+)",
        values.member(words.HOBBIES),
        change="ends",
        dated=True,
    ),
    # What is left of "I gave up knitting".
    rule("hobby", "do", r"(?P<v>[a-z]{3,}ing)$", _pastime, dated=True),
    rule(
        "sport",
        "do,have",
        r"(?:just )?(?:gave up|given up|quit|stopped) (?:doing |playing )?(?P<v>.+)",
        values.member(words.SPORTS),
        change="ends",
        dated=True,
    ),
    rule(
        "car",
        "do",
        r"(?:drive|driving|drove) (?:an? |my )(?P<v>.+)",
        lambda text: _vehicle(text) or _branded(text),
        dated=True,
        confidence=0.9,
    ),
    rule(
        "car",
        "have,do",
        r"(?!.* from (?:19|20)\d\d)(?:(?:own|got|bought|have|leased|lease|purchased|traded it in for"
        r"|(?>traded in [\w ]{3,25}? for)|upgraded to|ordered|just bought|picked up|gotten"
        r"|got myself) )*(?:an? |my |our )(?P<v>.+)",
        _vehicle,
        dated=True,
        confidence=0.8,
    ),
    rule("car", "have,do", r"(?:(?:own|got|have) )*an? (?P<v>.+) from (?:19|20)\d\d", _vehicle),
    rule(
        "car",
        "my",
        r"(?:new |current |family |old |second )?(?:car|vehicle|ride|truck|van)(?:'s| is|:)(?: now)? (?:an? )(?P<v>.+)",
        lambda text: _vehicle(text) or _branded(text),
        confidence=0.9,
    ),
    rule("car", "do,have", r"(?:switched|swapped|changed) to (?:an? )(?P<v>.+)", _vehicle, dated=True),
    rule(
        "car",
        "do,have",
        r"(?:sold|totaled|totalled|scrapped|got rid of|traded in|crashed|wrote off) (?:my|our"
        r"|the) (?P<v>.+?)(?= for\b| to\b|$|[,.;]| last| in\b| yesterday| this)",
        lambda text: _vehicle(text) or (["car"] if text.lower().endswith("car") else []),
        change="ends",
        dated=True,
    ),
    rule(
        "phone",
        "have,do",
        r"(?:(?:own|got|bought|have|use|using|purchased|upgraded to|switched to|ordered|just bought"
        r"|picked up|gotten|got myself|moved to|carry|(?>swapped [\w ]{2,20}? for)) )*(?:an? |my |the )(?P<v>.+)",
        _phone,
        dated=True,
        confidence=0.85,
    ),
    rule("phone", "am", r"(?:using|on|running|an?) (?:an? )?(?P<v>.+)", lambda text: _phone(text), confidence=0.7),
    rule(
        "phone",
        "my",
        r"(?:new |current |mobile |cell ?)?phone(?:'s| is|:)(?: now)? (?:an? |the )?(?P<v>(?:(?-i:[A-Z])|i[PO]).+)",
        _new_phone,
        confidence=0.85,
    ),
    rule(
        "phone",
        "my",
        r"(?:new |current |mobile |cell ?|phone |work )*number(?:'s| is"
        r"|:)(?: now)? (?P<v>\+?[\d][\d ()-]{5,18}\d)",
        values.verbatim,
        confidence=0.9,
    ),
    rule(
        "phone",
        "have,do",
        r"(?:bought|got|ordered)(?: myself)? a new phone(?: [\w ]{2,20}?)?(?:,|:| -) (?:an? |the )?(?P<v>.+)",
        _new_phone,
        dated=True,
    ),
    rule(
        "phone",
        "do,have",
        r"(?:sold|lost|broke|replaced) my (?P<v>.+?)(?= for\b| to\b|$|[,.;]| last| in\b| yesterday)",
        lambda text: _phone(text),
        change="ends",
        dated=True,
    ),
    rule(
        "possession",
        "have,do",
        r"(?:(?:got|own|have|bought|just bought|purchased|inherited|recently bought|ordered|bought myself"
        r"|got myself|treated myself to) )*(?:an? |my own |our own |two |three )(?P<v>.+)",
        _owned,
        dated=True,
        confidence=0.75,
    ),
    rule("possession", "do", r"own (?:an? |two |three |the |my own |some )(?P<v>.+)", _anything_owned, confidence=0.8),
    rule(
        "possession",
        "do,have",
        r"(?:sold|got rid of|gave away|donated|lost) (?:my|our) (?P<v>.+?)(?= for\b| to\b|$|[,.;]| last"
        r"| in\b| yesterday| this)",
        _owned,
        change="ends",
        dated=True,
    ),
]
