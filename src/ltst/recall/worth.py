"""Worth telling: what of all that was found goes into a prompt: no small talk, and no secret that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ltst.records import Hit
from ltst.support.smalltalk import acknowledges, is_small_talk
from ltst.support.terms import UNSPACED, terms

# How people say that something is for these ears alone.
SECRET = re.compile(
    r"\b(?:do\s?n[o'’]?t|do not|never|not)\s(?:ever\s)?(?:tell|mention|say|share|repeat)\s(?:\w+\s){0,3}?"
    r"(?:anyone|anybody|a\ssoul|others|other\speople|any\s?one\selse)\b"
    r"|\b(?:tell|told)\s(?:no\s?one|nobody)\b"
    r"|\bkeep\s(?:this|it|that|these|them)\s(?:\w+\s){0,2}?"
    r"(?:between|to\syourself|secret|private|quiet|confidential|under\swraps)\b"
    r"|\b(?:this|it|that)\s?(?:['’]?s|is|stays|remains)\s(?:\w+\s){0,2}?"
    r"(?:between\s(?:us|you\sand\sme)|secret|confidential|off\sthe\srecord)\b"
    r"|\b(?:just|strictly|only)\sbetween\s(?:us|you\sand\sme|ourselves)\b|\bbetween\syou\sand\sme\b"
    r"|\bour\s(?:little\s)?secret\b|\boff\sthe\srecord\b|\bin\s(?:strict\s|full\s)?confidence\b"
    r"|\bsecret[:,]\s"
    r"|\b(?:sag|sage|sagt|erzähl|erzähle|erzählt|verrat|verrate)\s(?:\w+\s){0,3}?(?:niemand\w*|keinem|keiner|nicht\sweiter)\b"
    r"|\bnicht\sweiter(?:sagen|erzählen)\b|\bbleibt\s(?:\w+\s){0,2}?unter\suns\b|\bunter\suns\sgesagt\b"
    r"|\bbehalte?\s(?:\w+\s){0,3}?für\sdich\b|\bist\s(?:\w+\s){0,2}?(?:geheim|geheimnis|vertraulich)\b"
    r"|\bno\s(?:\w+\s){0,3}?(?:digas|cuentes)\s(?:\w+\s){0,2}?a\snadie\b|\bentre\s(?:nosotros|tú\sy\syo)\b"
    r"|\bes\sun\ssecreto\b"
    r"|\bne\s(?:\w+\s){0,2}?(?:dis|dites|raconte)\s(?:\w+\s){0,2}?à\spersonne\b|\bentre\snous\b|\best\sun\ssecret\b"
    r"|\bnon\s(?:\w+\s){0,2}?dir\w+\s(?:\w+\s){0,2}?a\snessuno\b|\bè\sun\ssegreto\b"
    r"|\bnão\s(?:\w+\s){0,2}?(?:conte|diga)\s(?:\w+\s){0,2}?a\sninguém\b|\bé\s(?:um\s)?segredo\b"
    r"|\bникому\sне\s(?:говори|рассказывай)\w*|\bмежду\sнами\b|\bэто\sсекрет\b|\bпо\sсекрету\b"
    r"|别告诉|不要告诉|保密|这是秘密|誰にも言わないで|内緒|秘密だ",
    re.IGNORECASE,
)
# Every way to say so holds one of these, or one of each of a pair; most texts do not, and need not be read closely.
HINTS = (
    "secret", "confiden", "off the record", "between us", "between you", "between ourselves", "nicht weiter",
    "unter uns", "geheim", "vertraulich", "nadie", "entre nosotros", "entre tú", "entre nous", "personne", "nessuno",
    "segreto", "ninguém", "segredo", "никому", "между нами", "секрет", "告诉", "保密", "秘密", "言わないで", "内緒",
)  # fmt: skip
PAIRS = (
    (("anyone", "anybody", "any one", "a soul", "other"), ("tell", "mention", "say", "share", "repeat")),
    (("no one", "noone", "nobody"), ("tell", "told")),
    (("keep",), ("between", "to yourself", "private", "quiet", "under wraps")),
    (("niemand", "keinem", "keiner"), ("sag", "erzähl", "verrat")),
    (("für dich",), ("behalt",)),
)
LOOKED_AT = 2000  # characters at either end of a message: what is in the middle of a long one was pasted
# What was found, by its hashes: nobody's words are kept.
MOST_KNOWN = 20_000
_known: dict[int, _Told] = {}
SHORTEST_TERM = 3  # letters: shorter words join sentences in most languages
# Words that say nothing about what a sentence is about, beside the stop words of search; stemmed as terms are.
COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    get got see new one two day way ich die der das und ist den dem des ein mit für von auf aus bei bin hab war wie was
    wer wir mir dir uns ihr sie man nur vor zum zur als que los las una por con del mis sus hay muy les est pas qui sur
    mes ses aux что как это где для его она они так уже или
    tell told know think want like need make made good time thing someth anyth everyth today tomorrow yesterday week
    year month still also much mani realli alway ever never everyon anyon someon peopl remind rememb say said
    aber alle alles auch dass dein deine denn dies diese dieser doch durch eine einem einen einer eines gibt habe haben
    hast hatte hier immer kann kein keine mehr mein meine meinem meinen meiner mich nach nicht noch oder schon sehr sein
    seine sich sind über unser unter viel wann warum wenn werd werde werden wird wurde welche welcher welches weil
    como cuando cual cuál cuándo dónde donde esta este esto está estoy hace para pero porque quien quién sobre tengo
    tiene todo todos avec dans elle leur mais nous pour quand quel quelle sont vous être avoir cette
    когда если меня мне мной может надо очень было была были есть чтобы тебя тебе этот эта того кого
        """,
    )
)


def worth_telling(found: Sequence[Hit], topic: str) -> list[Hit]:
    """Return what was found, without small talk and without secrets that the topic shares no word with."""
    asked = subjects(topic)
    read = [(hit, _read(hit)) for hit in found]
    secrets = [hit for hit, told in read if told.secret]
    hidden = {hit.id for hit in secrets if not asked & subjects(_uncovered(hit.content))}
    telling = [hit for hit, told in read if not told.nothing]
    return [hit for hit in telling if hit.id not in hidden and hidden.isdisjoint(hit.sources)]


class _Told(NamedTuple):
    """What a text tells by itself, whatever is asked."""

    secret: bool
    nothing: bool


def _read(hit: Hit) -> _Told:
    """What something that was found tells, read once: it is found again and again."""
    found = _known.get(key := hash((hit.kind, hit.role, hit.trusted, hit.content)))
    if found is None:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        found = _known[key] = _Told(_is_secret(hit), hit.kind == "message" and _says_nothing(hit))
    return found


def _says_nothing(hit: Hit) -> bool:
    return is_small_talk(hit.content) or (hit.role == "ai" and acknowledges(hit.content))


def subjects(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, as search compares them."""
    return frozenset(term for term in terms(text) if _is_subject(term))


def _is_subject(term: str) -> bool:
    # Of a script without spaces, two characters are a word, and one is in too many.
    return len(term) >= (2 if UNSPACED.match(term) or term.isdigit() else SHORTEST_TERM) and term not in COMMON


def _is_secret(hit: Hit) -> bool:
    """Whether the user said so, or something that was made of what the user said."""
    if hit.role not in (None, "human", "user") or not hit.trusted:
        return False
    return _asks_for_silence(hit.content[:LOOKED_AT]) or (
        len(hit.content) > LOOKED_AT and _asks_for_silence(hit.content[LOOKED_AT:][-LOOKED_AT:])
    )


def _asks_for_silence(text: str) -> bool:
    plain = text.lower() if text.isprintable() else " ".join(text.lower().split())
    return _is_hinted(plain.__contains__) and bool(SECRET.search(text))


def _is_hinted(holds: Callable[[str], bool]) -> bool:
    if any(map(holds, HINTS)):
        return True
    return any(any(map(holds, first)) and any(map(holds, second)) for first, second in PAIRS)


def _uncovered(content: str) -> str:
    """A secret without the words that make it one: who asks to be told something need not mean this."""
    return SECRET.sub(lambda match: " secret " if "secret" in match.group().lower() else " ", content)
