"""Rules for work, study and what is used for it."""

from __future__ import annotations

import re

from ltst.learn.extract import values, words
from ltst.learn.extract.rules import Rule, rule

_SCHOOL = re.compile(
    r"\b(?:university|college|school|institute|academy|polytechnic|tu|eth|mit|uc|ucl|ucla|nyu|lse"
    r"|epfl|kth|oxford|cambridge|harvard|yale|princeton|stanford|caltech|berkeley|cornell|columbia"
    r"|brown|dartmouth|duke|lyc[ée]e|conservatory|conservatoire|université|universidad|uni)\b",
    re.I,
)


_FLEETING = re.compile(r"\b(?:today|tomorrow|right now|this (?:week|weekend|morning|afternoon)|for an?)\b", re.I)


def _school(text: str) -> list[str]:
    found = values.organisation(text)
    return found if found and _SCHOOL.search(found[0]) else []


def _named_school(text: str) -> list[str]:
    """A school after "study ... at", where any name is one."""
    found = values.PLACE.match(text.strip()[: values.LONGEST])
    return [found[1].strip(" .,")] if found else []


def _subject(text: str) -> list[str]:
    value = re.split(r" (?:at|in|with|for|on|part-time|full-time|through|via|online) ", values.cut(text))[0]
    lowered = value.lower()
    if lowered in words.LANGUAGES or not value or len(value.split()) > 4:
        return []
    known = (
        lowered in words.SUBJECTS
        or lowered.split()[-1] in words.SUBJECTS
        or lowered.endswith(
            (
                "ology",
                "ics",
                "ophy",
                "istry",
                "graphy",
                "science",
                "sciences",
                "engineering",
                "studies",
                "history",
                "management",
                "design",
                "literature",
                "economics",
                "law",
            )
        )
    )
    return [value] if known else []


def _any_subject(text: str) -> list[str]:
    value = re.split(r" (?:at|from|with|for|on|through|via|online|in) ", values.cut(text))[0]
    return [value] if value and len(value.split()) <= 5 else []


_learnable = values.members(words.LANGUAGES, words.INSTRUMENTS, words.TOOLS)
_software = values.members(words.TOOLS)


def _skill(text: str) -> list[str]:
    if re.match(r"(?:my|your|our|his|her|their) ", text, re.I):
        return []
    value = re.sub(r"^(?:how )?to (?:play (?:the )?|speak |use )?", "", text, flags=re.I)
    language = _learnable(value)
    if language:
        return language
    value = values.cut(value)
    known = re.match(r"(?!about\b|from\b|that\b|more\b|so\b|a lot|new things|the ropes|by\b)[\w'&+#. -]+$", value)
    return [value] if known and 0 < len(value.split()) <= 4 and not values.PRONOUNS.match(value) else []


def _lessons(text: str) -> list[str]:
    found = re.match(
        r"(?:(?:weekly|evening|online|some|private|beginner|intensive|an?"
        r"|my) )*([\w +#-]{2,30}?) (?:lessons?|classes|class|course)\b",
        text,
        re.I,
    )
    if found and re.search(
        r"\b(?:it|them|to|for|on|in|of|one|two|three|completed|schedule|all|many|several|no|been|had"
        r"|zumba|spin|yoga|pilates|fitness|him|her)\b",
        found[1],
        re.I,
    ):
        return []
    return (
        [found[1]]
        if found
        and found[1].lower()
        not in ("online", "my", "a", "first", "the", "new", "fitness", "exercise", "gym", "group", "language exchange")
        else []
    )


def _language_course(text: str) -> list[str]:
    """A language that a course is in; other courses say more of what they are about."""
    return [each for each in _lessons(text) if each.lower() in words.LANGUAGES]


def _tools(text: str) -> list[str]:
    """Software: known, or written with a capital where it is used for something."""
    known = _software(text)
    if known:
        return [each for each in known if each.lower() not in _AMBIGUOUS or each[0].isupper() or len(each) > 5]
    return []


_AMBIGUOUS = words.listed("""
    word, teams, go, r, c, spring, express, bun, things, fish, arch, edge, brave, signal, swift, dart, rust,
    react, excel, maya, sketch, cursor, linear, notion, unity, assembly, node, zoom, slack, outlook, safari,
    chrome, windows, gemini, discord, spark, claude, sas, sass, looker, cypress, obs, make, sublime, zig, julia,
    ruby, perl
""")


def _app(text: str) -> list[str]:
    """A program by its name, where the sentence leaves no doubt that it is one."""
    known = _tools(text)
    if known:
        return known
    found = re.match(r"(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z0-9])[\w.+#-]*){0,2}", text)
    if not found or found[0].lower() in words.NOT_NAMES or found[0].lower() in words.LANGUAGES:
        return []
    return [found[0].rstrip(".")]


def _field(text: str) -> list[str]:
    value = values.cut(text)
    lowered = value.lower()
    if value == "it":
        return []
    return (
        [value]
        if lowered in words.FIELDS or f"the {lowered}" in words.FIELDS or lowered.endswith((" industry", " sector"))
        else []
    )


def _title(text: str) -> list[str]:
    """A job title where the sentence says that it is one."""
    value = values.cut(text)
    value = (
        value
        if re.search(r"^\w+ing\b|\b(?:head|director|vp|manager|chief|professor) of\b", value, re.I)
        else values.ROLE_END.split(value)[0]
    )
    bad = re.match(
        r"(?:to|very|so|not|too|really|pretty|killing|going|making|stressful|boring|great|good|hard|hell"
        r"|safe|secure|in|at|remote|hybrid|more|keeping|driving|getting|fun)\b",
        value,
        re.I,
    )
    return [value] if value and not bad and len(value.split()) <= 6 else []


def _the_role(text: str) -> list[str]:
    found = re.match(
        r"(?:the |an? )?((?:deputy |assistant |vice |senior |lead |co-?|acting )*(?:ceo|cto|cfo|coo|cmo"
        r"|cio|founder|co-?founder|owner|head(?: of [\w ]{2,30})?|director(?: of [\w ]{2,30})?|manager"
        r"|principal|president|head(?:teacher|master|mistress)|lead [\w ]{3,20}|chief [\w ]{3,20}|editor"
        r"|headteacher|deputy head))(?= of (?:(?-i:[A-Z])|an?\b|the\b|my\b|our\b)| (?:at|for|in)\b|$"
        r"|[,.!])",
        text,
        re.I,
    )
    return [found[1]] if found else []


def _by_commute(text: str) -> list[str]:
    value = values.cut(text)
    value = re.split(r" to | in | into | from | each | via ", value)[0]
    return [value] if value and len(value.split()) <= 5 else []


def _employer(text: str) -> list[str]:
    found = (
        values.organisation(text)
        if not re.match(r"(?:an?|the) (?:[\w-]+ )?(?:gym|club|choir|band)\b", text, re.I)
        else []
    )
    return (
        []
        if not found or re.match(r"(?:home|night|nights|Home|Monday|Mondays|Christmas|Starbucks today)\b", found[0])
        else found
    )


def _with_role(text: str) -> list[str]:
    """The company of "I'm a nurse at Mercy Hospital"."""
    found = re.match(r"((?:an? |the )[\w' -]{2,50}?) (?:at|for|with) ((?-i:[A-Z]|the [A-Z]|an? ).+)", text, re.I)
    if not found or not (values.occupation(found[1]) or _the_role(found[1])) or "student" in found[1]:
        return []
    return _employer(found[2])


_WORKPLACE = r"(?:at|for)"
_HOW = (
    r"(?: full[- ]time| part[- ]time| remotely| mostly| freelance| nights| days| shifts| weekends| here| there"
    r"| \w+ days a week)*"
)
RULES: list[Rule] = [
    rule(
        "job",
        "am",
        r"(?:(?:now|currently|working as|employed as|training as|self-employed as) )*(?P<v>(?:an? "
        r"|freelance |retired )?.+)",
        lambda text: (
            values.occupation(text)
            if re.match(r"(?:an? |freelance |self-employed |retired |working as |employed as )", text, re.I)
            else []
        ),
    ),
    rule(
        "job",
        "am",
        r"(?:working|employed|hired|training|qualified|practicing|practising) as (?:an? )?(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule("job", "am", r"(?P<v>.+)", _the_role),
    rule(
        "job",
        "am",
        r"(?P<v>retired|unemployed|self-employed|between jobs)(?=$|[,.;!]| and\b| now\b| but\b| so\b| at\b)",
        confidence=0.7,
    ),
    rule(
        "job",
        "do",
        rf"(?:work|working|worked|freelance|freelancing){_HOW}(?: in [\w ]{{2,20}}{_HOW})? as (?:an? |the )?(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule("job", "do", r"(?:work|working) (?:mostly |mainly )?in (?P<v>.+)", _field, confidence=0.7),
    rule("job", "am", r"(?:working )?in (?P<v>.+)", _field, confidence=0.7),
    rule(
        "job",
        "have",
        r"(?:been (?:(?:working|employed) as )?|worked as )(?:an? |the )(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "job",
        "have,do",
        r"(?:got|landed|found|accepted|took|started|begun|began|been offered|been given|secured) (?:an? "
        r"|my |the )?(?:new |first |dream )?(?:job|position|role|work|gig)(?: (?:at|with"
        r"|for) [\w .&'-]{2,40}?)? as (?:an? |the )?(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "job",
        "have,do,was",
        r"(?:(?:(?:got|been|was|just) )*(?:promoted to|appointed(?: as| to)?|hired as|recruited as)"
        r"|(?:been|was|got) (?:made|named)) (?:be )?(?:an? |the )?(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "job",
        "have,do",
        r"(?:became|become|started(?: out)?(?: working)? as|started work as|qualified as|retrained as"
        r"|joined [\w .&'-]{2,40}? as|took over as) (?:an? |the )?(?P<v>.+)",
        values.occupation,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "job",
        "my",
        r"(?:current |new |day )?(?:job|profession|occupation|role|job title|title|position)(?:'s| is"
        r"|:)(?: now)? (?:(?:being |as |that of )?(?:an? |the )?)(?P<v>.+)",
        _title,
        confidence=0.85,
    ),
    rule(
        "job",
        "do",
        r"(?P<v>teach (?:maths|math|english|chemistry|physics|history|biology|music|art|geography|yoga"
        r"|french|spanish|german|science|pe|kindergarten|[\w ]{3,15} grade))(?= (?:at|in|to)\b|$|[,.])",
    ),
    rule("job", "do", r"(?:do )?(?P<v>[\w ]{3,30}?) for a living\b", values.verbatim),
    rule("job", "do", r"(?:make|earn) (?:my|a) living as (?:an? )?(?P<v>.+)", values.occupation),
    rule(
        "job",
        "do,have",
        r"(?:retired|quit|resigned|stepped down) (?:from my job |my job |my position |from being "
        r"|my role )?as (?:an? |the )?(?P<v>.+)",
        values.occupation,
        change="ends",
        dated=True,
    ),
    rule(
        "job",
        "do,have",
        r"(?:quit|left|lost) my (?P<v>[\w -]{3,30}?) job\b",
        values.occupation,
        change="ends",
        dated=True,
    ),
    rule(
        "employer",
        "do",
        rf"(?:work|working|worked)(?: full[- ]time| part[- ]time| remotely| nights"
        rf"| there)*(?: as [\w ,'-]{{2,40}}?| in [\w ]{{2,30}}?"
        rf"| on [\w ]{{2,30}}?)? {_WORKPLACE} (?P<v>.+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "employer",
        "am",
        r"(?:working|employed)(?: full[- ]time| part[- ]time)*(?: as [\w ,'-]{2,40}?"
        r"| in [\w ]{2,30}?)? (?:at|for|by|with) (?P<v>.+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule("employer", "am", r"(?P<v>(?:an? |the ).+)", _with_role, confidence=0.8),
    rule(
        "employer",
        "am",
        r"(?:the |an? )?(?:ceo|cto|cfo|coo|founder|co-?founder|owner|head|director|president"
        r"|editor) of (?P<v>(?-i:[A-Z]|the [A-Z]).+)",
        _employer,
    ),
    rule(
        "employer",
        "have",
        r"(?:been (?:working|employed)|worked|been an? [\w -]{2,40}?)(?: as [\w ,'-]{2,40}?)? (?:at|for"
        r"|with|by) (?P<v>.+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "employer",
        "have,do",
        r"(?:joined|started (?:working |work |a (?:new )?(?:job|position|role) |my (?:new )?(?:job"
        r"|position|role) )?(?:as [\w ,'-]{2,40}? )?(?:at|with|for)"
        r"|begun (?:working )?at) (?P<v>(?-i:[A-Z]|the [A-Z]|an? ).+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "employer",
        "have",
        r"been at (?P<v>(?-i:[A-Z])[\w .&'-]*?)(?= (?:for \w+ (?:years?|months?)|since)\b)",
        _employer,
        dated=True,
    ),
    rule(
        "employer",
        "do",
        r"do [\w -]{2,30}? (?:for|at) (?P<v>(?-i:[A-Z]).+)",
        lambda text: [] if text.split(" ")[0].lower() in words.NOT_NAMES else _employer(text),
        confidence=0.7,
    ),
    rule(
        "employer",
        "am",
        r"(?:an intern|interning|doing an internship|a trainee|contracting|consulting) (?:at|for|with) (?P<v>.+)",
        _employer,
        dated=False,
    ),
    rule(
        "employer",
        "am",
        r"(?:on|in|part of|with) the [\w -]{2,25} (?:team|department|desk|division) (?:at|of) (?P<v>(?-i:[A-Z]).+)",
        _employer,
    ),
    rule(
        "employer",
        "do,have",
        r"(?:handed|given|put|gave) in (?:my|our) (?:notice|resignation) (?:at|to) (?P<v>.+)",
        _employer,
        change="ends",
        dated=True,
    ),
    rule(
        "employer",
        "have,do,was",
        r"(?:(?:got|been|was) )?(?:hired|recruited|employed)(?: as [\w ,'-]{2,40}?)? (?:by|at) (?P<v>.+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "employer",
        "have,do",
        r"(?:(?:got|landed|found|accepted|took|taken|started|been offered|secured|have|begun) )?(?:an? "
        r"|my |the )?(?:new |first |dream )?(?:job|position|role|gig)(?: as [\w ,'-]{2,40}?)? (?:at|with"
        r"|for) (?P<v>.+)",
        _employer,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "employer",
        "have,do",
        r"accepted (?:an?|the|their) (?:job )?offer (?:from|at|with) (?P<v>.+)",
        _employer,
        dated=True,
    ),
    rule(
        "employer",
        "have,do",
        r"(?:founded|co-?founded|own and run"
        r"|run) (?:an? [\w -]{2,30} called )?(?P<v>(?-i:[A-Z])[\w' &-]+)(?=$|[,.]| in\b)",
        lambda text: [] if text.lower() in words.TOOLS or values.cut(text).lower() in words.TOOLS else _employer(text),
        dated=True,
        confidence=0.6,
    ),
    rule(
        "employer",
        "my",
        r"(?:current |new |own )?(?:employer|company|workplace|firm|startup|business)(?:'s| is"
        r"|:)(?: now)?(?: called| named)? (?P<v>(?-i:[A-Z]|the [A-Z]).+)",
        _employer,
        confidence=0.9,
    ),
    rule(
        "employer",
        "other",
        r"the (?:company|firm|place|startup|business) (?:that )?I (?:work (?:for|at)|founded|run)(?:'s"
        r"| is)(?: called)? (?P<v>.+)",
        _employer,
    ),
    rule(
        "employer",
        "do,have,was",
        r"(?:(?:got|was|been) )?(?:quit|left|laid off (?:from|by|at)|let go (?:from|by)|fired (?:from|by)"
        r"|resigned from|retired from|made redundant (?:at|by|from))(?: my (?:job|position|role"
        r"|gig) (?:at|with|for))? (?P<v>(?-i:[A-Z]|the [A-Z])(?!.* for (?-i:[A-Z])).+)",
        _employer,
        change="ends",
        dated=True,
        confidence=0.85,
    ),
    rule(
        "employer",
        "do,have",
        r"(?:quit|left|lost|resigned from) my (?:[\w-]+ )?(?:job|position|role|gig) (?:at|with|for) (?P<v>.+)",
        _employer,
        change="ends",
        dated=True,
        confidence=0.9,
    ),
    rule(
        "studies",
        "do",
        r"(?:study|studying|major in|majored in|read|graduated in) (?P<v>.+)",
        _subject,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "studies",
        "am",
        r"(?:currently )?(?:studying(?: for an? [\w' ]{2,20} in)?|majoring in|reading|doing a (?:degree"
        r"|master's|masters|bachelor's|phd|course) in|doing (?:my|an?) (?:phd|master's|masters|bachelor's"
        r"|msc|bsc|ma|ba|mba|degree) in|pursuing (?:an?|my) [\w' ]{2,20} in|taking a degree in|(?:halfway"
        r"|partway|midway) through an? [\w' ]{2,20} in|(?:finishing|completing|starting"
        r"|working on) (?:an?|my) (?:phd|master's|masters|degree|bachelor's|doctorate|msc|bsc) in"
        r"|in the (?:first|second|third|last"
        r"|final) year of an? [\w' ]{2,20} in) (?P<v>.+)",
        _subject,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "studies",
        "have",
        r"(?:an? |my |got an? |got my |just got my |finished my )?(?:degree|bachelor's|bachelors|master's"
        r"|masters|phd|ph\.d\.|doctorate|diploma|bsc|msc|ba|ma|mba|bachelor's degree"
        r"|master's degree)(?: degree)? in (?P<v>.+)",
        _any_subject,
        confidence=0.9,
    ),
    rule(
        "studies",
        "do,have",
        r"(?:have |got |hold |earned |graduated with |did |started |finished )(?:an? "
        r"|my )?(?:\w+ )?(?:degree|bachelor's|bachelors|master's|masters|phd|doctorate|diploma|bsc|msc|ba"
        r"|ma)(?: degree)? in (?P<v>.+)",
        _any_subject,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "studies",
        "my",
        r"(?:(?:university |college |undergraduate )?(?:major|degree|field of study|phd|thesis|master's"
        r"|bachelor's|masters))(?:'s| is| was)(?: in| on)? (?P<v>.+)",
        _any_subject,
        confidence=0.85,
    ),
    rule(
        "studies",
        "am",
        r"an? (?:(?:first|second|third|fourth|final)[- ]year |undergraduate |graduate |phd |master's "
        r"|masters |university |college |grad )*(?P<v>[\w ]{2,30}?) (?:student|major|undergrad"
        r"|undergraduate|grad|graduate)\b",
        _subject,
    ),
    rule(
        "studies",
        "am",
        r"an? (?:phd |master's |university |grad(?:uate)? )?(?:student|candidate) (?:of|in) (?P<v>.+)",
        _subject,
    ),
    rule(
        "school", "do", r"(?:study|studying)(?: [\w ]{2,40}?)? at (?P<v>.+)", _named_school, dated=True, confidence=0.9
    ),
    rule(
        "school",
        "am",
        r"(?:studying|majoring in|doing)(?: [\w' ]{2,50}?)? at (?P<v>(?-i:[A-Z]|the [A-Z]).+)",
        _named_school,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "school",
        "am",
        r"(?:enrolled|registered|a student|an? [\w' -]{2,30} student"
        r"|enrolled in an? [\w ]{2,30} (?:program|programme|course)|an? (?:freshman|sophomore|junior"
        r"|senior)|an undergrad|a phd candidate|in my (?:first|second|third|fourth|final) year) (?:at"
        r"|in) (?P<v>.+)",
        _named_school,
        dated=True,
        confidence=0.9,
    ),
    rule(
        "school",
        "am",
        r"(?:at|in) (?P<v>(?:the )?(?-i:[A-Z]).+)",
        lambda text: (
            found
            if (found := _school(text))
            and re.search(r"\b(?:University|College|Institute)\b", found[0])
            and not _FLEETING.search(text)
            else []
        ),
        confidence=0.7,
    ),
    rule(
        "school",
        "do,have",
        r"(?:went|gone) back to (?:school|uni|university|college) at (?P<v>.+)",
        _named_school,
        dated=True,
    ),
    rule("school", "do,have", r"(?:go|attend|went|going) (?:to )?(?P<v>.+)", _school, confidence=0.8),
    rule(
        "school",
        "do,have",
        r"(?:graduated|got my degree|got my (?:\w+) degree)(?: (?:last year|this year"
        r"|in \d{4}))?(?: [\w ]{0,20}?)? from (?P<v>.+)",
        _named_school,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "school", "do,have", r"(?:got into|enrolled (?:at|in)|started at|transferred to) (?P<v>.+)", _school, dated=True
    ),
    rule(
        "school", "my", r"(?:school|university|college|uni|alma mater)(?:'s| is|:)(?: called)? (?P<v>.+)", _named_school
    ),
    rule("school", "do,have", r"(?:dropped out of|left) (?P<v>.+)", _school, change="ends", dated=True),
    rule(
        "commute",
        "do",
        r"(?P<v>(?:bike|cycle|walk|drive|run|bus|skate|jog|scooter))(?: [\w-]+ (?:km|miles|minutes"
        r"|mins))? (?:in )?to (?:work|the office|my office|school|campus|university|uni)\b",
    ),
    rule(
        "commute",
        "do",
        r"(?:commute|get to work|go to work|travel to work|get to the office)(?: to (?:work|the office"
        r"|[\w ]{3,20}?))? (?:by|on|via) (?P<v>(?:[\w-]+ )?(?:train|bus|bike|bicycle|car|metro|subway"
        r"|tram|ferry|foot|scooter|tube|motorbike|motorcycle|boat|e-bike|carpool|underground)\b)",
        _by_commute,
    ),
    rule(
        "commute",
        "do",
        r"(?:take|catch|ride|use) (?:the |a |my )(?!\w+ route)(?P<v>[\w:. -]{2,30}?) (?:in )?to (?:work|the office"
        r"|my office|school|campus|university|uni)\b",
    ),
    rule(
        "commute",
        "do",
        r"commute(?: for)? (?P<v>(?:about |almost )?[\w-]+ (?:minutes|mins|hours?|km|miles)(?: each way| a day)?)",
    ),
    rule(
        "commute",
        "my",
        r"commute(?:'s| is| takes|:)(?: me)?(?: about| around| roughly)? (?P<v>.+)",
        lambda text: (
            [found[0]]
            if (
                found := re.match(
                    r"(?:(?:by )?[\w-]+ )?(?:minutes?|mins|hours?|min|km|miles|bus|train|bike|metro|walk|drive"
                    r"|foot)\b(?: (?:bus|train|bike|metro|walk|drive|ride))*(?: (?:each way|one way|by [\w ]{3,12}"
                    r"|ride|walk|drive|on the [\w ]{3,12}))*",
                    values.bare(text),
                    re.I,
                )
            )
            else []
        ),
    ),
    rule(
        "learning",
        "am",
        r"(?:(?:currently|slowly|finally) )*(?:learning|self-studying|teaching myself|trying to learn"
        r"|taking up)(?: how)?(?: to (?:play|speak|use|code in|program in))? (?P<v>.+)",
        _skill,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "learning",
        "am,have",
        r"(?:been )?(?:studying|practicing|practising) (?P<v>.+)",
        values.members(words.LANGUAGES),
        dated=True,
    ),
    rule(
        "learning", "am", r"(?:brushing up on|improving|working on) (?:my )?(?P<v>.+)", values.members(words.LANGUAGES)
    ),
    rule(
        "learning",
        "do,have",
        r"(?:(?:started|begun|began|been|taken up|took up|picked up|just started) )+(?:learning"
        r"|teaching myself)(?: how)?(?: to (?:play|speak|use))? (?P<v>.+)",
        _skill,
        dated=True,
        confidence=0.85,
    ),
    rule("learning", "do", r"(?:currently )?learning (?P<v>.+)", _skill),
    rule(
        "learning",
        "am,do,have",
        r"(?:(?:started|been) )*(?:taking|take|signed up for|having|have) (?P<v>[\w +#'-]+? (?:lessons?|classes)\b.*)",
        _lessons,
        dated=True,
    ),
    rule("learning", "have", r"(?:got )?(?!been\b)(?P<v>[\w +#'-]+? (?:lessons?|classes)\b.*)", _lessons),
    rule(
        "learning",
        "have,am,do",
        r"(?:enrolled in|signed up for|taking|doing) (?P<v>an? [\w +#'-]+? (?:course|class)\b.*)",
        _language_course,
        dated=True,
    ),
    rule("learning", "am", r"(?:picking up)(?: some| a bit of)? (?P<v>.+)", values.members(words.LANGUAGES)),
    rule(
        "learning",
        "am,do,have",
        r"(?:(?:started|been) )*(?:taking|take|doing|signed up for|enrolled in|started) (?:an? "
        r"|my )?(?:[\w-]+ )?(?:course|class|classes|lessons|workshop) (?:in|on|about) (?P<v>.+)",
        values.thing,
        dated=True,
    ),
    rule(
        "tool",
        "do,am",
        r"(?:use|using|rely on|work with|working with|develop with|working in|work in|code in|coding in"
        r"|program in|programming in|write in|write code in|build with|develop in|developing in|run"
        r"|running|edit in|edit with|design in|deploy on|deploy to|deploy with|develop on"
        r"|work on)(?: mostly| mainly| primarily| only| both)? (?P<v>.+)",
        _tools,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "tool",
        "am",
        r"on (?P<v>linux|windows|macos|mac os|ubuntu|debian|fedora|arch|arch linux|nixos|android|ios)\b(?! phone)",
        confidence=0.75,
    ),
    rule(
        "tool",
        "have",
        r"(?:been )?(?:using|used|coding in|programming in|working with|running) (?P<v>.+)",
        _tools,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "tool",
        "do,have",
        r"(?:ditched|dropped|left|abandoned|traded|swapped|replaced) (?:[\w .+#-]{1,25}?) (?:for|with) (?P<v>.+)",
        _tools,
        dated=True,
        confidence=0.75,
    ),
    rule(
        "tool",
        "do",
        r"(?:use|using) (?P<v>(?-i:[A-Z])[\w.+-]*(?: (?-i:[A-Z])[\w.+-]*)?) (?:for|to|as|at work|on my"
        r"|every day|daily)\b",
        _app,
        confidence=0.7,
    ),
    rule(
        "tool",
        "do",
        r"(?:use|using) (?P<v>(?-i:[A-Z])[\w.+-]*(?: (?-i:[A-Z])[\w.+-]*)?)(?= anymore| any more| any longer|$|,)",
        _app,
        confidence=0.6,
    ),
    rule(
        "tool",
        "do",
        r"(?:do|keep|write|take|manage|track|make|edit|store|organi[sz]e|draw|code|develop|build|design"
        r"|record|plan) (?:all )?(?:of )?(?:my|our|all|the)? ?[\w ]{2,25}? (?:in|with|on"
        r"|using) (?P<v>(?-i:[A-Z]).+)",
        lambda text: _tools(text),
    ),
    rule(
        "tool",
        "do",
        r"(?:do|keep|write|take|manage|track|make|edit|store|organi[sz]e|draw) (?:all )?(?:of )?(?:my"
        r"|our) [\w ]{2,25}? (?:in|with|using) (?P<v>(?-i:[A-Z]).+)",
        _app,
    ),
    rule(
        "tool",
        "do,have",
        r"(?:switched|migrated|moved)(?: everything| all my \w+| our \w+| over| completely"
        r"| back)*(?: from [\w .+#-]{1,25}?)? to (?:using )?(?P<v>.+)",
        _tools,
        dated=True,
        confidence=0.85,
    ),
    rule(
        "tool",
        "do,have",
        r"(?:switched|migrated|moved everything|moved all my \w+)(?: everything"
        r"| over)*(?: from [\w .+#-]{1,25}?)? to (?P<v>(?-i:[A-Z])[\w.+-]*)(?=$|[,.]| last| in| this| for"
        r"| two| a )",
        lambda text: [] if text.lower() in words.PHONES else _app(text),
        dated=True,
        confidence=0.7,
    ),
    rule(
        "tool",
        "do,have",
        r"(?:switched|migrated|moved everything)(?: everything| over)* from (?P<v>.+?) to \w",
        _app,
        change="ends",
        dated=True,
        confidence=0.7,
    ),
    rule("tool", "do,have", r"moved from (?P<v>.+?) to \w", _tools, change="ends", dated=True, confidence=0.7),
    rule(
        "tool",
        "do,have",
        r"(?:ditched|dropped|uninstalled|abandoned|stopped using|quit using|got rid of) (?P<v>.+)",
        _app,
        change="ends",
        dated=True,
        confidence=0.7,
    ),
    rule(
        "tool",
        "my",
        r"(?:(?:\w+ )?(?:editor|ide|browser|os|operating system|stack|tech stack|framework|toolchain"
        r"|shell|terminal|database|note-taking app)(?: of choice)?)(?:'s| is| includes|:) (?P<v>.+)",
        _app,
        confidence=0.85,
    ),
    rule(
        "tool",
        "my",
        r"(?:main|primary|go-to|day-to-day) (?:programming |coding )?language(?:'s| is) (?P<v>.+)",
        _tools,
        confidence=0.85,
    ),
    rule(
        "tool",
        "am",
        r"an? (?:heavy |long-time |daily |big |power |happy )?(?P<v>[\w.+#]+(?: [\w.+#]+)?) (?:developer"
        r"|dev|programmer|engineer|user)\b",
        _tools,
        confidence=0.6,
    ),
    rule(
        "language",
        "do,can",
        r"(?:speak|speaking|understand|read)(?: both| fluent| some| a (?:bit|little)(?: of)?| decent"
        r"| native| good| perfect)* (?:(?:two|three|four|five|\d) languages?[:,]? )?(?P<v>.+)",
        values.members(words.LANGUAGES),
        confidence=0.9,
    ),
    rule(
        "language",
        "do",
        r"(?:am fluent in|know|grew up speaking|was raised speaking|write|learned|learnt) (?P<v>.+)",
        values.members(words.LANGUAGES),
        confidence=0.7,
    ),
    rule(
        "language",
        "am",
        r"(?:(?:also|nearly|fairly) )*(?:fluent|proficient|conversational) in (?P<v>.+)",
        values.members(words.LANGUAGES),
        confidence=0.9,
    ),
    rule(
        "language",
        "am",
        r"(?:bilingual|trilingual|multilingual)(?: in|,|:|\s\() ?(?P<v>.+)",
        values.members(words.LANGUAGES),
        confidence=0.9,
    ),
    rule(
        "language", "am", r"an? (?:native|fluent) speaker of (?P<v>.+)", values.members(words.LANGUAGES), confidence=0.9
    ),
    rule(
        "language",
        "am",
        r"an? (?:native|fluent) (?P<v>[\w ]+?) speaker\b",
        values.members(words.LANGUAGES),
        confidence=0.9,
    ),
    rule(
        "language",
        "my",
        r"(?:native|first|second|third|mother|home|main|family)(?: language| tongue)(?:'s| is|:) (?P<v>.+)",
        values.members(words.LANGUAGES),
        confidence=0.9,
    ),
]
