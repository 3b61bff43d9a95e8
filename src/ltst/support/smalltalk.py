"""Small talk: messages that only greet, thank, agree or take note, in which there is nothing to remember."""

from __future__ import annotations

import re

LONGEST = 80  # characters; who writes more says something
FEW = 3  # words: so many say nothing even where none of them is telling ("go on", "do it then")

WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# One of these makes a message small talk where it has no other words than these and those that go with them.
TELLING = _words(
    """
    thanks thank thx ty cheers ok okay okey k kk yes yeah yep yup ya no nope nah sure great good nice cool fine perfect
    awesome wonderful excellent lovely brilliant amazing super noted understood alright done roger acknowledged agreed
    right correct exactly absolutely definitely certainly deal bye goodbye goodnight hi hello hey hiya welcome lol haha
    hahaha hm hmm oh wow ah aha sorry please congrats congratulations pleasure anytime glad ahead morning see confirmed
    danke dank dankeschön bitte ja jo jep nein nee genau gut super prima toll klasse klar verstanden notiert erledigt
    gemacht gern gerne hallo moin servus tschüss tschüs ciao nacht passt stimmt gespeichert vermerkt
    gracias vale sí si claro perfecto bueno bien genial hola adiós adios buenas buenos entendido anotado hecho listo
    merci oui non accord parfait bonjour bonsoir bonne salut revoir noté compris volontiers
    grazie perfetto buongiorno buonasera buonanotte prego capito fatto sì bene
    obrigado obrigada sim não olá tchau certo boa bom anotado
    bedankt goed prima hoi dag dzięki tak nie tack hej takk tak
    спасибо да нет хорошо ладно ок понятно понял поняла привет пока отлично пожалуйста здравствуйте свидания
    записал записала готово доброе добрый спокойной
    """
)
BESIDE = _words(
    """
    a again all and are as at be bit both care d day do enough evening afternoon everything fantastic for from go got
    guys happy have help i if in is it its just later ll lot m makes many me mind much my never night not now of on or
    problem re really s sense sleep so soon sounds t take that the then there this to tomorrow too true u up ve very way
    weekend well will with works worries would you your
    alles aber abend auch auf bald bis dann das dein deine den dir du ein eine einen es für fürs gute guten guter gutes
    hilfe ich ist mach mache machs machst mal mir morgen noch schon schön schöne schönen schönes sehr so später tag
    und uns viel vielen vielmals war wird wochenende wunderbar
    ayuda de del día días el en es eso esta está este fin hasta la las lo luego mañana me mi mucha muchas mucho muy nada
    noche noches por que semana tarde tardes te todo tu un una y ya
    à au aussi beaucoup bien c ce ces d demain est et fait il je journée la le les ma mais mille moi mon nuit ok on pas
    plus pour rien soir soirée tard te tes toi ton tout très tu un une vous
    a bella buona che cosa di domani e giorno il la mille molto notte sera tutto va
    ajuda amanhã de dia e muito muita noite obrigado por tarde tudo você
    большое огромное очень до завтра ночи утро вечер день и все всё тебе вам я за помощь что так это
    """
)
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
    """Return whether a text only greets, thanks, agrees or takes note ("OK, thanks!", "Noted.", "谢谢")."""
    if len(text) > LONGEST or "?" in text or "？" in text:
        return bool(GREETING.fullmatch(text))
    words = WORD.findall(text.casefold())
    told = [word for word in words if not UNSPACED.fullmatch(word)]
    if not told:
        return True  # but for such phrases there are only marks and pictures
    telling = len(told) < len(words) or len(told) <= FEW or any(word in TELLING for word in told)
    return telling and all(word in TELLING or word in BESIDE for word in told)


def acknowledges(text: str) -> bool:
    """Return whether an answer only takes note of what was said ("Understood: raw SQL only.")."""
    first = NOTED.match(text)
    return first is not None and len(text) <= LONGEST_NOTE
