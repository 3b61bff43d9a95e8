"""The words and patterns with which English names dates and periods."""

from __future__ import annotations

import re
from collections.abc import Iterable


def any_of(words: Iterable[str]) -> str:
    """Returns a pattern for any of the words, the longest first, so that "sept" is not matched as "sep"."""
    return "|".join(sorted(words, key=len, reverse=True))


def words_of(text: str) -> frozenset[str]:
    """Returns the words of a space-separated list."""
    return frozenset(text.split())


def numbered(text: str, first: int = 1) -> dict[str, int]:
    """Numbers the words of a list; words joined by a slash share a number."""
    return {name: number for number, names in enumerate(text.split(), first) for name in names.split("/")}


# Each character maps to one character, so that positions in the plain text are positions in the query.
PLAIN = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ’‘–—−", "abcdefghijklmnopqrstuvwxyz''---")
WORD = re.compile(r"\b(?:[a-z]+|[0-9]+)")

SURE_MONTHS = words_of("january february july september october november december")
DOUBTFUL = words_of("may march august spring fall")
MONTHS = numbered(
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep october/oct"
    " november/nov december/dec"
)
WEEKDAYS = numbered(
    "monday/mon tuesday/tues/tue wednesday/wed thursday/thurs/thur/thu friday/fri saturday/sat sunday/sun", first=0
)
NUMBERS = numbered(
    "a/an/one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
NUMBERS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
VAGUE = {"couple": (2, 3), "few": (2, 5), "several": (3, 8)}
ORDINALS = numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth"
)
PLACES = numbered("first/1st second/2nd third/3rd fourth/4th fifth/5th", first=0) | {"last": -1, "final": -1}
PARTS = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}
PARTS |= {"beginning": (0.0, 0.25), "start": (0.0, 0.25), "middle": (0.3, 0.7), "end": (0.75, 1.0)}
TODAYS = {"today": 0, "now": 0, "present": 0, "yesterday": -1, "tomorrow": 1}
PARENTS = words_of("week month year")
WHOLES = words_of("week month quarter season year decade")
WHICHES = {"last": "last", "past": "last", "previous": "last", "this": "this", "current": "this"}
WHICHES |= {"next": "next", "coming": "next", "upcoming": "next"}
EDGES = {"since": "since", "starting": "since", "beginning": "since", "before": "before", "prior": "before"}
EDGES |= {"after": "after", "until": "until", "till": "until", "by": "until"}

DETERMINERS = words_of("the my our his her their your")
OWNERS = DETERMINERS - {"the"}
EVERY = words_of("every each")
NO_WEEKDAY = EVERY | words_of(
    "a any most other black good cyber ash easter palm holy fat giving super ruby freaky casual taco"
)
BEFORE_PERSON = words_of(
    "did does do is was are were has had have will would can could should with for to about and or ask asked tell told"
    " meet met call called named name love like see saw know from of by aunt sister mom friend"
)
BEFORE_VERB = words_of("may might will would can could should must to did does it")
WHICH_CUES = words_of("last this next")
MOMENTS = words_of("since before after until around list")
MONTH_CUES = words_of("in during throughout last next part range")
SEASON_CUES = MONTH_CUES | MOMENTS | words_of("over this")
HOLIDAY_CUES = SEASON_CUES | words_of("on at for from")
YEAR_CUES = words_of("in of during throughout from since before after until part range list parent")
WEEKDAY_CUES = WHICH_CUES | words_of("on since before after until")
DAY_CUES = words_of("on since before after until part range")
ENDS = words_of("range after")

UNIT_NAMES = "minute|hour|day|week|fortnight|month|year|decade"
COUNT = rf"(?:[0-9]{{1,4}}|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several|{any_of(NUMBERS)})"
SUFFIX = "(?:st|nd|rd|th)"
START = r"(?<![\w.,:/$€£#-])"
YEAR_NUMBER = "(?:19|20)[0-9]{2}"

LEAD = re.compile(r"(in|on|during|over|throughout|around|at|for|of|from)\s+")
EDGE = re.compile(
    r"(?:ever\s+)?(since|starting|beginning(?=\s+(?:in|on|from)\b)|before|prior(?=\s+to\b)|after|until|till|by)"
    r"(?:\s+(?:to|in|on|from|at|around|about))?\s+"
)
BETWEEN = re.compile(r"between\s+")
AND = re.compile(r"\s+(?:and|to)\s+|\s*-\s*")
TO = re.compile(r"\s+(?:to|through|thru|until|till)\s+|\s*-\s*")
ALSO = re.compile(r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+(?:in\s+)?")
ONWARD = re.compile(r"\s+(?:onwards?|forward|on(?=\s*(?:$|[?.!,;])))")
THE = re.compile(rf"(?:{any_of(DETERMINERS)})\s+")
LINK = re.compile(r"(?:\s*,\s*|\s+\(?|-)(?:(of|in)\s+)?'?")
INSIDE = re.compile(r",?\s+(in|on|at|around|during|over)\s+")
HOURS_AFTER = re.compile(r"\s+(morning|afternoon|evening|night)\b")
OF = re.compile(r"\s+of\b")
NOT_ROLLING = re.compile(r"\s+(?:of|ago)\b")
PLACE = re.compile(r"\s+(?:at|in|as|with)\b")

TODAY = re.compile(r"(today|tonight|yesterday|tomorrow|now|present)\b")
MORNING = re.compile(r"(this|last)\s+(morning|afternoon|evening|night)\b(?!\s+of\b)")
QUANTITY = re.compile(
    rf"(?:(about|roughly|approximately|nearly|almost|maybe|half)\s+)?{START}({COUNT})(?:(?:\s*-\s*|\s+(?:or|to)\s+)({COUNT}))?"
    rf"\s+({UNIT_NAMES})s?\b"
)
AGO = re.compile(r"\s+(?:ago(?:\s+(today))?|back(?=\s*(?:$|[?.!,;])))\b")
AWAY = re.compile(r"\s+(before|after|from(?=\s+(?:now|today|tomorrow)\b))\s+")
WHICH = re.compile(r"(?:(this\s+|these\s+)?(last|past|previous|next|coming|upcoming)|(this|current))\s+")
UNITS = re.compile(rf"(?!an?\s)({COUNT})\s+({UNIT_NAMES})s?\b")
UNIT = re.compile(r"(weekend|week|month|quarter|year)\b")
BESIDE = re.compile(
    r"(?:last\s+(?=\w+\s+before\b))?(day|night|morning|afternoon|evening|weekend|week|month|year)\s+(before|after|of)\s+"
)
BEFORE_LAST = re.compile(r"(weekend|week|month|quarter|year)\s+before\s+last\b")
WEEKEND = re.compile(r"weekend\b")
PART = re.compile(r"(early|mid|late)(?:\s+(?:in|on|part\s+of))?[\s-]\s*|(beginning|start|middle|end)\s+of\s+")
ORDINAL = re.compile(
    rf"({any_of(PLACES)})\s+(?:({COUNT})\s+)?(day|weekend|week|month|quarter|half|"
    rf"{any_of(name for name in WEEKDAYS if name.endswith('day'))})s?\s+(?:of|in)\s+"
)
MONTH = re.compile(rf"({any_of(MONTHS)})\b(?:\.(?=\s*[0-9]))?")
MONTH_WORDS = any_of(MONTHS)
WEEKDAY = re.compile(rf"({any_of(WEEKDAYS)})\b(?!\s+(?:mornings|afternoons|evenings|nights)\b)")
BEFORE_DATE = re.compile(r",?\s+")
SEASON = re.compile(r"(spring|summer|autumn|fall|winter)\b(?!\s+of\s+(?!['0-9]|(?:last|this|next)\s+year\b))")
QUARTER = re.compile(r"q([1-4])\b")
NTH = re.compile(rf"{START}([0-9]{{1,2}}){SUFFIX}\b")
YEAR_FIRST = re.compile(rf"{START}({YEAR_NUMBER})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
YEAR_MONTH = re.compile(rf"{START}({YEAR_NUMBER})[-/]([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
YEAR_LAST = re.compile(
    rf"{START}([0-9]{{1,2}})([-/.])([0-9]{{1,2}})\2({YEAR_NUMBER}|(?<=/)[0-9]{{2}})(?![0-9]|[-/.][0-9])"
)
SLASHED = re.compile(rf"{START}([0-9]{{1,2}})/([0-9]{{1,2}})(?![0-9]|[-/.][0-9])")
YEAR = re.compile(rf"(?<![\w.:/$€£#])(?:({YEAR_NUMBER})(s)?|(?<=')([0-9]{{2}}))(?!\w|[.,:/][0-9]|-[0-9]{{1,2}}\b|\s*%)")
THE_YEAR = re.compile(rf"year\s+({YEAR_NUMBER})\b")

CLAUSE = re.compile(
    r"\s*(?:$|[?.!,;:)\]\"…])|\s+(?:-|and(?!\s+(?:i|me|my|her|his)\b)|or|but|i|i'm|i've|we|he|she|they|you|it|the|my|our|his"
    r"|her|their|your|a|an|that|this|when|where|what|who|why|how|which|while|because|so|if|then|for|with|at|on|in|from"
    r"|about|as|last|until)(?![\w'])"
)
END = re.compile(r"\s*(?:$|[?.!,;:)])")
NOUN = re.compile(r"\s+[a-z]{3}")
VERB = re.compile(
    r"\s+(?:be|have|not|also|well|even|still|never|or|only|need|want|seem|help|cause|take|make|get|go|come|look|lead"
    r"|affect|contain|include|require|become|happen|know|say|think|like|feel|work|find|use|end|start|change)\b"
)
# Matched against the query as written: a capitalised name is not a count of things.
COUNTED = re.compile(
    r"\s+(?:people|(?!(?:is|was|has|does|as|this|his|its|us|vs|versus|plus|always|perhaps|across|towards)\b)[a-z]+s)\b"
)
MEASURED = re.compile(
    r"\s+(?:people|dollars|euros|pounds|usd|eur|percent|km|miles|meters|metres|feet|kg|grams|calories|kcal|steps|words|points"
    r"|pieces|copies|users|followers|votes|units|pages|photos|minutes|hours|days|weeks|months|years|pixels|bits|bytes|mb|gb)\b"
)
DAY_AFTER = re.compile(rf"\s+(?:the\s+)?([0-9]{{1,2}})({SUFFIX})?(?![\w:/%]|\.[0-9]|,[0-9]{{3}}\b|-[0-9])")
DAYS_AFTER = re.compile(
    rf"\s+([0-9]{{1,2}})({SUFFIX})?(?:\s*-\s*|\s+(?:to|through|and)\s+)([0-9]{{1,2}})({SUFFIX})?"
    rf"(?=,?\s*{YEAR_NUMBER}\b|{CLAUSE.pattern})"
)
DAY_MONTH = re.compile(
    rf"{START}([0-9]{{1,2}}|{any_of(ORDINALS)})({SUFFIX})?(?:(?:\s*-\s*|\s+(?:to|and)\s+)([0-9]{{1,2}}){SUFFIX}?)?"
    rf"(?:\s+|-)(of\s+)?({MONTH_WORDS})\b"
)
