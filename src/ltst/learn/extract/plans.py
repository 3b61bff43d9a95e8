"""Rules for what is decided and what is aimed at."""

from __future__ import annotations

import re

from ltst.learn.extract import values
from ltst.learn.extract.rules import Rule, rule

_AHEAD = re.compile(
    r"\b(?:tomorrow|tonight|next (?!time|step|level|to\b)\w+|this (?:weekend|month|year|spring|summer"
    r"|fall|autumn|winter"
    r"|coming|\w+day|afternoon|evening)|in (?:a|an|one|two|three|four|five|six|\d{1,2}) (?:day|week"
    r"|month|year)s?|in a few|in a couple"
    r"|(?:in|on|for|at|by|until|from|for the)(?: early| late| mid| the)?(?: (?:first|second|third"
    r"|last|end|beginning|start|middle) of)? ?(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|\d{1,2}(?:st|nd|rd|th)|20\d\d|spring|summer|autumn|fall"
    r"|winter|christmas|easter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december) \d)",
    re.I,
)
_MOVES = (
    r"(?:(?:flying|moving|travell?ing|relocating|heading|going|driving|returning|emigrating|going back"
    r"|moving back|heading back|flying back|flying out) (?:\w+ )?to(?= (?:the|an?|my|our|see|visit"
    r"|(?-i:[A-Z])\w*)\b)|moving (?:house|out|into)\b)"
)
_EVENTS = (
    r"(?:getting married|retiring|graduating|getting (?:a|an|my|our|the) \w+|starting (?:a|an|my|at"
    r"|as|work|school|university|college|uni)|having (?:(?:\w+ )?surgery|a baby|an operation|my|our"
    r"|a party)|expecting|running (?:the|a|my)|leaving|taking (?:the|my|an?) [\w ]+ exam|visiting"
    r"|hosting|throwing|meeting|launching|adopting|buying|attending|seeing|taking|going on|doing"
    r"|presenting|competing|participating|performing|publishing|defending|opening|closing|quitting"
    r"|spending|hiking|turning \d+)\b"
)


def _dated(text: str) -> list[str]:
    """A plan that says when it is."""
    return _plan(text) if _AHEAD.search(text) else []


def _plan(text: str) -> list[str]:
    found = [re.sub(r" (?:for|on|in|at|by|to|from)$", "", each) for each in values.action(text)]
    return (
        found
        if found
        and not re.match(r"(?:it|them|this|that|one|everything)\b", found[0], re.I)
        and not re.search(r"\b(?:last|ago|yesterday|a while back)\b", found[0])
        and not re.match(
            r"(?:going to (?:be|need|try|have to|take a look|say|ask|bed|sleep|work|the (?:gym|store|shop"
            r"|shops|office|supermarket|bank|post office|bathroom|pharmacy|park|movies|cinema|mall"
            r"|grocery store|next|beach|library)\b)|going (?:crazy|mad|insane|through)|heading (?:out"
            r"|to bed))\b",
            found[0],
            re.I,
        )
        else []
    )


def _intention(text: str) -> list[str]:
    """What one is "going to" do: only with a date, since so much else is said in this way."""
    return (
        _dated(re.sub(r"^(?:going to|gonna) ", "", text, flags=re.I))
        if not re.match(
            r"(?:going to|gonna) (?:be|need|try|have|say|ask|take a look|sleep|look|see|think|consider|check"
            r"|talk|work|keep|the|an?|my|our|(?-i:[A-Z])\w+)\b",
            text,
            re.I,
        )
        else []
    )


def _aim(text: str) -> list[str]:
    value = values.action(re.sub(r"^to ", "", text, flags=re.I))
    return (
        value
        if value
        and (len(value[0].split()) > 1 or text.startswith("to "))
        and not re.match(r"(?:this|that|it|here|unclear|simple|the same|not)\b", value[0], re.I)
        else []
    )


_BOOKED = r"(?:booked|bought tickets? (?:for|to)|reserved|scheduled|got tickets (?:for|to))"
_APPOINTMENT = (
    r"(?P<v>(?:(?:an? |my |our |the |another )(?:[\w'-]+ ){0,3})?(?:appointment|interview|exam|surgery"
    r"|wedding|flight|trip|meeting|presentation|deadline|conference|concert|recital|party|operation"
    r"|check-?up|holiday|vacation|reservation|marathon|race|tournament|test|final|gig|show|date"
    r"|reunion)\b.*)"
)
RULES: list[Rule] = [
    rule(
        "plan",
        "am",
        rf"(?P<v>{_MOVES}.+)",
        lambda text: (
            _dated(text)
            or (
                _plan(text)
                if re.match(
                    r"(?:flying|moving|relocating|travell?ing|emigrating|returning) (?:back )?to (?-i:[A-Z])", text
                )
                else []
            )
        ),
        confidence=0.8,
    ),
    rule("plan", "am", rf"(?P<v>{_EVENTS}.*)", _dated, confidence=0.8),
    rule(
        "plan",
        "am",
        r"(?P<v>(?:getting married|retiring|expecting (?:a|our) [\w ]*(?:baby|child|son|daughter|twins)))\b",
        values.verbatim,
        confidence=0.75,
    ),
    rule("plan", "am", r"(?P<v>(?:going to|gonna) .+)", _intention, confidence=0.75),
    rule("plan", "will", rf"be (?P<v>(?:{_MOVES}|{_EVENTS}).*)", _dated, confidence=0.75),
    rule(
        "plan",
        "will",
        r"(?P<v>(?:move|fly|travel|relocate|retire|graduate|get married|start (?:at|my|a|work|school"
        r"|university)|visit|run the|run a|turn \d+|return to|go to|join|attend|have surgery)\b.*)",
        _dated,
        confidence=0.75,
    ),
    rule(
        "plan",
        "do",
        r"(?P<v>(?:start|begin|fly|leave for|graduate|retire|move to|move into|set off) .+)",
        _dated,
        confidence=0.75,
    ),
    rule(
        "plan",
        "have,do",
        rf"{_BOOKED} (?P<v>.+)",
        lambda text: [values.bare(each) for each in _plan(text)],
        confidence=0.8,
    ),
    rule(
        "plan",
        "have,do",
        r"(?:just )?(?:cancel(?:l)?ed|called off) (?:my|our|the) (?P<v>.+)",
        lambda text: [values.bare(values.cut(text))],
        change="ends",
        confidence=0.8,
    ),
    rule(
        "plan",
        "have,do",
        r"(?:signed up for|registered for|entered) (?P<v>.+)",
        lambda text: [values.bare(each) for each in _dated(text)],
        confidence=0.7,
    ),
    rule(
        "plan",
        "have",
        rf"(?:got )?{_APPOINTMENT}",
        lambda text: [values.bare(each) for each in _dated(text)],
        confidence=0.8,
    ),
    rule(
        "plan",
        "my",
        r"(?P<v>(?:[\w'-]+ ){0,2}(?:appointment|interview|exam|surgery|wedding|flight|trip|presentation"
        r"|deadline|concert|graduation|operation|vacation|holiday|defense|thesis defense)) (?:is|will be"
        r"|is scheduled|is coming up|'s)(?: scheduled| set| booked)?(?: for)? .+",
        values.verbatim,
        confidence=0.75,
    ),
    rule(
        "goal",
        "my",
        r"(?:(?:main|big|biggest|long-term|short-term|ultimate|current|next|fitness|career|personal"
        r"|new year's|overall|financial|only) )*(?:goal|aim|target|ambition|objective|resolution"
        r"|new year's resolution)(?: (?:this|for the|for this|for next) \w+| for \d{4}| in life)?(?:'s"
        r"| is|:)(?: currently| now)? (?P<v>.+)",
        _aim,
        confidence=0.9,
    ),
    rule(
        "goal",
        "am",
        r"(?P<v>(?:saving(?: up)?(?: money)? for|saving to|training for|working towards?(?! (?:my|our"
        r"|this|that)\b)) .+)",
        values.action,
        confidence=0.85,
    ),
    rule(
        "goal", "am", r"(?:aiming to|determined to) (?P<v>(?!make|keep|do|get|be\b|overcome).+)", _aim, confidence=0.75
    ),
    rule(
        "goal",
        "other",
        r"one of my (?:\w+ )?(?:goals|aims|ambitions|targets|resolutions)(?: [\w ]{2,15})? is (?P<v>.+)",
        _aim,
        confidence=0.85,
    ),
    rule(
        "goal",
        "am",
        r"(?:trying to|working on|hoping to) (?P<v>(?:lose (?:weight|\d+)|quit smoking|stop smoking"
        r"|get (?:fit|in shape|healthier)|save (?:money|up)|cut (?:down|back|out)|gain (?:weight|muscle)"
        r"|eat (?:healthier|less|better)|run a|become|learn to|drink less|read more|exercise more"
        r"|sleep better|lower my|improve my (?:english|spanish|french|german|fitness|health))\b.*)",
        values.action,
        confidence=0.8,
    ),
    rule("goal", "have", r"(?:set (?:myself )?)?(?:an? |the |my )?goal (?:to|of) (?P<v>.+)", _aim, confidence=0.85),
    rule("goal", "do", r"(?:aim to|am determined to|set (?:myself )?a goal (?:to|of)) (?P<v>.+)", _aim, confidence=0.8),
]
