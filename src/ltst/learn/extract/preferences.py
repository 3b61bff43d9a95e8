"""How the user wants things: preferences by topic, and standing instructions in their own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ltst.learn.extract import values, words
from ltst.learn.extract.values import Reader
from ltst.records import Claim

_TYPES = {"code_style": "coding", "programming_language": "coding", "units": "general", "theme": "general"}
_ANSWERS = (
    r"(?:answers?|replies|reply|responses?|explanations?|messages|output|texts?|summaries|emails?"
    r"|things|stuff|everything)"
)
_YOURS = rf"(?:(?:all |all of )?(?:your|the|my|any) )?{_ANSWERS}"
_LENGTHS = (
    r"(?:very |really |super |nice and |more |much |a bit |quite |fairly |as )*(?:short(?:er)?|brief(?:er)?"
    r"|concise|long(?:er)?|detailed|thorough|in-depth|succinct|terse|to the point|compact|crisp"
    r"|comprehensive|punchy|tight|under \w+ (?:words|sentences|lines|paragraphs)|snappy|minimal"
    r"|one[- ]line|one sentence|(?:one|two|three|1|2|3)[- ](?:sentence|paragraph|line)s?)(?:(?:,| and"
    r"|, and) (?:short|brief|concise|long|detailed|thorough|to the point|simple|sweet|clear|in-depth"
    r"|crisp))*"
)
_TONES = (
    r"(?:(?:more|less|very|a bit more|a little more|a bit less|a bit|super|really|completely"
    r"|brutally) )?(?:formal|informal|casual|friendly|friendlier|polite|professional|playful|humorous"
    r"|funny|serious|neutral|direct|blunt|honest|encouraging|warm|warmer|gentle|gentler|kind"
    r"|sarcastic|enthusiastic|cheerful|chatty|relaxed|patient|empathetic|straightforward|critical"
    r"|upbeat|conversational|matter-of-fact|supportive|candid|harsh|strict|respectful|cheeky)"
)
_FORMATS = (
    r"(?:bullet(?: |-)?points?|bullets|bullet lists?|bulleted lists?|numbered lists?|numbered steps"
    r"|markdown|tables?|plain text|emojis?|emoji|headings?|headers?|bold(?: text)?|lists?|(?:full "
    r"|short )?paragraphs|prose|code blocks|em dashes|json|latex|html|exclamation marks|all caps"
    r"|italics|footnotes|yaml|csv|full sentences|hashtags|asterisks)"
)
_CODE = (
    r"(?:tabs(?:, not spaces| over spaces| instead of spaces| not spaces)?|spaces(?:, not tabs"
    r"| over tabs| instead of tabs)?|(?:\w+|\d)[- ]spaces?(?: indentation| indents?)?|type hints?"
    r"|type annotations|docstrings|snake_case(?: names)?|camelcase(?: names)?|semicolons"
    r"|single quotes|double quotes|trailing commas|comments|f-strings|async/await|functional style"
    r"|early returns|const|dataclasses|pep ?8|black(?: formatting)?|arrow functions"
    r"|list comprehensions|google style|descriptive (?:variable )?names|unit tests|strict mode"
    r"|pathlib|composition over inheritance|guard clauses|descriptive variable names|tests"
    r"|inline comments|one-liners|classes|semi-colons)"
)
_UNITS = (
    r"(?:metric|imperial|si|celsius|fahrenheit|kilomet(?:er|re)s?|kms?|miles|kilograms?|kilos|kg"
    r"|pounds|lbs|euros?|dollars|grams|ounces|litres|liters|24-hour(?: clock| time)?|12-hour(?: clock"
    r"| time)?|24h|the 24-hour clock|feet and inches|centimet(?:er|re)s|cups|stone)"
)
_THEMES = r"(?:dark|light|night|high[- ]contrast)[- ](?:mode|theme)"
_LANGUAGE = "|".join(sorted((re.escape(each) for each in words.LANGUAGES), key=len, reverse=True))
_PROGRAMMING = "|".join(sorted((re.escape(each) for each in words.PROGRAMMING), key=len, reverse=True))
# How a request begins; the rest of the pattern is what is wanted.
_ASKED = (
    r"(?:(?:please|pls|kindly|also|and|but|just|ok|okay|so|hey|again|from now on|in future"
    r"|in the future|going forward|always|for me|for (?:all )?(?:future )?(?:answers"
    r"|replies|responses|code|coding)|in (?:your|all your|all) (?:answers|replies|responses)"
    r"|if possible|i (?:want|need) you to|i'd (?:like|love|prefer) you to|i would (?:like|love"
    r"|prefer) you to|i'd (?:like|prefer) (?:it )?if you(?:'d)?"
    r"|could you|can you|would you|you should|you can|you may|you must|make sure (?:you|to)|try to"
    r"|remember to|feel free to|do)[,:]? )*"
)
# Once: what follows "when" may be anything, and twice anything can be told apart in too many ways.
_PLEASE = (
    rf"{_ASKED}(?:when (?:you (?:answer|reply|respond|write|explain)|answering|replying|responding|writing)"
    rf"[\w ]{{0,20}}[,:]? {_ASKED})?"
)


@dataclass(frozen=True, slots=True)
class Preference:
    """How one wish is said; `explicit` when it is asked for and not only hinted at."""

    key: str
    pattern: re.Pattern[str]
    reader: Reader
    explicit: bool


def _wish(key: str, pattern: str, reader: Reader = lambda text: [text.strip()], *, explicit: bool = True) -> Preference:
    return Preference(key, re.compile(pattern, re.I), reader, explicit)


def _no(text: str) -> list[str]:
    return [f"no {text.strip().lower()}"] if text else []


_known_programming = values.member(words.PROGRAMMING)


def _programming(text: str) -> list[str]:
    return _known_programming(text)


def _capital_programming(text: str) -> list[str]:
    """Go and R and C are languages; to go and to see are not."""
    found = _programming(text)
    return found if found and (len(found[0]) > 2 or found[0][0].isupper()) else []


def _name_to_use(text: str) -> list[str]:
    found = values.person(text)
    if found:
        return found
    value = values.cut(text)
    bad = re.match(
        r"(?:a|an|the|when|if|back|later|tomorrow|today|at|on|by|in|crazy|old|maybe|what|out|names?|boss"
        r"|stupid|cynical|picky|they|them|he|she|him|biased|lazy|old-fashioned|paranoid|weird|whatever"
        r"|anything|anytime|sometime|whenever|soon|it|that|this|up|now|ishmael|right|again|\w+ly)\b",
        text,
        re.I,
    )
    return [value] if value and not bad and len(value.split()) == 1 and value.isalpha() else []


def _length(text: str) -> list[str]:
    return [re.sub(r"^(?:nice and|a bit|quite|fairly|as) ", "", text.strip(), flags=re.I)]


_I_WANT = (
    r"(?:i (?:(?:really|much|strongly|generally|usually|definitely|always|would|'d|tend to|still|also"
    r"|only) )*(?:prefer|want)|i'd (?:prefer|like|rather (?:have|see))|i would (?:prefer|like)"
    r"|my preference is(?: for)?|i'm more of an?)"
)
_I_LIKE = (
    r"(?:i (?:(?:usually|generally|really|always|tend to|mostly|do|kind of|often|also) )*(?:like|love"
    r"|enjoy|use|work in|favou?r|lean towards?))"
)
PREFERENCES: list[Preference] = [
    _wish("address_as", rf"{_PLEASE}(?:call|address|refer to) me (?:as |by (?:my name, )?)?(?P<v>.+)", _name_to_use),
    _wish(
        "address_as",
        r"(?:.*\b(?:seriously|really|please|just|so|but|and)[,:]? )?(?:you (?:can|may"
        r"|should) )?(?:just )?call me (?P<v>(?-i:[A-Z])\w+)",
        _name_to_use,
    ),
    _wish(
        "address_as",
        r"i(?:'d)? (?:prefer|like|want|rather|would like|would prefer) (?:to be (?:called|addressed as)"
        r"|being called) (?P<v>.+)",
        _name_to_use,
    ),
    _wish("address_as", r"i(?:'d)? (?:prefer|like|want) (?:you to call me|when you call me) (?P<v>.+)", _name_to_use),
    _wish(
        "answer_length", rf"{_PLEASE}(?:keep|make|give|write)(?: me)? {_YOURS}(?: to me)? (?P<v>{_LENGTHS})\b", _length
    ),
    _wish(
        "answer_length",
        rf"{_PLEASE}(?:give(?: me)?|write|use|provide|stick to|i want"
        rf"|send) (?:only )?(?P<v>{_LENGTHS}) {_ANSWERS}\b(?! (?:to|of|about|for|on) (?:this|that|the|my"
        rf"|these))",
        _length,
    ),
    _wish(
        "answer_length",
        rf"{_PLEASE}keep (?:it|things) (?P<v>{_LENGTHS}) (?:when you|in your|from now on|always|whenever)\b",
        _length,
    ),
    _wish(
        "answer_length",
        rf"{_PLEASE}(?:be|stay) (?P<v>(?:more |very )?(?:brief|concise|succinct|terse"
        rf"|short(?: and (?:simple|sweet|to the point))?|to the point))(?=$|[,.!]| please| in (?:your|all)"
        rf"| when| with| from now on| always)",
        _length,
    ),
    _wish("answer_length", rf"{_I_WANT} (?:my |your |the )?(?P<v>{_LENGTHS}) {_ANSWERS}\b", _length),
    _wish("answer_length", rf"{_I_WANT} {_YOURS} (?:to be |that are |kept )?(?P<v>{_LENGTHS})\b", _length),
    _wish(
        "answer_length",
        rf"(?P<v>{_LENGTHS}) {_ANSWERS}(?: only)?,? (?:please|are (?:best|better)|from now on|always|work best)\b",
        _length,
    ),
    _wish("answer_length", rf"{_I_LIKE} (?:my |your |the )?(?P<v>{_LENGTHS}) {_ANSWERS}\b", _length, explicit=False),
    _wish("answer_length", rf"{_I_LIKE} {_YOURS} (?:to be |kept )?(?P<v>{_LENGTHS})\b", _length, explicit=False),
    _wish(
        "answer_length",
        rf"{_PLEASE}(?:limit|keep) {_YOURS} (?:to|under|below|within) (?P<v>[\w ]{{2,30}}?(?:sentences?"
        rf"|words|lines|paragraphs?))\b",
    ),
    _wish(
        "answer_language",
        rf"{_PLEASE}(?:(?:always|only) )?(?:answer|reply|respond|speak|talk|write|write back|communicate"
        rf"|chat)(?: to me| with me| me| back)?(?: only| always)? in (?P<v>{_LANGUAGE})\b(?! (?:for"
        rf"|to) (?:this|that|these))",
    ),
    _wish(
        "answer_language",
        rf"{_PLEASE}(?:use|switch to|stick to|speak) (?P<v>{_LANGUAGE})(?=$|[,.!]| (?:please|when|with me"
        rf"|from now on|for|in (?:your|all|our)|only)\b)",
    ),
    _wish("answer_language", rf"{_I_WANT} (?:your |my |all )?(?:{_ANSWERS} )(?:to be )?in (?P<v>{_LANGUAGE})\b"),
    _wish(
        "answer_language",
        rf"{_I_WANT} (?:to (?:speak|chat|talk|be answered|converse|write)(?: with you)? in )(?P<v>{_LANGUAGE})\b",
    ),
    _wish(
        "answer_language",
        rf"{_PLEASE}let's (?:speak|talk|chat|write|continue|switch|do this|communicate)(?: in"
        rf"| to)? (?P<v>{_LANGUAGE})\b",
    ),
    _wish("answer_language", rf"(?P<v>{_LANGUAGE}) (?:only|answers|replies),? please\b"),
    _wish(
        "tone",
        rf"{_PLEASE}(?:be|stay|sound|keep it|keep things|keep the tone|keep your tone|make your tone"
        rf"|act) (?P<v>{_TONES})(?=$|[,.!]| (?:with me|to me|please|in (?:your|all)|when you|and"
        rf"|from now on|always|but|even)\b)",
    ),
    _wish("tone", rf"{_PLEASE}(?:talk|speak|write) to me (?P<v>like an? [\w ]{{3,20}}|as if [\w ]{{3,30}})"),
    _wish(
        "tone",
        rf"(?:i'd (?:prefer|like|love) (?:it )?if you (?:were|could be|would be)|i (?:want"
        rf"|need) you to be) (?P<v>{_TONES})\b",
    ),
    _wish(
        "tone",
        rf"{_PLEASE}(?:use|adopt|keep|take|answer in|reply in|speak in|talk in|maintain"
        rf"|with) (?:an? |your )?(?P<v>{_TONES}) (?:tone|style|voice|manner|way|language)\b",
    ),
    _wish(
        "tone",
        rf"{_I_WANT} (?:you to be |it if you were |an? |your tone to be |the "
        rf"|your )?(?P<v>{_TONES}) ?(?:tone|style|voice|manner|answers|replies|with me|feedback|from you)\b",
    ),
    _wish(
        "tone",
        rf"{_I_LIKE} (?:an? |it when you're |when you are |it when you are )?(?P<v>{_TONES}) (?:tone|style"
        rf"|answers|replies|voice|feedback)\b",
        explicit=False,
    ),
    _wish(
        "tone",
        rf"{_PLEASE}(?:don't|do not|never|stop)(?: ever)? (?:be|being) (?P<v>(?:so |too |that )?{_TONES})\b",
        lambda text: [f"not {text}"],
    ),
    _wish("tone", rf"{_PLEASE}(?:talk|speak|write) (?:to me )?(?P<v>{_TONES}ly)\b"),
    _wish(
        "format",
        rf"{_PLEASE}(?:don't|do not|never|stop|avoid|no more|skip|drop|leave out|without|no|ditch"
        rf"|quit)(?: ever)?(?: use| using| add| adding| put| putting| include| including| the| any| write"
        rf"| writing| send| sending| give me| with)* (?:the |any |so many )?(?P<v>{_FORMATS})\b",
        _no,
    ),
    _wish(
        "format",
        rf"{_PLEASE}(?:use|format (?:your |all |the )?{_ANSWERS} (?:as|with|in|using)|give me|put (?:your"
        rf"|all) {_ANSWERS} in(?:to)?|answer (?:in|with|using)|reply (?:in|with|using)|respond (?:in|with"
        rf"|using)|write (?:in|with|using)|stick to|structure (?:your )?{_ANSWERS} (?:as|with)"
        rf"|present (?:your )?{_ANSWERS} (?:as|in)|add|include|i want|format (?:it|things"
        rf"|everything) (?:as|in|with))(?: more| only)? (?P<v>{_FORMATS})\b",
    ),
    _wish("format", rf"(?P<v>{_FORMATS}) (?:only )?(?:please|from now on|always)\b"),
    _wish("format", r"(?P<v>plain text|markdown|bullet points|json) only\b"),
    _wish(
        "format",
        rf"{_I_WANT} (?:your |my |the )?(?:{_ANSWERS} )?(?:as |in |with |using |to see |to have )?(?P<v>{_FORMATS})\b",
    ),
    _wish(
        "format", rf"{_I_LIKE} (?:my |your |the )?(?:{_ANSWERS} )?(?:as |in |with )?(?P<v>{_FORMATS})\b", explicit=False
    ),
    _wish("format", rf"i (?:don't|do not) (?:like|want|need|enjoy)(?: seeing| any)? (?P<v>{_FORMATS})\b", _no),
    _wish("format", rf"i (?:hate|dislike|can't stand) (?P<v>{_FORMATS}) in\b", _no),
    _wish(
        "units",
        rf"{_PLEASE}(?:use|stick to|switch to|give me|give|work in|convert (?:everything |things )?to"
        rf"|show(?: me)?|write|display|report|answer in|always use|quote)(?: (?:all |the "
        rf"|me )?(?:distances|temperatures|weights|measurements|prices|times|units|everything|amounts"
        rf"|quantities|lengths|recipes?|dates))?(?: in| as| using)? (?:the )?(?P<v>{_UNITS})\b(?! of\b)",
    ),
    _wish(
        "units",
        rf"{_I_WANT} (?:the |my )?(?:(?:distances|temperatures|weights|measurements|prices|times|units"
        rf"|everything|recipes) )?(?:in |to use |using )?(?:the )?(?P<v>{_UNITS})\b(?! of\b)",
    ),
    _wish(
        "units",
        rf"{_I_LIKE} (?:the |my )?(?:(?:distances|temperatures|weights|measurements|recipes) )?(?:in "
        rf"|think in )?(?:the )?(?P<v>{_UNITS}) (?:units|system|measurements)\b",
        explicit=False,
    ),
    _wish("units", rf"i think in (?P<v>{_UNITS})\b", explicit=False),
    _wish(
        "units",
        rf"(?:(?:distances|temperatures|weights|measurements|prices|times|units|everything|recipes|lengths"
        rf"|dates) in )?(?P<v>{_UNITS})(?: units)?,? (?:please|only)\b",
    ),
    _wish(
        "theme",
        rf"(?:{_I_WANT}|{_PLEASE}(?:use|switch to|turn on|enable|set)) (?:everything to |it to |the |a "
        rf"|an |my |everything in |apps in |to |using )*(?P<v>{_THEMES})\b",
    ),
    _wish(
        "theme",
        rf"(?:{_I_LIKE}|i (?:always )?have everything in|i'm a) (?:the |my |everything in )*(?P<v>{_THEMES})\b",
        explicit=False,
    ),
    _wish("theme", rf"(?P<v>{_THEMES}) (?:always|please|everywhere)\b", explicit=True),
    _wish(
        "code_style",
        rf"{_PLEASE}(?:don't|do not|never|no|avoid|skip|stop)(?: use| using| add| adding| put| write"
        rf"| writing)*(?: any)? (?P<v>{_CODE})\b(?! (?:to|in|about) (?:this|that|the (?!code)))",
        _no,
    ),
    _wish(
        "code_style",
        rf"{_PLEASE}(?:always )?(?:use|write|add|include|indent with|indent using|put|stick to|follow"
        rf"|format (?:the |my |all )?code with|prefer|write code with) (?:all |the "
        rf"|only )?(?P<v>{_CODE})(?=$|[,.!]| (?:in|for|please|everywhere|when|and|instead|over|with|on"
        rf"|not)\b)(?! (?:to|in) (?:this|that|the))",
    ),
    _wish("code_style", rf"{_I_WANT} (?:my code with |to use |code with |using )?(?P<v>{_CODE})\b"),
    _wish(
        "code_style",
        rf"{_I_LIKE} (?:my code with |code with )?(?P<v>{_CODE})(?: in|$|[,.!]| for| when| over)",
        explicit=False,
    ),
    _wish("code_style", rf"(?P<v>{_CODE}),? please\b"),
    _wish("code_style", rf"i'd (?:rather|prefer (?:it )?if) you used? (?P<v>{_CODE})\b"),
    _wish(
        "code_style",
        rf"(?:my|our) (?:team|company|project|codebase|repo|code) (?:uses|follows|requires|has) (?P<v>{_CODE})\b",
    ),
    _wish(
        "programming_language",
        rf"{_PLEASE}(?:give|show|write|use|answer|provide)(?: me)?(?: (?:all |your |the |my |any )?(?:code"
        rf"|examples?|snippets?|code examples|code samples|samples|solutions|scripts))(?: to me)? (?:in"
        rf"|using) (?P<v>{_PROGRAMMING})(?![\w+#])(?! (?:that|to|which|for))",
        _capital_programming,
    ),
    _wish(
        "programming_language",
        rf"(?:for (?:code|coding|scripts|programming|scripting|examples|backend"
        rf"|everything)[, ]+)?{_I_WANT} (?:to (?:use|code in|write|program in|work in|work with) "
        rf"|coding in |writing |using |(?:code|examples|snippets|my code|your code"
        rf"|code examples) in )?(?P<v>{_PROGRAMMING})(?![\w+#])",
        _capital_programming,
    ),
    _wish(
        "programming_language",
        rf"(?:all |any )?(?:code|code examples|examples"
        rf"|snippets) in (?P<v>{_PROGRAMMING})(?![\w+#])(?:,? (?:please|only)|$)",
        _capital_programming,
    ),
    _wish(
        "programming_language",
        rf"my (?:preferred|favou?rite) (?:programming |coding )?language is (?P<v>{_PROGRAMMING})(?![\w+#])",
        _capital_programming,
    ),
    _wish(
        "programming_language",
        rf"{_PLEASE}(?:use|stick to|write) (?P<v>{_PROGRAMMING})(?![\w+#]) (?:for (?:code|all|any|my"
        rf"|examples|coding|everything|snippets)|in (?:your|all|examples|code)|unless|by default|when you)",
        _capital_programming,
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?:explain|walk me through|describe|teach|break)(?: me)? (?:things|everything|it all"
        rf"|stuff|concepts|your reasoning|all)(?: down| to me"
        rf"| for me)? ?(?:in )?(?P<v>step[- ]by[- ]step|in (?:more |less |great |full )?detail|(?:more "
        rf"|less |great )detail|simply|in simple terms|simple terms|from scratch|like i'm (?:five|5)"
        rf"|plain english|with examples|layman's terms|in depth)\b",
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?:answer|go|work|think) (?P<v>step[- ]by[- ]step|in (?:more "
        rf"|great )?detail)(?=$|[,.!]| please| always| from now on)",
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?P<v>skip the (?:basics|intro|introduction|preamble|small talk|pleasantries|theory"
        rf"|obvious))(?=$|[,.!]| (?:when|in|please|and|with|every)\b)",
        lambda text: [text.lower()],
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?:don't|do not|no need to) (?:explain|go over|cover|repeat) (?:the )?(?P<v>basics|obvious)\b",
        _no,
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?:keep|make) (?:your |the |all )?explanations (?P<v>(?:very )?(?:simple|high-level"
        rf"|basic|beginner-friendly|technical|detailed|in-depth))\b",
    ),
    _wish(
        "detail",
        rf"{_I_WANT} (?:your |my |the |to see )?(?:an? )?(?P<v>step[- ]by[- ]step|high-level"
        rf"|simple) (?:explanations?|instructions|guides?|overviews?)\b",
    ),
    _wish(
        "detail",
        rf"{_I_LIKE} (?:your |my |the )?(?:an? )?(?P<v>step[- ]by[- ]step|in-depth|high-level"
        rf"|simple) (?:explanations?|instructions|guides?|overviews?)\b",
        explicit=False,
    ),
    _wish(
        "detail",
        rf"{_I_WANT} (?:things |everything |it )?(?:explained |to be explained )(?P<v>step[- ]by[- ]step"
        rf"|simply|in (?:more |great )?detail|in simple terms)\b",
    ),
    _wish(
        "detail",
        rf"{_PLEASE}(?:give|include|provide|add)(?: me)? (?:lots of |plenty of |more "
        rf"|always )?(?P<v>examples|more detail|details|analogies|context)(?= (?:in (?:your|all)"
        rf"|when you|whenever|always|with every)\b)",
    ),
]
_OVER = re.compile(
    r"(?:(?:for|in|at|when)[\w ]{2,20}, )?(?:i (?:(?:really|much|strongly|generally|usually"
    r"|definitely|always|personally|actually|still|also) )*prefer|i'd rather have|i would rather have"
    r"|i'd always choose|i'd pick) (?P<a>.+?) (?:over|to|rather than|instead of|more than|than"
    r"|vs\.?) (?P<b>.+)",
    re.I,
)
_PREFER = re.compile(
    r"i (?:(?:really|much|strongly|generally|usually|definitely|always|personally|actually|still"
    r"|also) )*prefer (?P<a>.+)",
    re.I,
)
# What joins a sentence to the one before, and says nothing by itself.
_JOINED = re.compile(r"^(?:(?:oh|and|but|so|plus|well),? )+(?=i\b|my\b)", re.I)
# Without one of these, no pattern below can match: most sentences end here.
_GATE = re.compile(
    r"\b(?:prefer\w*|preference|rather|call|address|refer|answer\w*|repl(?:y|ies)|respon\w+"
    r"|explanations?|explain\w*|keep|be|stay|tone|talk|speak|write|sound|switch"
    r"|use|using|avoid|stop|skip|no|don't|do not|never|always|drop|without|plain|markdown|json|bullet"
    r"|format|units?|metric|imperial|celsius|fahrenheit|miles|kilomet\w+|euros|dollars|give|show"
    r"|convert|mode|theme"
    r"|break|walk|teach|describe|tabs|spaces|hints|docstrings|please|code|examples|style|want|like"
    r"|uses|indent|add|include"
    r"|future|forward|henceforth|from now|whenever|when|every ?time|each time|any ?time|before|after"
    r"|at the|limit|stick|favou?rite|think|let's|lists?|language|only|everywhere|tables|emojis?|set"
    r"|put|choose|pick)\b",
    re.I,
)
_ONCE = re.compile(
    r"\b(?:this (?:\w+ )?(?:one|time|once|answer|question|email|text|message|paragraph|code|function|file"
    r"|essay|letter|script)|just (?:this )?once|for (?:this|today|now)|(?<!from )today|right now|above|below"
    r"|attached|following|these|that (?:one|last)|the (?:last|previous|next|second|first) (?:one"
    r"|answer|part|question)|it in|for once|in this (?:chat|case|one|function|file))\b",
    re.I,
)
_STANDING = re.compile(
    r"(?:(?:please|pls|ok|okay|and|also|but|hey|so|right|i want you to|i need you to|i'd like you to"
    r"|i would like you to|can you|could you|you should|you must|remember to|remember|make sure you"
    r"|make sure to|just|instruction|rule|note|important)[,:]? )*"
    r"(?:always\b|never\b|from now on\b|from here on|from today on|don't ever\b|do not ever\b"
    r"|don't you ever\b|whenever (?:i|you|we|there|someone|a)\b|every time\b|everytime\b|each time\b"
    r"|any time (?:i|you|we)\b|anytime (?:i|you|we)\b|in (?:the )?future\b|going forward\b"
    r"|henceforth\b|for all future|at the (?:start|end|beginning) of (?:every|each)|before (?:every"
    r"|each)|after (?:every|each)|when(?:ever)? i (?:say|ask|write|type|send|paste|share|mention"
    r"|upload|give|tell)\b.{2,80}, )",
    re.I,
)
_TOLD = re.compile(
    r"\b(?:you|me|my|your|i|please|answer|reply|use|ask|check|remind|cite|add|include|write|explain"
    r"|give|show|start|end|tell|call|mention|assume|suggest|warn|double-check|translate|keep|confirm"
    r"|sign|summari[sz]e|convert|say|send|share|run|put|make|list|offer|avoid|reveal|quote|delete"
    r"|verify|format|provide|begin|greet|finish|apologi[sz]e|recommend|let)\b",
    re.I,
)
_NOT_TOLD = re.compile(
    r"(?:please |and |but |so |ok |okay )*(?:(?:always|never) (?:\w+ing|gonna|there|here|by|in|on|for"
    r"|with|at|up|your|my|room|time|more|going|ready|welcome|remember that)\b|always (?:been|was|had"
    r"|love|thought|wanted|the|a|so|nice|good|happy|great|fun)\b|any ?time you need\b|(?:don't"
    r"|do not) ever (?:quit|give up|forget|lose|change)\b|never (?:mind|say never|been|had|heard"
    r"|thought"
    r"|knew|tried|seen|again|a|the|said|would|could|did|have|again|liked|really|too)\b"
    r"|every ?time (?:i|we|he|she|they|it|the|my|a)\b[^,]*$|every ?time [^,]*, (?:i|it"
    r"|my|we|the|he|she|they|there|a)\b|whenever (?:i|we|my|you)\b[^,]*(?:, (?:i|it|it's|my|we|the|he"
    r"|she|they|there|just let me know|let me know|feel free|i'm|i'll)\b|$)"
    r"|from now on,? (?:you are|you're|i(?! want you| need you|'d like you)|we|my|it|he|she|they|there)\b"
    r"|in (?:the )?future,? (?:i|we|my|i'd|it|the|a|he|she|they|there|there's)\b|going forward,? (?:i"
    r"|we|my|it)\b|each time (?:i|we) [^,]*(?:, (?:i|it|my)\b|$)|any ?time (?:i|we) [^,]*(?:, (?:i|it"
    r"|my)\b|$))",
    re.I,
)


def requests(text: str) -> Iterator[Claim]:
    """The preferences or the instruction in a sentence; a wish for this once is neither."""
    asks = text.endswith("?")
    if (
        not _GATE.search(text)
        or _ONCE.search(text)
        or (asks and not re.match(r"(?:can|could|would|will) you\b", text, re.I))
    ):
        return
    found = [*_preferences(text)]
    yield from found
    if not found and not asks and (standing := instruction(text)):
        yield Claim("instruction", "", standing, confidence=0.85)


def _preferences(text: str) -> Iterator[Claim]:
    keys: set[str] = set()
    text = _JOINED.sub("", text, count=1)
    parts = re.split(
        r"(?:, | - |; |: )(?=(?:and |but |so )?(?:please|no\b|use|give|keep|i\b|i'|don't|call|my|be\b"
        r"|that's))|, (?:and|but) | and (?=(?:use|keep|call|give|don't|no|answer|be|please|never|always"
        r"|i prefer)\b)",
        text[:400],
        flags=re.I,
    )
    for part in [text[:400], *([] if text.endswith("?") else parts[1:])]:
        part = part.strip(" .!?…")
        for claim in (*_topics(part), *_compared(part)):
            if claim.key not in keys and not (claim.key.startswith("prefers_") and keys):
                keys.add(claim.key)
                yield claim


def _topics(text: str) -> Iterator[Claim]:
    for each in PREFERENCES:
        found = each.pattern.match(text)
        for value in each.reader(found["v"]) if found else []:
            yield _preference(each.key, value, each.explicit)
            break


def _compared(text: str) -> Iterator[Claim]:
    """A choice under a key of its own: "I prefer tea to coffee"."""
    if found := _OVER.match(text):
        first, second = values.cut(found["a"]), values.cut(found["b"])
        first = re.split(r" for ", first)[0]
        second = re.split(r" (?:for|on|at|in|when) ", second)[0]
        if _nameable(first) and second and not _VERB.match(second):
            yield from _over(first, second)
        return
    if found := _PREFER.match(text):
        first = re.split(r" (?:for|when|in|at|on|with) ", values.cut(found["a"]))[0]
        if _nameable(first) and not re.match(r"(?:to|it|that|this|not|if|when)\b", first, re.I):
            yield _programmed(first) or _preference(f"prefers_{_snake(first)}", first, True)


def _over(first: str, second: str) -> Iterator[Claim]:
    yield _programmed(first) or _preference(f"prefers_{_snake(first)}", f"{first} over {second}", True)


def _programmed(value: str) -> Claim | None:
    lowered = value.lower()
    if lowered in words.PROGRAMMING and (len(value) > 2 or value[0].isupper()):
        return _preference("programming_language", value, True)
    return None


# "I prefer books to follow along" compares nothing.
_VERB = re.compile(
    r"(?:follow|read|be|attend|join|use|have|get|do|make|see|keep|help|start|go|eat|watch|listen|work|play|travel"
    r"|stay|drink|buy|take|give"
    r"|write|learn|avoid|wear|know|feel|find|sleep)\b",
    re.I,
)
_VAGUE = re.compile(
    r"(?:it|this|that|these|those|you|your|him|her|his|them|their|me|my|not|to|if|when|something"
    r"|anything|things?|one|more|first|second|third|last|latter|former|other|version|option|current"
    r"|previous|shorter|longer)\b",
    re.I,
)


def _nameable(value: str) -> bool:
    return 0 < len(value.split()) <= 4 and not _VAGUE.match(value) and len(value) <= 40


def _snake(value: str) -> str:
    return "_".join(re.findall(r"\w+", value.lower()))


def _preference(key: str, value: str, explicit: bool) -> Claim:
    kind = _TYPES.get(key, "general" if key.startswith("prefers_") else "communication")
    return Claim(
        "preference", key, value, confidence=0.9 if explicit else 0.7, details={"type": kind, "explicit": explicit}
    )


def instruction(text: str) -> str | None:
    """A standing order to the assistant, as it was given."""
    if not _STANDING.match(text) or _NOT_TOLD.match(text) or not _TOLD.search(text) or len(text) > 300:
        return None
    return text.strip(" .!…") if len(text.split()) >= 3 else None
