"""Sentences and clauses, and in which mood each is said: only what the writer states about themself is opened.

Every rule for facts reads clauses that were opened here, so questions, conditions, wishes, other people's affairs and
the past are left out in one place. An opened clause has its subject and auxiliary taken off: "I no longer live in
Rome" is "live in Rome" with the opener "do" and the change "ends".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_SENTENCES = 400
MOST_CLAUSES = 12
LONGEST_SENTENCE = 600


@dataclass(frozen=True, slots=True)
class Clause:
    """What is said of the writer: `opener` is am, have, do, was, can, will, my, or one of them after "not "."""

    opener: str
    rest: str
    whole: str
    plural: bool = False
    change: str = "holds"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as written, whether it asks or supposes, and the clauses of it that state something."""

    text: str
    asks: bool
    doubtful: bool
    clauses: tuple[Clause, ...]


_SUBJECTS = r"(?:I|we|im|ive|my|our|he|she|they|you|it|there|his|her|their|your)\b"
_ASKING = (
    r"(?:do (?!not\b)|does|did|am|is|are|was|were|can|could|would|should|will|shall|has|what|what's"
    r"|whats|how|how's|why|when|where"
    r"|who|who's|which|whose|any|got any|have you|have i|since when|(?:don't|doesn't|isn't|aren't"
    r"|wouldn't|couldn't|can't|won't|didn't|haven't)"
    r" (?:i|we|you|he|she|they|it|that|there|my|this))\b(?!')"
)
_END = re.compile(
    r"(?<=[.!?…])(?<!\bMr\.)(?<!\bDr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)\)? +|\n+"
)
_VERBS = (
    r"(?:live|work|study|speak|play|love|hate|like|enjoy|adore|drive|own|use|prefer|moved|grew up|got"
    r"|bought|adopted|started|joined"
    r"|became|run|teach|commute|collect|have (?:a|an|two|three|four|no|been|got|lived|worked)"
    r"|can't stand|don't like|am|was born"
    r"|was raised|take|suffer|switched|just|recently|now (?:live|work|use)|also|never|currently|quit"
    r"|left|sold|come from|do)\b"
)
# After a comma alone, so much else begins like a verb: "sports, like tennis".
_LISTED = (
    r"(?:live in|work (?:as|at|for)|moved|grew up|got|bought|adopted|started|joined|became|switched"
    r"|quit|have (?:a|two|three)|can't stand|was born|married to|speak)\b"
)
_JOINTS = re.compile(
    rf"(?: ?[,;:(—–]{{1,6}}| -{{1,2}})(?: (?:and|but|so|because|cause|cuz|since|as|though|although|plus|yet"
    rf"|then|also|now|while|actually)){{0,4}}"
    rf" (?=(?P<comma>{_SUBJECTS}|{_ASKING}|(?-i:[A-Z])\w+ and I\b))"
    rf"|(?: (?:and|but|so|because|cause|cuz|since|though|although|plus|yet|then|also|as"
    rf"|while)){{1,4}} (?=(?P<joined>{_SUBJECTS}))"
    rf"|,?(?: (?:and|but|then|now)){{1,4}} (?=(?P<shared>{_VERBS}))|, (?=(?P<listed>{_LISTED}))"
    rf"|,? (?=(?P<beside>(?:currently )?(?:living in|working (?:as|at|for)|based in|married to)\b))",
    re.I,
)
_LEADS = re.compile(
    r"(?:(?:hi|hello|hey|hiya|dear)(?: (?!I\b|my\b)\w+)?[,!.]|good (?:morning|evening"
    r"|afternoon)[,!.]?|well|so|oh|ok|okay|yes|yeah|yep|no|nope|sure|thanks"
    r"|also|and|but|plus|btw|by the way|fyi|actually|basically|honestly|frankly|anyway|anyways"
    r"|besides|personally|for context|for reference|for the record"
    r"|for your information|some context|context|note that|note|please note(?: that)?"
    r"|just so you know|so you know|you should know(?: that)?|as you know"
    r"|as i said|as i mentioned|like i said|remember that|remember|keep in mind(?: that)?"
    r"|don't forget(?: that)?|to be clear|in fact|fun fact|update|quick update|good news|big news"
    r"|sad news|bad news|these days|nowadays|currently|right now|now|at the moment|at present|lately"
    r"|recently|(?:because|since|as|although|even though|though|while)(?= (?:I|we|my|our|I'\w+"
    r"|we'\w+)\b)"
    r"|it turns out(?: that)?|turns out(?: that)?|just to let you know|let me tell you"
    r"|i should mention(?: that)?|i must admit(?: that)?|i have to admit(?: that)?"
    r"|i must say(?: that)?|i have to say(?: that)?|i confess"
    r"|(?:oh |no,? )?wait(?: a (?:minute|second|moment))?|hold on"
    r"|i should say|i'll admit|i should add(?: that)?|i'm happy to say(?: that)?"
    r"|i'm proud to say(?: that)?|sorry|ah|aha|haha|lol|hmm|um|wow|yay|first|second|then|finally"
    r"|in case you wondered"
    r"|my doctor (?:confirmed|says|said|told me)(?: that)?|i (?:just )?found out(?: that)?"
    r"|i (?:just )?learned that|the thing is|thing is|to be honest|tbh|truth is|sadly|unfortunately"
    r"|luckily|happily"
    r"|by (?:profession|trade|training)|about me|a bit about me|a little about me|background|me"
    r"|correction|for now|on (?:weekends|weekdays|sundays|saturdays|mondays|tuesdays|wednesdays"
    r"|thursdays|fridays)|at weekends|at work|every (?:day|week|morning|weekend|sunday|saturday"
    r"|summer|winter|evening)"
    r"|in my (?:free|spare) time|after [\w ]{3,30},(?= I)|outside (?:of )?work|for code|for coding"
    r"|no seriously|seriously)(?![\w'])[,:!.-]* ?",
    re.I,
)
_TIME = (
    r"(?:yesterday|today|this morning|last \w+|this (?:week|month|year|spring|summer|fall|autumn"
    r"|winter)|earlier this \w+|on \w+day"
    r"|(?:since|in|on|as of|from|until|around)(?: (?!my\b)[\w']+){1,5}?|(?:a|an|one|two|three|four"
    r"|five|six|seven|eight|nine|ten|\d{1,2}|a few|a couple of|several) (?:day|week|month"
    r"|year)s? ago)"
)
_TIME_LEAD = re.compile(rf"{_TIME},? (?=I\b|I'|we\b|we'|my\b|our\b)", re.I)
_DATED = re.compile(
    r"\d|day\b|week|month|year|morning|spring|summer|autumn|fall\b|winter|christmas|easter|january"
    r"|february|march|april|may\b|june|july"
    r"|august|september|october|november|december",
    re.I,
)
_DOUBTS = re.compile(
    r"(?:if|even if|unless|when|whenever|whether|once|until|had i|were i|should i|imagine|suppose"
    r"|supposing|assuming|as if|as though|maybe|perhaps|probably|possibly|hopefully|ideally"
    r"|in case|it's possible|i (?:wish|hope|doubt|dream|imagine|suppose|guess|think|thought|feel like"
    r"|wonder)|i'm (?:thinking|considering|hoping|dreaming|planning to|not sure)|i'd|i would|i might"
    r"|i may|i could|i want"
    r"|we (?:wish|hope|might|may|could|want)|we'd|we're (?:thinking|considering|hoping)|if only"
    r"|hoping|wishing|would|might|could|in theory|say i|according to|provided|as soon as|by the time"
    r"|on paper|as far as|for all you know|technically)(?![\w])",
    re.I,
)
_PAST = re.compile(
    r"\b(?:when i was|back when|back then|back in (?!march|june|july|\d{4} (?:i|we) (?:moved|joined"
    r"|started))|as a (?:kid|child|boy|girl|teen|teenager|student|young)|growing up"
    r"|in my (?:childhood|youth|teens|twenties|thirties|early)"
    r"|in the (?:nineties|eighties|seventies|sixties|\d0s|19\d0s)|in (?:high school|college"
    r"|primary school|those days)|years back|once upon|in my (?:younger|school) days|at (?:sixteen"
    r"|seventeen|eighteen|fifteen|fourteen|thirteen|twelve|ten|that age)"
    r"|for a while in|at the time|during the (?:war|earthquake|pandemic|lockdown))\b",
    re.I,
)
_SARCASM = re.compile(r"\b(?:yeah right|as if|just kidding|jk|kidding|joking|not really)\b[.! ]*$", re.I)
_SUBJECT = re.compile(
    r"(?P<who>I|we)'(?P<tail>m|ve|d|ll|re)\b ?|(?P<bare>im|ive)\b ?|(?P<plain>I|we)\b(?!')[,]? ?", re.I
)
_TAILS = {"m": "am", "re": "am", "ve": "have", "d": "would", "ll": "will", "im": "am", "ive": "have"}
_ADVERBS = re.compile(
    r"(?:(?:also|currently|now|still|actually|really|just|recently|presently|finally|usually"
    r"|generally|mostly|mainly|always|often|already|only|simply|personally|absolutely|totally"
    r"|truly|definitely|certainly|obviously|officially|happily|proudly|sadly|unfortunately"
    r"|fortunately|honestly|newly|normally|typically|regularly|both|all|do(?= (?:love|like|have|enjoy"
    r"|live|work|speak|own|play|use|hate|prefer|eat|drive|take|study)\b)|secretly|genuinely|of course"
    r"|myself|myself a|as of today|since|thoroughly|quite|thankfully|particularly|tend to|especially"
    r"|even|then|eventually|originally) )+",
    re.I,
)
_AUXILIARIES = re.compile(
    r"(?P<not_am>(?:am|are|aren't|ain't|weren't|wasn't) ?(?:not|never|hardly|barely|in no way"
    r"|far from)?(?:,? ?and (?:have )?never (?:have )?been,?)?(?<!am)(?<!are)(?<!am )(?<!are )\b)"
    r"|(?P<am>(?:am|are)\b)|(?P<was>(?:was|were)\b)|(?P<had>(?:had|hadn't)\b)"
    r"|(?P<not_have>(?:haven't|havent|have (?:not|never|hardly|barely))\b)|(?P<have>have\b)"
    r"|(?P<not_do>(?:don't|dont|do not|didn't|did not|never|hardly|barely|rarely|seldom|scarcely"
    r"|neither|won't|will not|wouldn't)\b)"
    r"|(?P<cannot>(?:can't|cant|cannot|can not|couldn't)\b)|(?P<can>can\b)|(?P<will>(?:will|shall)\b)"
    r"|(?P<modal>(?:would|could|might|may|should|must|wish|hope|want|ought|need|wanted|hoped|tried|thought)\b)",
    re.I,
)
_NOT = re.compile(r"(?:not|never|hardly|barely|rarely)\b ?", re.I)
_NO_LONGER = re.compile(r"(?:no longer|not any longer|not anymore|formerly|previously)\b ?", re.I)
_USED_TO = re.compile(r"used to (?:(?P<be>be )|(?P<have>have |own ))?", re.I)
_STOPPED = re.compile(
    r"(?:(?:have )?(?:stopped|quit|given up|gave up|gave up on"
    r"|gotten out of) )(?=\w+ing\b)(?:(?P<be>being )|(?P<have>having ))?",
    re.I,
)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|these days|after all)\b", re.I)
_IMPLIED = re.compile(
    r"been (?:living|working|learning|playing|using|vegan|vegetarian|married)\b|(?:just |recently "
    r"|finally |now )?(?:turned|got|bought|adopted|started|moved|joined|switched|quit|left|sold"
    r"|became|graduated|can't stand|cannot stand|cant stand|(?:hate|love)(?! (?:is|was|this|that|it"
    r"|the|how|your|you|to|a|an|these|those|when|for|and|hearing|seeing)\b)|work as|work at|work for"
    r"|working as|working at"
    r"|live in|living in|based in|born on|born in|married to|allergic to|grew up"
    r"|currently (?:learning|studying)|broke up|signed up|don't like|not a fan of|big fan of"
    r"|huge fan of|retired)\b",
    re.I,
)
# Before a participle that belongs to the verb: "I've been living in", "I love living in".
_VERBAL = re.compile(
    r"(?:\bI|\b(?:been|am|are|we|now|currently|started|still|just|stopped|was|were|of|by|about|love"
    r"|enjoy|like|hate|happily|to|not|from|than|is|actually|for|start|keep|here|while|as|longer)|'m"
    r"|'re)$",
    re.I,
)
_BOTH = re.compile(
    r"(?:(?:my|our) (?:[\w-]+ ){1,2}|(?-i:[A-Z])\w+ )and I (?=\w)"
    r"|me and my (?:[\w-]+ ){1,2}?(?=(?:live|moved|have|are|love|own|just)\b)",
    re.I,
)
# These hold for the main clause too: "as soon as I have kids, I'm moving to Kent".
_GOVERNED = re.compile(
    r"(?:according to|as (?:soon|long|far)|on paper|by the time|provided|technically|in theory"
    r"|if only|once (?:i|we))\b",
    re.I,
)
_MEANT = re.compile(
    r"(?:^|\b(?:going|trying|planning|hoping|want|need|like|love|able|ready|used|have|learning"
    r"|supposed) )to (?!the\b|an?\b|my\b|work\b|(?-i:[A-Z]))\w+",
    re.I,
)
_DEED = re.compile(r"(?:just |now )?(?:moved|switched|got|bought|started|joined|became|went)\b", re.I)
_PARTICIPLE = re.compile(r"(?:working|living|based|married|allergic|currently|retired|teaching)\b", re.I)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of the writer's own words, in order."""
    for raw in _END.split(text)[:MOST_SENTENCES]:
        sentence = raw.strip(" *_-").lstrip("# ")
        if sentence:
            yield _sentence(sentence[:LONGEST_SENTENCE])


def _sentence(text: str) -> Sentence:
    asks = text.endswith("?") or bool(re.match(_ASKING, text, re.I))
    doubtful = bool(_DOUBTS.match(text)) or bool(_PAST.search(text)) or bool(_SARCASM.search(text))
    return Sentence(text, asks, doubtful, tuple(_clauses(text)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a sentence, and how it is joined to the one before it."""

    text: str
    joint: str
    kind: str

    @property
    def dependent(self) -> bool:
        """Whether it goes on in the mood of the piece before it."""
        return self.kind in ("shared", "listed", "beside") or self.joint.strip(" ,").lower() in (
            "and",
            "or",
            "then",
            "and then",
        )


def _clauses(text: str) -> Iterator[Clause]:
    if _PAST.search(text) or _SARCASM.search(text):
        return
    pieces = _asserted(_pieces(text.rstrip(" .!?…")), text.endswith("?"))
    before: Clause | None = None
    stated = True
    for number, piece in enumerate(pieces):
        if _GOVERNED.match(_led(piece.text)[0]):
            return
        if piece.dependent and not stated:
            continue
        clause = _opened(piece, before, number == 0)
        stated = not _doubted(piece)
        if not stated:
            before = None
            continue
        before = clause if clause and not clause.opener.startswith("not") else None
        if clause:
            yield clause


def _doubted(piece: _Piece) -> bool:
    return bool(_DOUBTS.match(_led(piece.text)[0]))


def _pieces(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    at, joint, kind = 0, "", "first"
    for found in _JOINTS.finditer(text):
        if found.lastgroup == "beside" and _VERBAL.search(text, at, found.start()):
            continue
        pieces.append(_Piece(text[at : found.start()], joint, kind))
        at, joint, kind = found.end(), found[0], found.lastgroup or "first"
        if len(pieces) >= MOST_CLAUSES:
            return pieces
    return [*pieces, _Piece(text[at:], joint, kind)]


def _asserted(pieces: list[_Piece], asks: bool) -> list[_Piece]:
    """Of a question, only what stands before the asking itself: "I'm vegan, what can I cook?"."""
    for number, piece in enumerate(pieces):
        if re.match(_ASKING, _led(piece.text)[0], re.I):
            return pieces[:number] if not _tag(piece) else []
    return [] if asks else pieces


def _tag(piece: _Piece) -> bool:
    """Doubt that is added at the end: "I live in Lisbon, don't I"."""
    return bool(re.match(r"(?:don't|am|aren't|isn't|didn't|do|is) (?:i|we|it|that)\b ?$", piece.text, re.I))


def _led(text: str) -> tuple[str, str]:
    """The clause without its greetings and connectives, and the date that stood among them."""
    when = ""
    for _ in range(6):
        if _SUBJECT.match(text) and not _LEADS.match(text):
            break
        if (time := _TIME_LEAD.match(text)) and _DATED.search(time[0]):
            when = time[0]
            text = text[time.end() :]
        elif lead := _LEADS.match(text):
            text = text[lead.end() :]
        else:
            break
    return text, when


def _opened(piece: _Piece, before: Clause | None, first: bool) -> Clause | None:
    text, when = _led(piece.text)
    whole = f"{text} {when}".strip()
    if piece.kind in ("shared", "listed", "beside"):
        return _resumed(text, whole, before, piece.kind)
    if both := _BOTH.match(text):
        return _verbed(text[both.end() :], "", whole, True)
    if mine := re.match(r"(?:my|our)\b ", text, re.I):
        return Clause("my", text[mine.end() :], whole, text[0] in "oO")
    subject = _SUBJECT.match(text)
    if subject:
        tail = (subject["tail"] or subject["bare"] or "").lower()
        plural = (subject["who"] or subject["plain"] or "I").lower() == "we"
        return _verbed(text[subject.end() :], _TAILS.get(tail, ""), whole, plural)
    if first and (been := re.match(r"been (?=\w)", text, re.I)) and _IMPLIED.match(text):
        return _verbed(text, "have", whole, False) if been else None
    if first and _IMPLIED.match(text):
        return _verbed(text, "am" if _PARTICIPLE.match(text) or " fan of" in text[:14] else "", whole, False)
    return Clause("other", text, whole)


def _resumed(text: str, whole: str, before: Clause | None, kind: str) -> Clause | None:
    """A verb without a subject of its own: "I'm 34 and live in Porto"."""
    if before is None or before.opener not in ("am", "have", "do", "was", "can"):
        return None
    # "I have a sister living in Rome" says nothing of the writer's home.
    if kind == "beside" and (before.opener != "am" or re.search(r"\b(?:who|with|my)\b", before.rest)):
        return None
    # "I'm going to get a card and use Maps": the second is no more done than the first.
    if kind == "shared" and _MEANT.search(before.rest) and not _DEED.match(text):
        return None
    # After "I no longer work at Acme", only a deed goes on: "moved to Beta".
    if before.change == "ends" and not _DEED.match(text):
        return None
    return _verbed(text, "am" if kind == "beside" else "", whole, before.plural)


def _verbed(rest: str, auxiliary: str, whole: str, plural: bool) -> Clause | None:
    rest = _ADVERBS.sub("", rest, count=1) if _ADVERBS.match(rest) else rest
    if ended := _ended(rest, auxiliary, whole, plural):
        return ended
    opener = auxiliary
    if not auxiliary and (found := _AUXILIARIES.match(rest)):
        opener = (found.lastgroup or "").replace("_", " ")
        rest = rest[found.end() :].lstrip(" ,")
    opener = opener or "do"
    if opener == "had" and re.match(r"(?:an?|our|my|to put|to say) ", rest, re.I):
        opener, rest = "do", f"had {rest}"
    if opener in ("would", "modal", "had"):
        return None
    rest = _ADVERBS.sub("", rest, count=1) if _ADVERBS.match(rest) else rest
    if opener in ("am", "have", "will") and (denied := _NOT.match(rest)):
        opener, rest = f"not {opener}", rest[denied.end() :]
    elif ended := _ended(rest, opener, whole, plural):
        return ended
    if opener == "not do" and re.match(r"have\b|own\b", rest, re.I):
        opener, rest = "not have", rest.partition(" ")[2]
    if opener.startswith("not ") and _ANY_MORE.search(whole):
        rest = _ANY_MORE.sub("", rest).strip()
        return Clause(opener[4:], rest, whole, plural, "ends")
    return Clause(opener, rest, whole, plural)


def _ended(rest: str, auxiliary: str, whole: str, plural: bool) -> Clause | None:
    """What is no longer so, with the opener that it would have if it were."""
    if auxiliary not in ("", "am", "have", "do"):
        return None
    if found := _NO_LONGER.match(rest):
        rest = rest[found.end() :]
        opener = auxiliary or "do"
        if opener == "do" and re.match(r"(?:have|own) ", rest, re.I):
            opener, rest = "have", rest.partition(" ")[2]
        return Clause(opener, rest, whole, plural, "ends")
    found = (None if auxiliary == "am" else _USED_TO.match(rest)) or _STOPPED.match(rest)
    if found:
        opener = "am" if found["be"] else "have" if found["have"] else "do"
        return Clause(opener, rest[found.end() :], whole, plural, "ends")
    return None
