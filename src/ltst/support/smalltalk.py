"""Small talk: messages that only greet, thank, agree or take note, in which there is nothing to remember."""

from __future__ import annotations

import re

from ltst.support.tables import Table

LONGEST = 80  # characters; who writes more says something
FEW = 3  # words: so many say nothing even where none of them is telling ("go on", "do it then")

WORD = re.compile(r"[^\W_]+")

_TABLE = Table("ltst.support", "smalltalk.txt")
TELLING, BESIDE = _TABLE.words("telling"), _TABLE.words("beside")
# Scripts without spaces between words: whole phrases, one after another, and the particles behind them.
UNSPACED = re.compile(
    "(?:谢谢|謝謝|多谢|感谢|好的|好吧|好|嗯|是的|是|对|没问题|明白|知道|收到|记住|不客气|晚安|早安|早上|晚上|再见|拜拜|你好|您好"
    "|ありがとう|ございます|どうも|はい|いいえ|了解|です|しました|わかりました|おやすみ|なさい|こんにちは|おはよう|さようなら|お願いします"
    "|감사합니다|고마워|고맙습니다|네|예|알겠습니다|안녕|하세요|잘자)+[你您啦了吧啊呀哦呢요]*"
)
# How an assistant begins that takes note; what follows repeats what it was told.
NOTED = re.compile(
    r"\W{0,3}(?:noted|understood|got it|will do|okay|ok|alright|sure thing|i['’]ll remember(?: that)?|recorded|saved"
    r"|ready|verstanden|notiert|alles klar|ist notiert|mache ich|entendido|anotado|noté|compris|понял|понятно"
    r"|записал)\b\s?[.:,;!–—-]",
    re.IGNORECASE,
)
LONGEST_NOTE = 60  # characters; a longer one may answer something too
GREETING = re.compile(
    r"(?:(?:hi|hey|hello)\W{0,3}(?:there\W{0,3})?)?(?:how are (?:you|things)|how(?:['’]s| is) it going|what['’]s up"
    r"|wie geht['’]?s(?: dir)?|qué tal|cómo estás|ça va|come stai|как дела|你好吗|元気ですか)"
    r"(?: doing)?(?: today)?\W{0,5}",
    re.IGNORECASE,
)


def is_small_talk(text: str) -> bool:
    """Returns whether a text only greets, thanks, agrees or takes note ("OK, thanks!", "Noted.", "谢谢")."""
    if len(text) > LONGEST or "?" in text or "？" in text:
        return bool(GREETING.fullmatch(text))
    words = WORD.findall(text.casefold())
    told = [word for word in words if not UNSPACED.fullmatch(word)]
    if not told:
        return True  # but for such phrases there are only marks and pictures
    telling = len(told) < len(words) or len(told) <= FEW or any(word in TELLING for word in told)
    return telling and all(word in TELLING or word in BESIDE for word in told)


def acknowledges(text: str) -> bool:
    """Returns whether an answer only takes note of what was said ("Understood: raw SQL only.")."""
    first = NOTED.match(text)
    return first is not None and len(text) <= LONGEST_NOTE
