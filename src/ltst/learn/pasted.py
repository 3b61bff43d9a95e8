"""Tells the words that a writer says in their own name from what they paste: mails, chat logs, code, tool output.

The rules, the language model and the episodes all read `own_words`, so nothing that somebody else wrote
becomes a fact, a preference or an instruction. In doubt a line counts as pasted: a fact can be said again.

Some pastes show where they end: a quoted line, a line of a log, a fence, an element of HTML. Others do not, such as a
forwarded mail or a text that is announced ("My friend sent me this:"); they last until the writer turns to another
matter in a last paragraph of their own ("By the way, …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ltst.learn import foreign
from ltst.support.text import holds_any

_TIME = r"\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:[.,]\d{1,6})?(?: ?[ap]\.?m\b\.?)?"
_DATE = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2} [A-Z][a-z]{2,8},? \d{4}|[A-Z][a-z]{2,8} \d{1,2}(?:, \d{4})?)"
_DAY = rf"(?:today|yesterday|{_DATE}|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
_STAMP = rf"(?:{_DAY},?(?: at|T)?[ T]*)?{_TIME}Z?"
_ROLES = (
    r"(?:human|user|assistant|ai|system|bot|model|chatgpt|gpt|claude|gemini|llama|tool|function|developer|prompter"
    r"|instructions?|prompt|input|output|response|completion|context|question|answer|q|a|me|him|her|them)"
)

# What shows its own end: the beginning, then how to find the end.
_OPENING = re.compile(
    r"(?P<fence>```|~~~)|(?P<comment><!--|/\*)|(?P<text>\"\"\"|''')"
    r"|(?P<token><\|[\w/ -]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|</?(?:bos|eos)>)"
    r"|<(?P<tag>[a-z][\w:-]{0,40})(?:\s[^<>]{0,1000})?>",
    re.I,
)
_CLOSING = {"<!--": "-->", "/*": "*/"}
_END_TAG = re.compile(r"</([a-z][\w:-]{0,40})\s{0,9}>", re.I)
_ANY_TAG = re.compile(r"<(/?)([a-z][\w:-]{0,40})(?:\s[^<>]{0,1000})?>", re.I)
_INLINE = frozenset(["b", "i", "em", "strong", "u", "br", "mark", "sup", "sub", "small"])
_BLANK = re.compile(r"\n[ \t]*\n")
# Stands for what was taken out, so that what announced it is known to be over with it.
_HOLE = "\0"
_WHOLE, _HOLES = re.compile(rf"[^{_HOLE}]+"), re.compile(rf"{_HOLE}+")

_QUOTED = re.compile(rf"\s*(?:>|&gt;|»|＞|\||♪|♫|{_HOLE})")
# Lines that are pasted themselves, and no more than they.
_LINE = re.compile(
    rf"{_QUOTED.pattern}|\t| {{4,}}\S"
    # Data: JSON, CSV, markup of tables, settings.
    r"|\s*(?:[{}\[\]],?|[{\[]\s*[\"'{\[]|\"[^\"]{1,80}\"\s*:|\}|\],?$|</?[a-z][\w:-]*(?:\s[^<>]{0,200})?>)"
    r"|[^\s,;]+(?P<comma>[,;])[^\s,;][^,;]*(?P=comma)\S"
    r"|[^\t]*+\t[^\t]*+\t|[\w.-]+ {1,20}\| "
    r"|\s*[\w.\[\]\"'-]+\s*[-+*/|&:?]?=(?!=)\s*\S"
    # Logs: levels, and what tests and builds print.
    r"|\W{0,2}(?-i:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|FAILED|PASSED|OK)\b"
    r"|\w+(?:Error|Exception|Warning):\s|(?:npm|yarn|pip|docker|git|cargo|make(?:\[\d+\])?)[:!] "
    # Code: comments, and lines that only a program has.
    r"|\s*(?://|\*/|--\s|#|;|%\s|REM\s|@\w+(?:\([^()]*\))?\s*$)"
    r"|.{0,400}(?:[;{}]|=>|\)\s*:|\w\([^()]*\))\s*(?:$|//|#|--\s|/\*)"
    r"|\s*(?:def|class|func|fn|function|public|private|protected|static|final|const|let|var|val|async|export|import"
    r"|package|using|namespace|struct|enum|impl|interface|return|print\w*|console|System|for|while|if|elif|else|switch"
    r"|case|try|except|catch|with|select|insert|update|delete|create|alter|raise|throw|echo)\b"
    r".{0,200}?(?:\w\(|\s=\s|=>|::|:=|\bfrom\s+\w+\s+where\b|\bvalues\s*\(|\s\{|:$)"
    r"|\s*(?:import|package|using|require|include|from)\s+[\w.\"'<>/]+\s*;?$|\s*from\s+[\w.]+\s+import\b"
    r"|\+\S|@@ ",
    re.I,
)
# A line of a conversation: what follows it until the next empty line was said there too.
_SAID = re.compile(
    rf"\W{{0,3}}(?:\[{_STAMP}\]|\({_STAMP}\)|{_DAY},?(?: at|T)?[ T]+{_TIME}|\d{{1,2}}:\d{{2}}:\d{{2}}\b)"
    rf"|\W{{0,3}}{_STAMP}\W{{0,4}}(?:<|\*|[-–—|] ?\w|(?:[\w.~-]+ ){{0,3}}[\w.~-]+:\s)"
    r"|<[@+%~&]?[\w|\[\]`^-]{1,30}> \S"
    r"|Traceback \(most recent call last\)|\s+at [\w.$<>]+\(",
    re.I,
)
# From here on somebody else speaks, and nothing says where they end.
_HANDED_ON = re.compile(
    r"(?:from|to|cc|bcc|sent|date|subject|reply-to|message-id|received|return-path|von|an|gesendet|datum|betreff"
    r"|de|para|enviado|fecha|asunto|envoyé|à|objet|da|inviato|data|oggetto|fwd?|fw|re|wg|aw|tr)\s?:(?:\s|$)"
    r"|[-_=*\s]{0,40}(?:original (?:message|appointment)|(?:begin )?forwarded (?:message|from|by|e?mail)"
    r"|weitergeleitete nachricht|message transféré|mensaje reenviado)\b"
    r"|(?:_{10,}|-{20,}|={20,})\s*$"
    r"|(?:on|am|le|el|il|op)\b.{5,200}\b(?:wrote|schrieb|écrit|escribió|ha scritto|schreef)\b.{0,100}:\s*$"
    rf"|#{{1,6}}\s*+{_ROLES}\s*+(?::|$)|[*_]{{0,3}}{_ROLES}\s?[*_]{{0,3}}:(?:[*_\s]|$)"
    rf"|[\[(]{_ROLES}[\])]"
    rf"|\W?(?!(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)(?-i:[\w.-]+|[A-Z][\w.'-]*(?: [A-Z][\w.'-]*){{1,3}})"
    rf"(?:\s?\([^()]{{1,40}}\))?(?:\s{{2,}}|\t|\s?[—–•·|,\[(-][\s\[(]{{0,3}})(?:at )?{_STAMP}[\])]{{0,2}}:?\s*$"
    r"|.{1,60}@\w{1,30} ?[·•]"
    r"|[$%❯➜]\s\S|>>>\s|\w[\w.-]*@[\w.-]+[: ][^\s]*\s?[$#]\s|(?:PS )?[a-z]:\\[^>]*>|(?:In|Out)\s?\[\d+\]:"
    r"|diff --git |commit [0-9a-f]{7,40}\b|from \+?[\d ()-]{6,20}"
    r"|(?:tool|function|search|command|api|query|web)\b.{0,40}\b(?:results?|outputs?|responses?|calls?|returned)\b.{0,60}:\s*$"
    r"|dear\s\w+|(?:begin|start) of (?:text|document)",
    re.I,
)
# What is written to be handed in, sent or published; a writer who shows such a text does not speak in it.
_TEXT = (
    r"(?:homework|assignment|essay|composition|paper|bio|biography|intro|introduction|letter|e-?mail|mail|message|speech"
    r"|statement|text|story|diary|paragraph|profile|post|draft|poem|note|cv|resume)"
)
_EDIT = (
    r"(?:translat\w+|proof-?read|paraphrase|rephrase|rewrite|reword|summari[sz]e|continue|complete|correct|fix|improve"
    r"|polish|edit|check|review|analy[sz]e|critique)"
)
_EDITING = (
    *("translat", "proof", "paraphrase", "rephrase", "rewrite", "reword", "summari", "continue", "complete", "correct"),
    *("fix", "improve", "polish", "edit", "check", "review", "analy", "critique"),
)
_WHOSE = r"(?:this|these|his|her|their|[^\W\d_]{1,30}['’]s)"
_ANNOUNCED = re.compile(
    rf"\b{_EDIT}\b[^.!?\n]{{0,80}}(?::|→|->|\n)"
    rf"|\b{_EDIT}\b[^.!?\n]{{0,40}}\b{_WHOSE} (?:[\w-]+ ){{0,2}}{_TEXT}\b[^.!?\n]{{0,40}}[.!?]"
    r"|\b(?:translate|proof-?read|paraphrase|rephrase|rewrite|reword|polish) (?:this|these)\b[^.!?\n]{0,40}[.!?]"
    rf"|\bis this (?:[\w-]+ ){{0,3}}{_TEXT}\b[^.!?\n]{{0,40}}\?"
    # Not "my wife's email: eva@example.org".
    rf"|\b{_WHOSE} (?:[\w-]+ ){{0,2}}{_TEXT}\s?:(?!\s?\S{{1,80}}@)"
    r"|\b(?:role-?\s?play\w*|pretend|act as|act like you|you are now an?|let's play"
    r"|my (?:main )?character\b|in character)"
    r"|^[ *]{0,4}(?:lyrics|quote)\b[^:\n]{0,30}:"
    r"|\b(?:sentence|phrase|headline|caption|slogan|lyrics|paragraph|passage|excerpt|article|transcript|review|persona"
    r"|character|bio like|profile like|(?:answer|reply|response) (?:was|is))\s?:"
    r"|\b(?:wrote|writes?|reads|starts|begins|started|began|replied|sang|sings|texted|told|messaged"
    r"|emailed|said|says|asked|goes"
    r"|went)(?: (?:me|us|him|her|them|this|back))?\s?:|\b(?:the|this|first|last|his|her|their|a|an"
    r"|opening|from the) (?:[\w-]+ )?(?:letter|line|message|email|note|bio|text|post|tweet|title|sign"
    r"|card|song|chorus|ad|article|prompt|poem|diary|verse|example|log|output|file|page|mail|chat|thread|comment"
    r"|conversation|result|code|document|statement|quote|reply|answer)(?: is| says| reads| goes)?\s?:"
    r"|\b(?:sent|forwarded|gave|showed|shared|posted|got|received|found|copied|pasted|read|wrote)\b"
    r"[^.!?:\n]{0,40}\b(?:this|these|that|following|it|message|mail|text)\b[^.!?:\n]{0,40}:"
    r"|\b(?:here(?:'s| is| are)|this is|below is|see below|the following|as follows)\b[^.!?:\n]{0,60}:\s*$"
    r"|^(?:e\.g\.|for example|example|sample|template|text|message)\s?:|\b(?:in the blank"
    r"|conjugate)\b[^\n]{0,20}:",
    re.I | re.M,
)
# One of these is in every line that announces something: to look for them first costs less than the pattern.
_ANNOUNCING = (
    *_EDITING,
    *(":", "is this", "role", "pretend", "act as", "act like", "you are now", "let's play", "character"),
)
# Announces a text where the message also asks for help with it: "Here is my son's essay. … Please correct it."
_SHOWN = re.compile(
    rf"\b(?:here(?:['’]s| is)|this is|below is)\b[^.!?:\n]{{0,60}}\b{_TEXT}\b[^.!?:\n]{{0,30}}[.!]", re.I
)
_HELP_WANTED = re.compile(rf"\b{_EDIT} (?:it|this|that|them|the|his|her|their|my)\b", re.I)
_SPEAKER = re.compile(
    r"\s*(?:(?:[-*•·–]|\d{1,2}[.)])\s{1,4})?[*_]{0,2}"
    r"(@?[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})(?: \([^()]{1,30}\))?"
    r"[*_]{0,2}:[*_]{0,2}\s"
)
# With these a writer begins a line about themself.
_OWN_LABELS = frozenset(
    """
    about me, address, age, allergies, allergy, also, background, birthday, books, btw, by the way, car, career, city,
    context, correction, country, diet, dislikes, drinks, edit, education, email, employer, family, fact, facts, food,
    fun fact, fyi, goal, goals, health, hi, hello, hey, hobbies, hobby, home, hometown, important, info, job, kids,
    languages, likes, living, location, movies, music, name, nationality, note, notes, occupation, pet, pets, phone,
    please, plus, preference, preferences, profession, ps, p.s, question, quick update, reminder, role, school, so,
    sport, sports, status, studies, summary, thing is, tl;dr, tldr, todo, travel, update, well, work
    """.replace("\n    ", " ")
    .strip()
    .split(", ")
)
_TURN = re.compile(
    r"\s*(?:oh,? |and |but |ok,? |so,? )?(?:by the way|btw|anyways?|as for (?:me|myself)|back to me|about me"
    r"|for my part|on (?:another|a different|a personal) note|unrelated(?:ly)?|apart from (?:that|this))\b",
    re.I,
)


def own_words(text: str) -> str:
    """The message without what was pasted in it; every line of it is one of the writer's own, or the part that is."""
    opened, own = _read(text)
    return "\n".join(_HOLES.sub(" ", opened[start:end]) for start, end in own)


def own_spans(text: str) -> list[tuple[int, int]]:
    """Where the writer's own words stand in a text: lines, or the parts of them that stand beside something pasted."""
    (opened, own), found = _read(text), list[tuple[int, int]]()
    for start, end in own:
        found += [(start + part.start(), start + part.end()) for part in _WHOLE.finditer(opened[start:end])]
    return found


@lru_cache(maxsize=4)
def _read(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The opened text and where its writer's words stand; the rules and the gate both ask for a message's."""
    opened = _hollowed(text)
    return opened, tuple(_own(opened))


def unquoted(text: str) -> str:
    """The text without blocks of code, elements of HTML and quoted lines; an assistant's "Here is how:" is its own."""
    return _HOLES.sub(" ", "\n".join(line for line in _opened(text).split("\n") if not _QUOTED.match(line)))


def _hollowed(text: str) -> str:
    """The text with a hole for everything that shows its own end, and for talks and letters of others."""
    return "\n".join(foreign.hollowed(_opened(text).split("\n"), _HOLE))


def _opened(text: str) -> str:
    """The text with a hole for everything that shows its own end; every character stays where it is."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    kept, at = [], 0
    closing = {found.lower() for found in _END_TAG.findall(text)} if "</" in text else set()
    while found := _OPENING.search(text, at):
        end = _end(text, found, closing)
        kept.append(text[at : found.start() if end else found.end()])
        if end:
            kept.append(_hole(text[found.start() : end]))
        at = end or found.end()
    return "".join([*kept, text[at:]])


def _hole(block: str) -> str:
    """As many characters as a block has; one of several lines has a line of its own."""
    return f"\n{_HOLE * (len(block) - 2)}\n" if "\n" in block and len(block) > 2 else _HOLE * len(block)


def _end(text: str, found: re.Match[str], closing: set[str]) -> int:
    """Where that ends which begins here; zero if nothing does."""
    if mark := found["fence"] or found["comment"] or found["text"]:
        at = text.find(_CLOSING.get(mark, mark), found.end())
        return at + len(_CLOSING.get(mark, mark)) if at >= 0 else len(text)
    if found["token"]:
        return _paragraph_end(text, _last_token(text, found.end()))
    tag = found["tag"].lower()
    return _element_end(text, found.end(), tag) if tag in closing and tag not in _INLINE else 0


def _paragraph_end(text: str, at: int) -> int:
    blank = _BLANK.search(text, at)
    return blank.start() if blank else len(text)


def _last_token(text: str, at: int) -> int:
    """The end of the last token of a chat template: what stands between two of them is no writer's."""
    ends = [found.end() for found in _OPENING.finditer(text, at) if found["token"]]
    return max(ends, default=at)


def _element_end(text: str, at: int, tag: str) -> int:
    """Where an element ends, with the elements of its name that it holds."""
    depth = 1
    for found in _ANY_TAG.finditer(text, at):
        if found[2].lower() == tag:
            depth += -1 if found[1] else 1
            if not depth:
                return found.end()
    return len(text)


def _own(text: str) -> Iterator[tuple[int, int]]:
    """Where in each line the writer's own words stand; nowhere in one that is pasted."""
    start = 0
    lines = text.split("\n")
    for line, length in zip(lines, _lengths([line.rstrip(" ") for line in lines]), strict=True):
        yield start, start + length
        start += len(line) + 1


def _lengths(lines: list[str]) -> Iterator[int]:
    """How much of each line is the writer's own, from its beginning on."""
    several = sum(map(_speaks, lines)) > 1
    wanted = any(holds_any(line, _EDITING) and _HELP_WANTED.search(line) for line in lines)
    last = _last_paragraph(lines)
    pasted = until_blank = False
    for line, before, after, at in zip(lines, ["", *lines], _following(lines), range(len(lines)), strict=False):
        if pasted and at >= last and not before.strip() and _TURN.match(line):
            pasted = False
        until_blank = until_blank and bool(line.strip())
        own = 0
        if pasted or until_blank or not line.strip():
            pass
        elif _SAID.match(line):
            until_blank = True
        elif _HANDED_ON.match(line):
            pasted = not _ends_itself(after)
        elif several and _speaks(line):
            until_blank = True
        elif not _is_pasted(line):
            announced = _announced(line, after, wanted)
            pasted = announced is not None and not _ends_itself(after)
            own = announced.start() if announced else len(line)
        yield own


def _announced(line: str, after: str, wanted: bool) -> re.Match[str] | None:
    """Where the line announces a text of others; `wanted` is whether the message asks for help with one."""
    shown = _SHOWN.search(line) if wanted else None
    announced = _ANNOUNCED.search(f"{line}\n" if after else line) if holds_any(line, _ANNOUNCING) else None
    return announced or shown or foreign.announces(line, after)


def _ends_itself(line: str) -> bool:
    return _QUOTED.match(line) is not None or _SAID.match(line) is not None


def _is_pasted(line: str) -> bool:
    return _LINE.match(line) is not None or _SAID.match(line) is not None or _speaks(line)


def _speaks(line: str) -> bool:
    """Whether the line begins with somebody's name, or with the name of a field."""
    found = _SPEAKER.match(line)
    return found is not None and found[1].lower() not in _OWN_LABELS and _is_label(found[1])


def _is_label(words: str) -> bool:
    return all(word[0].isupper() or word[0] == "@" for word in words.split()) or "_" in words


def _following(lines: list[str]) -> list[str]:
    """For each line the next one that is not empty."""
    found, after = [], ""
    for line in reversed(lines):
        found.append(after)
        after = line if line.strip() else after
    return found[::-1]


def _last_paragraph(lines: list[str]) -> int:
    """Where the last paragraph begins; where a question ends the message, the one before it."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    starts = [at for at in filled if at == 0 or not lines[at - 1].strip()]
    asks = bool(filled) and lines[filled[-1]].rstrip().endswith("?")
    return starts[-2 if asks and len(starts) > 1 else -1] if starts else 0
