"""Languages: which one a text is in, told by its commonest words and its letters, and the stemmer for it.

The guess costs a look at each word, is the same every time, and says nothing where it is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """
    a about above after again against ain all am an and any are aren as at be because been before being below
    between both but by can could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its
    itself just let ll m me might more most mustn my myself no nor not now o of off on once only or other our ours
    ourselves out over own re s same shan she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through to too under until up ve very was wasn we were weren what
    when where which while who whom why will with won would wouldn y you your yours yourself yourselves
        """,
    )
)


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, the name of its stemmer, its commonest words, and letters that few others have."""

    code: str
    stemmer: str
    stop_words: frozenset[str]
    letters: frozenset[str]


def _language(code: str, stemmer: str, letters: str, words: str) -> Language:
    return Language(code, stemmer, frozenset(words.split()), frozenset(letters))


GERMAN = _language(
    "de", "german", "äöüß",
    """
    aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei
    beim bin bis bist da damit dann das dass daß dein deine deinem deinen deiner dem den denn der des dich die dies
    diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einig einige einigen
    einmal er es etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn
    ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jene jener jetzt kann kein
    keine keinem keinen keiner können könnte machen man manche mein meine meinem meinen meiner meines mich mir mit
    muss musste nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit selbst
    sich sie sind so solche soll sollte sondern sonst über um und uns unser unsere unserem unseren unter viel vom
    von vor während war waren warst was weil welche welchem welchen welcher welches wann warum wem wen wer werde
    werden wie wieder will wir wird wirst wo wohin woher wurde wurden wäre würde würden zu zum zur zwar zwischen
    """,
)  # fmt: skip
SPANISH = _language(
    "es", "spanish", "ñáíóú",
    """
    a al algo algunas algunos ante antes aquel aquella así aunque cada como con contra cual cuando cuál cuáles
    cuándo cuánto cuánta cuántos cuántas cómo de del desde donde dónde durante e el ella ellas ellos en entre era
    eran eras eres es esa esas ese eso esos esta estaba estaban estado estamos estar estas este esto estos estoy
    está están fue fueron fui había habían hace hacer han has hasta hay he hemos la las le les lo los me mi mis
    mucho muchos muy más mía mío nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro
    otros para pero poco por porque pues que quien quienes quién qué se sea ser será si sido sin sobre sois somos
    son soy su sus suya suyo sí también tanto te tenemos tener tengo tenía ti tiene tienen tienes todo todos tu tus
    tuvo tuya tuyo tú un una unas uno unos vosotros y ya yo él
    """,
)  # fmt: skip
FRENCH = _language(
    "fr", "french", "àâçèêëîïôœùû",
    """
    ai aie ait alors après as au aucun aussi autre aux avaient avais avait avant avec avez avoir avons ayant bien c
    ce ceci cela celle celles celui ces cet cette ceux chez comme comment d dans de depuis des dont donc du déjà
    elle elles en encore entre es est et étaient étais était été être eu eux faire fait fois font furent fut il ils
    j je jusqu l la le les leur leurs lors lorsque lui là m ma mais me mes moi moins mon même n ne ni non nos notre
    nous nôtre on ont ou où par parce pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui
    quoi s sa sans se sera serait ses si sien son sont sous suis sur t ta tandis te tes toi ton tous tout toute
    toutes très tu un une vers vos votre vous y à ça
    """,
)  # fmt: skip
PORTUGUESE = _language(
    "pt", "portuguese", "ãõçáâêíóú",
    """
    a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele deles depois do dos e
    ela elas ele eles em entre era eram essa essas esse esses esta estamos estas estava estavam este estes estou
    está estão eu foi fomos foram fui há isso isto já la lhe lhes lo mais mas me mesmo meu meus minha minhas muito
    muita na nas nem no nos nossa nossas nosso nossos não nós num numa o onde os ou para pela pelas pelo pelos por
    porque qual quais quando quanto quantos que quem são se seja sem ser seu seus sim sou sua suas só também te tem
    temos tenho ter teu teve tinha tu tua tudo têm um uma umas uns vai você vocês vos à às é
    """,
)  # fmt: skip
ITALIAN = _language(
    "it", "italian", "àèìòù",
    """
    a abbiamo agli ai al alla alle allo anche ancora avere aveva avevano avevo c che chi ci ciò coi col come con
    contro cui da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove dov e ed era
    erano ero essere fa fare fino fra fu furono gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mai me
    mi mia mie miei mio molto ne negli nei nel nell nella nelle nello no noi non nostra nostre nostri nostro o ogni
    oppure per perché però più poco poi prima qual quale quali quando quanta quante quanti quanto quel quella quelle
    quelli quello questa queste questi questo qui se sei senza si sia siamo siete sono sta stata stato sto su sua
    sue sugli sui sul sulla sulle suo suoi tra tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostro è
    """,
)  # fmt: skip
DUTCH = _language(
    "nl", "dutch", "ĳ",
    """
    aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge
    geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je jij jou jouw
    jullie kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons onze
    ook op over reeds sinds te tegen toch toen tot tussen u uit uw van veel voor waar waarom wanneer want waren was
    wat we welk welke werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
    """,
)  # fmt: skip
SWEDISH = _language(
    "sv", "swedish", "å",
    """
    alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt du där då
    efter ej eller en er era ert ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inom
    inte jag ju kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på
    samma sedan sig sin sina sitta själv skulle som så sådan till under upp ut utan vad var vara varför varit varje
    vars vart vem vi vid vilka vilken vilket vår våra vårt än är åt över
    """,
)  # fmt: skip
DANISH = _language(
    "da", "danish", "æø",
    """
    ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
    eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hvis hvor hvorfor
    hvornår i ikke ind ja jeg jer jo kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og
    også om op os over på selv sig sin sine sit skal skulle som sådan thi til ud under var vi vil ville vor været
    """,
)  # fmt: skip
NORWEGIAN = _language(
    "no", "norwegian", "æø",
    """
    alle at av bare ble bli blir da de deg dem den denne der deres det dette di din disse ditt du dykk eller en er
    et etter for fordi fra før ha hadde han hans har hennes her hun hva hvem hvilken hvis hvor hvorfor i ikke ingen
    inn jeg kan kom kunne man mange med meg meget mellom men min mine mitt mot mye nå når noe noen og også om opp
    oss over på samme seg selv sin sine sitt skal skulle slik som så til um under ut uten var ved vi vil ville vår
    være vært
    """,
)  # fmt: skip
POLISH = _language(
    "pl", "polish", "ąćęłńśźż",
    """
    a aby ale bardzo bez bo bym był była było były być chce ci ciebie co coś czy dla do dlaczego gdy gdzie go i ich
    ile im ja jak jako jakie jaki jaka je jego jej jest jestem jeszcze jeśli już każdy kiedy kogo kto która które
    który ktoś lub ma mam mi miał miała mnie moja moje mojego mojej mój może my na nad nam nas nasz nasza nic nie
    nigdy niż o od ona one oni ono oraz po pod ponieważ przed przez przy się są ta tak także tam te tego tej ten
    teraz to tu tutaj twoja twój ty tych tylko tym u w was wasz we więc wszystko z za ze że żeby
    """,
)  # fmt: skip
CZECH = _language(
    "cs", "czech", "ěřůďťň",
    """
    a aby ale ani asi až bez bude budu by byl byla bylo být co což do gdy ho i já jak jako je jeho její jejich jen
    ještě již jsem jsi jsme jsou k kde kdo kdy kdyby když která které který má mám mě mezi mi mně moje můj na nad
    nám náš ne nebo nebyl není než nic o od on ona oni pak po pod podle pro proč protože před přes při s se si tak
    také tam ten tento to toho tomu tu tvůj ty u už v vám váš ve však za ze že
    """,
)  # fmt: skip
ROMANIAN = _language(
    "ro", "romanian", "ăâîșşțţ",
    """
    a acea aceasta această acest aceasta ai al ale am ar are as asta au avea aș că care ce cel cine cu cum când da
    dar de decât despre din după e ea ei el ele era este eu fi fost face fără iar ca îi îl îmi în între le la lor
    lui mai mea meu mult mă ne nici noastră noi nostru nu o ori pe pentru până sa sale sau se sunt să său te tot
    toate tu ți un una unde unei unor unui vă voi vor vostru și
    """,
)  # fmt: skip
TURKISH = _language(
    "tr", "turkish", "ğış",
    """
    acaba ama ancak bana bazı belki ben beni benim bir biri birkaç biz bizim bu buna bunu bunun çok çünkü da daha de
    defa diye değil eğer en gibi hangi hem hep hepsi her hiç için ile ise kaç kez ki kim kime mi mu mü mı nasıl ne
    neden nerede nereye niye o olan olarak oldu olduğu on ona onlar onu onun sana sen senin siz sizin şey şu tüm ve
    veya ya yani zaman
    """,
)  # fmt: skip
FINNISH = _language(
    "fi", "finnish", "",
    """
    ei eivät emme en ette että eli he heidän heille hän häneen hänelle hänen häntä ja jos joka jotka jonka kaikki
    kanssa kuin kuka kun koska keskellä me meidän meille mikä minkä milloin minua minulla minulle minun minut minä
    missä miten miksi mitä mutta myös ne niin nyt noin näin nämä ole olen olet oli olimme olin olisi olivat olla
    ollut on ovat se sen siellä sillä siinä sinä sinun sinulla sitten sitä tai te teidän tämä tämän tässä vain vaan
    voi
    """,
)  # fmt: skip
HUNGARIAN = _language(
    "hu", "hungarian", "őű",
    """
    a abban ahhoz ahogy ahol aki akik akkor alatt amely ami amikor annak arra az azok azon azt azért be csak de e
    ebben egy egyik el ellen én és ez ezek ezen ezt ezért fel hanem hogy hogyan hol hova ha így ilyen is itt ki kell
    kellett le lesz lett majd meg mely melyik mert mi miért mikor mint minden mit már más még nagyon ne nekem nem
    neki nincs néha ők ő olyan össze ott sem sok szerint te tehát ti több utolsó után úgy vagy vagyok van vannak
    volt voltam voltak vele
    """,
)  # fmt: skip
RUSSIAN = _language(
    "ru", "russian", "ыэъё",
    """
    а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот впрочем все всегда всего
    всех всю вы где да даже два для до другой его ее ей ему если есть еще ещё её ж же за зачем здесь и из или им
    иногда их к как какая какой какие когда конечно которого которые который которая кто куда ли лучше между меня
    мне много может можно мой моя моё мои моего моей моём моему мы на над надо наконец нас не него нее ней нельзя
    нет ни нибудь никогда ним них ничего но ну о об один он она они оно опять от перед по под после потом потому
    почти при про раз разве с сам свою себе себя сейчас сколько со совсем так такой там тебя тем теперь то тогда
    того тоже только том тот три тут ты у уж уже хорошо хоть чего чей чем через что чтоб чтобы чуть эти этого этой
    этом этот эту это я
    """,
)  # fmt: skip
UKRAINIAN = _language(
    "uk", "", "ґєії",
    """
    а але би був була були було бути в ви від вона вони воно все всі він де для до є її його з за зі й і із їх коли
    хто мене мені ми мій моя моє мої на навіть нам нас не немає ні ну о один під по при про с свій себе та так також
    там ти тільки то тобі того тому тут у це цей ця чи чому що щоб як яка який які я
    """,
)  # fmt: skip

GREEK = _language("el", "greek", "", "")
ARMENIAN = _language("hy", "armenian", "", "")
ARABIC = _language("ar", "arabic", "", "")
HINDI = _language("hi", "hindi", "", "")
TAMIL = _language("ta", "tamil", "", "")

# The first is taken where two look alike.
LANGUAGES = (
    GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, DUTCH, SWEDISH, POLISH, RUSSIAN, DANISH, NORWEGIAN, CZECH, ROMANIAN,
    TURKISH, FINNISH, HUNGARIAN, UKRAINIAN,
)  # fmt: skip
SHARE = 12  # one of so many different words is a common one of the language
LEAST = 2  # how many of a language's words tell it: "Los Angeles" is no Spanish
# What a word in letters of its own is in, where no common word tells it.
SCRIPTS = (
    (re.compile("[\u0400-\u052f]"), RUSSIAN),
    (re.compile("[\u0370-\u03ff]"), GREEK),
    (re.compile("[\u0530-\u058f]"), ARMENIAN),
    (re.compile("[\u0600-\u06ff]"), ARABIC),
    (re.compile("[\u0900-\u097f]"), HINDI),
    (re.compile("[\u0b80-\u0bff]"), TAMIL),
)
# Letters that stand alone, and what every address has, tell nothing.
_MUTE = ENGLISH | {"com"} | {chr(code) for code in range(ord("a"), ord("z") + 1)}
_TELLING = {language.code: language.stop_words - _MUTE for language in LANGUAGES}
_ENGLISH_ONLY = {language.code: ENGLISH - language.stop_words for language in LANGUAGES}
_ANY = frozenset[str]().union(*_TELLING.values())
_LETTERS = frozenset[str]().union(*(language.letters for language in LANGUAGES))


def guess(words: Collection[str]) -> Language | None:
    """Return the language of a text by its words in small letters; None for English, and where nothing tells.

    Words count once each. A language needs more than twice as many words of its own as there are of English, and two at
    least; one will do beside a letter that English has not. Of a list of names they are too few.
    """
    distinct = {*words}
    foreign = [word for word in distinct if not word.isascii()]
    found = distinct & _ANY
    return (_by_words(distinct, found, foreign) if found else None) or (
        _by_script(distinct, foreign) if foreign else None
    )


def _by_words(distinct: set[str], found: set[str], foreign: Collection[str]) -> Language | None:
    letters = _LETTERS & {*"".join(foreign)}
    best, most = None, 0
    for language in LANGUAGES:
        own = len(found & _TELLING[language.code])
        if own <= 2 * len(distinct & _ENGLISH_ONLY[language.code]) or own * SHARE < len(distinct):
            continue
        count = own + bool(letters & language.letters)
        if count >= LEAST and count > most:
            best, most = language, count
    return best


def _by_script(distinct: set[str], foreign: Collection[str]) -> Language | None:
    for letter, language in SCRIPTS:
        if sum(letter.match(word) is not None for word in foreign) * 2 > len(distinct):
            return language
    return None
