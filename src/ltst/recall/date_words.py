"""Date words: how German, Spanish and French say dates, as tables into the English that temporal.py reads.

Everything is written without accents, as texts are compared. A name in braces stands for any word of that table; what
it is in English is put where the same name stands on the right. Spaces stand for any space. The first that fits wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ltst.support.languages import FRENCH, GERMAN, SPANISH, Language

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
SEASONS = ["spring", "summer", "autumn", "winter"]
UNITS = ["day", "week", "weekend", "month", "quarter", "year", "decade", "hour", "minute"]
NUMBERS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
]
PLACES = ["first", "second", "third", "fourth", "last"]
PARTS = ["morning", "afternoon", "evening", "night"]
# What Germans count: a number before it is no year, which otherwise stands alone.
MEASURES = (
    "euro|eur|franken|chf|dollar|cent|kilometer|km|meter|m|schritte|stuck|leute|menschen|personen|kalorien|kcal|gramm|kg"
    "|kilo|prozent|mal|worter|seiten|punkte|watt|jahren?|tagen?|stunden|minuten|uhr|fotos|bilder|zeichen|mb|gb"
)
FEW, SEVERAL, COUPLE = "few", "several", "couple of"


@dataclass(frozen=True)
class Tongue:
    """What a language calls the parts of a date, and the phrases that it makes of them."""

    language: Language
    words: Mapping[str, Mapping[str, str]]
    phrases: tuple[tuple[str, str], ...]
    plain: Mapping[str, str] = field(default_factory=dict)


def _names(english: list[str], *called: str) -> dict[str, str]:
    """What each is called, in their order, several names with slashes between them and _ for a space."""
    said = " ".join(called).split()
    return {
        name.replace("_", " "): each
        for each, names in zip(english, said, strict=True)
        for name in names.split("/")
        if name != "-"
    }


def _alike(english: str, called: str) -> dict[str, str]:
    return {name.replace("_", " "): english for name in called.split()}


TONGUES = (
    Tongue(
        GERMAN,
        {
            "month": _names(
                MONTHS,
                "januar/janner/jaenner/jan februar/feber/feb marz/maerz april/apr mai juni juli august/aug",
                "september/sept/sep oktober/okt november/nov dezember/dez",
            ),
            "weekday": _names(WEEKDAYS, "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag"),
            "season": _names(SEASONS, "fruhling/fruhjahr/fruehling/fruehjahr sommer herbst winter"),
            "unit": _names(
                UNITS,
                "tag/tage/tagen/tages woche/wochen wochenende/wochenenden/wochenendes monat/monate/monaten/monats",
                "quartal/quartals/quartale/quartalen jahr/jahre/jahren/jahres jahrzehnt/jahrzehnte/jahrzehnten",
                "stunde/stunden minute/minuten",
            ),
            "count": _names(
                NUMBERS,
                "ein/eine/einem/einen/einer zwei drei vier funf/fuenf sechs sieben acht neun zehn elf zwolf/zwoelf",
                "dreizehn vierzehn funfzehn/fuenfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreisig/dreissig",
                "vierzig funfzig/fuenfzig sechzig",
            )
            | _alike(FEW, "ein_paar einige einigen wenige wenigen")
            | _alike(SEVERAL, "mehrere mehreren"),
            "place": _names(PLACES, "erste/ersten/erster zweite/zweiten dritte/dritten vierte/vierten letzte/letzten"),
            "part": _names(PARTS, "morgen/vormittag/fruh/frueh nachmittag/mittag abend nacht"),
            "edge": _alike("beginning", "anfang beginn") | _alike("middle", "mitte") | _alike("end", "ende"),
            "holiday": _alike("Christmas", "weihnachten")
            | _alike("Christmas Eve", "heiligabend heilig_abend")
            | _alike("New Year's Eve", "silvester")
            | _alike("New Year's Day", "neujahr")
            | _alike("Halloween", "halloween")
            | _alike("Valentine's Day", "valentinstag"),
            "about": _alike("about", "etwa ungefahr ungefaehr rund circa ca fast"),
            "last": _alike("last", "letzte letzten letzter letztes letztem vergangene vergangenen vergangener")
            | _alike("last", "vergangenes vergangenem vorige vorigen voriger voriges vorigem"),
            "this": _alike("this", "diese diesen dieser dieses diesem"),
            "next": _alike(
                "next", "nachste nachsten nachster nachstes naechste naechsten naechstes kommende kommenden"
            ),
            "to": _alike("to", "bis oder"),
        },
        (
            ("heute vor {count} {unit}", "{count} {unit}s ago today"),
            ("vor {about} {count} {unit}", "about {count} {unit}s ago"),
            ("vor {count} {to} {count2} {unit}", "{count} to {count2} {unit}s ago"),
            ("vor {count} {unit}", "{count} {unit}s ago"),
            ("seit {count} {unit}", "since {count} {unit}s ago"),
            ("in {count} {unit}", "{count} {unit}s from now"),
            ("(?:in den |wahrend der |die |den |der )?{last} {count} {unit}", "in the last {count} {unit}s"),
            ("(?:in den |die |den )?{next} {count} {unit}", "in the next {count} {unit}s"),
            ("(?:im |am |in der |der |des |dem |das )?vorletzte[nrsm]? {unit}", "the {unit} before last"),
            (
                "(?:in der |der |die )?{place} (?:{unit}|{weekday}) (?:im|des|vom) {month}",
                "the {place} {unit}{weekday} of {month}",
            ),
            ("letzte nacht", "last night"),
            ("des {last} {unit}", "of last {unit}"),
            ("(?:im |am |in der |der |dem |das |die |den )?{last} {unit}", "last {unit}"),
            ("(?:im |am |in |des )?{this} {unit}", "this {unit}"),
            ("(?:im |am |in der |der |die |das )?{next} {unit}", "next {unit}"),
            ("{edge} (?:der|des|vom) {unit}", "{edge} of this {unit}"),
            ("{edge} (?:des |vom |der )?", "{edge} of "),
            (
                "(?:am |den |im )?{last} (?:{weekday}|{month}|{season}|{holiday})",
                "last {weekday}{month}{season}{holiday}",
            ),
            (
                "(?:am |den |im )?{next} (?:{weekday}|{month}|{season}|{holiday})",
                "next {weekday}{month}{season}{holiday}",
            ),
            ("(?:im )?{this} (?:{weekday}|{month}|{season}|{holiday})", "this {weekday}{month}{season}{holiday}"),
            ("(?:vom )?{day}\\.? (?:bis (?:zum )?|und |-){day2}\\.? {month}", "{day}-{day2} {month}"),
            ("(?:am |den |dem |der )?{day}\\.? {month}", "on {month} {day}"),
            ("im (?:monat )?{month}", "in {month}"),
            ("{month} {year}", "{month} {year}"),
            ("(?:im jahre?|in) {year}", "in {year}"),
            ("im {season}", "in {season}"),
            ("{season} {year}", "{season} {year}"),
            ("(?:an|zu|uber) {holiday}", "at {holiday}"),
            ("(?:am )?{weekday}(?: )?{part}", "{weekday} {part}"),
            ("am {weekday}", "on {weekday}"),
            ("gestern {part}", "yesterday {part}"),
            ("heute nacht", "tonight"),
            ("heute {part}", "this {part}"),
            ("am wochenende", "over the weekend"),
            (f"(?<![.,:/$€£#-]){{year}}(?!(?: )?(?:{MEASURES})(?![a-z])|[\\d.,:/-]\\d|(?: )?[%€$])", "in {year}"),
        ),
        {
            "heute": "today",
            "gestern": "yesterday",
            "vorgestern": "two days ago",
            "morgen": "tomorrow",
            "ubermorgen": "two days from now",
            "uebermorgen": "two days from now",
            "heuer": "this year",
            "seit": "since",
            "seit dem": "since",
            "seit der": "since",
            "ab": "since",
            "ab dem": "since",
            "vor": "before",
            "vor dem": "before",
            "vor der": "before",
            "nach": "after",
            "nach dem": "after",
            "nach der": "after",
            "bis": "until",
            "bis zum": "until",
            "bis zur": "until",
            "von": "from",
            "vom": "from",
            "zwischen": "between",
            "zwischen dem": "between",
            "und": "and",
            "und dem": "and",
            "oder": "or",
            "um": "around",
            "jeden": "every",
            "jede": "every",
            "jedes": "every",
        },
    ),
    Tongue(
        SPANISH,
        {
            "month": _names(
                MONTHS,
                "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
            ),
            "weekday": _names(WEEKDAYS, "lunes martes miercoles jueves viernes sabado/sabados domingo/domingos"),
            "season": _names(SEASONS, "primavera verano otono invierno"),
            "unit": _names(
                UNITS,
                "dia/dias semana/semanas fin_de_semana/fines_de_semana mes/meses trimestre/trimestres ano/anos",
                "decada/decadas hora/horas minuto/minutos",
            ),
            "count": _names(
                NUMBERS,
                "un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis",
                "diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta",
            )
            | _alike(FEW, "unos unas algunos algunas pocos pocas unos_pocos unas_pocas unos_cuantos unas_cuantas")
            | _alike(SEVERAL, "varios varias")
            | _alike(COUPLE, "un_par_de"),
            "part": _names(PARTS, "manana tarde noche madrugada"),
            "edge": _alike("beginning", "principios comienzos inicios principio comienzo")
            | _alike("middle", "mediados")
            | _alike("end", "finales fines final"),
            "holiday": _alike("Christmas", "navidad navidades")
            | _alike("Christmas Eve", "nochebuena")
            | _alike("New Year's Eve", "nochevieja")
            | _alike("New Year's Day", "ano_nuevo")
            | _alike("Halloween", "halloween")
            | _alike("Valentine's Day", "san_valentin"),
            "about": _alike("about", "unos unas casi aproximadamente alrededor_de mas_o_menos como"),
            "last": _alike("last", "pasado pasada pasados pasadas ultimo ultima ultimos ultimas anterior"),
            "next": _alike("next", "proximo proxima proximos proximas siguiente siguientes que_viene"),
            "this": _alike("this", "este esta"),
            "to": _alike("to", "a o"),
        },
        (
            ("desde hace {count} {unit}", "since {count} {unit}s ago"),
            ("hace {about} {count} {unit}", "about {count} {unit}s ago"),
            ("hace {count} {to} {count2} {unit}", "{count} to {count2} {unit}s ago"),
            ("hace {count} {unit}", "{count} {unit}s ago"),
            ("{count} {unit} atras", "{count} {unit}s ago"),
            ("(?:dentro de|en) {count} {unit}", "{count} {unit}s from now"),
            ("(?:en |durante )?(?:los|las) {last} {count} {unit}", "in the last {count} {unit}s"),
            ("(?:en |durante )?(?:los|las) {count} {last} {unit}", "in the last {count} {unit}s"),
            ("(?:en |durante )?(?:los|las) {last} {unit}", "in the last few {unit}s"),
            ("(?:en )?(?:los|las) {next} {count} {unit}", "in the next {count} {unit}s"),
            ("(?:en )?(?:los|las) {next} {unit}", "in the next few {unit}s"),
            ("(?:en )?(?:el |la )?{unit} antepasad[oa]", "the {unit} before last"),
            ("(?:de|del|de la) {unit} {last}", "of last {unit}"),
            ("(?:en )?(?:el |la )?{unit} {last}", "last {unit}"),
            ("(?:en )?(?:el |la ){last} {unit}", "last {unit}"),
            ("(?:de|en|durante) {this} {unit}", "this {unit}"),
            ("{this} {unit}", "this {unit}"),
            ("(?:en )?(?:el |la )?{unit} {next}", "next {unit}"),
            ("(?:en )?(?:el |la ){next} {unit}", "next {unit}"),
            ("(?:a |al )?{edge} del {unit}(?! {last})", "{edge} of this {unit}"),
            ("(?:a |al )?{edge} de {unit}", "{edge} of this {unit}"),
            ("(?:a |al )?{edge} (?:del|de la|de)", "{edge} of"),
            ("(?:en )?(?:el |la )?(?:{weekday}|{month}|{season}) {last}", "last {weekday}{month}{season}"),
            ("(?:en )?(?:el |la )(?:{last}) (?:{weekday}|{month}|{season})", "last {weekday}{month}{season}"),
            ("(?:en )?(?:el |la )?(?:{weekday}|{month}|{season}) {next}", "next {weekday}{month}{season}"),
            ("(?:en )?(?:el |la )(?:{next}) (?:{weekday}|{month}|{season})", "next {weekday}{month}{season}"),
            ("{this} (?:{weekday}|{month}|{season})", "this {weekday}{month}{season}"),
            (
                "(?:del |el )?{day} (?:al|a|y) (?:el )?{day2} de {month} (?:de |del ){year}",
                "{day}-{day2} {month} {year}",
            ),
            ("(?:del |el )?{day} (?:al|a|y) (?:el )?{day2} de {month}", "{day}-{day2} {month}"),
            ("(?:el )?(?:primero|1o) de {month}", "on {month} 1"),
            ("(?:el )?{day} de {month} (?:de |del ){year}", "on {month} {day}, {year}"),
            ("(?:el )?{day} de {month}", "on {month} {day}"),
            ("en (?:el mes de )?{month} (?:de |del ){year}", "in {month} {year}"),
            ("{month} (?:de |del ){year}", "{month} {year}"),
            ("(?:de|desde) {month} (?:a|hasta) {month2}", "from {month} to {month2}"),
            ("(?:en (?:el mes de )?|durante ){month}", "in {month}"),
            ("en (?:el )?(?:ano )?{year}", "in {year}"),
            ("{season} (?:de |del ){year}", "{season} {year}"),
            ("(?:en|durante) (?:la |el )?{season}", "in {season}"),
            ("(?:en|por) (?:la |el )?{holiday}", "at {holiday}"),
            ("esta noche", "tonight"),
            ("{this} {part}", "this {part}"),
            ("ayer (?:por|en|a) la {part}", "yesterday {part}"),
            ("(?:el )?{weekday} (?:por|en|a) la {part}", "{weekday} {part}"),
            ("los {weekday}", "every {weekday}"),
            ("el {weekday}", "on {weekday}"),
            ("(?:por|de|en) la {part}", "x"),
            ("el fin de semana", "over the weekend"),
        ),
        {
            "hoy": "today",
            "ayer": "yesterday",
            "anteayer": "two days ago",
            "antier": "two days ago",
            "antes de ayer": "two days ago",
            "anoche": "last night",
            "pasado manana": "two days from now",
            "manana": "tomorrow",
            "desde": "since",
            "desde el": "since",
            "desde la": "since",
            "antes de": "before",
            "antes del": "before",
            "antes de la": "before",
            "despues de": "after",
            "despues del": "after",
            "despues de la": "after",
            "hasta": "until",
            "hasta el": "until",
            "hasta la": "until",
            "entre": "between",
            "entre el": "between",
            "y": "and",
            "y el": "and",
            "o": "or",
            "cada": "every",
            "todos los": "every",
            "todas las": "every",
        },
    ),
    Tongue(
        FRENCH,
        {
            "month": _names(
                MONTHS, "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre"
            ),
            "weekday": _names(WEEKDAYS, "lundi mardi mercredi jeudi vendredi samedi dimanche"),
            "season": _names(SEASONS, "printemps ete automne hiver"),
            "unit": _names(
                UNITS,
                "jour/jours semaine/semaines week-end/week-ends/weekend/weekends mois trimestre/trimestres",
                "an/ans/annee/annees decennie/decennies heure/heures minute/minutes",
            ),
            "count": _names(
                NUMBERS,
                "un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept",
                "dix-huit dix-neuf vingt trente quarante cinquante soixante",
            )
            | _alike(FEW, "quelques")
            | _alike(SEVERAL, "plusieurs")
            | _alike(COUPLE, "une_paire_de"),
            "part": _names(PARTS, "matin apres-midi soir/soiree nuit"),
            "edge": _alike("beginning", "debut") | _alike("middle", "milieu") | _alike("end", "fin"),
            "holiday": _alike("Christmas", "noel")
            | _alike("New Year's Eve", "saint-sylvestre")
            | _alike("New Year's Day", "nouvel_an jour_de_l'an")
            | _alike("Halloween", "halloween")
            | _alike("Valentine's Day", "saint-valentin"),
            "about": _alike("about", "environ presque a_peu_pres pres_de"),
            "last": _alike("last", "dernier derniere derniers dernieres passe passee passes passees"),
            "next": _alike("next", "prochain prochaine prochains prochaines"),
            "this": _alike("this", "ce cet cette"),
            "to": _alike("to", "a ou"),
        },
        (
            ("il y a {about} {count} {unit}", "about {count} {unit}s ago"),
            ("il y a {count} {to} {count2} {unit}", "{count} to {count2} {unit}s ago"),
            ("(?:il y a|ca fait) {count} {unit}", "{count} {unit}s ago"),
            ("depuis {count} {unit}", "since {count} {unit}s ago"),
            ("dans {count} {unit}", "{count} {unit}s from now"),
            ("(?:au cours )?(?:ces|les|des) {count} {last} {unit}", "in the last {count} {unit}s"),
            ("(?:au cours )?(?:ces|les|des) {last} {unit}", "in the last few {unit}s"),
            ("(?:ces|les|des) {count} {next} {unit}", "in the next {count} {unit}s"),
            ("l'avant-derni(?:er|ere) {unit}", "the {unit} before last"),
            ("(?:de l'|de la |du ){unit} {last}", "of last {unit}"),
            ("la nuit derniere", "last night"),
            ("(?:l'|le |la |au |en )?{unit} {last}", "last {unit}"),
            ("(?:de )?{this} {unit}(?:-ci)?", "this {unit}"),
            ("(?:l'|le |la )?{unit} {next}", "next {unit}"),
            ("(?:au |a la |en )?{edge} (?:de l'|de la |du ){unit}(?! {last})", "{edge} of this {unit}"),
            ("(?:au |a la |en )?{edge} (?:de l'|de la |de |du |d')?", "{edge} of "),
            ("(?:a la )?mi-{month}", "middle of {month}"),
            ("(?:l'|le |la |au |en )?(?:{weekday}|{month}|{season}) {last}", "last {weekday}{month}{season}"),
            ("(?:l'|le |la |au |en )?(?:{weekday}|{month}|{season}) {next}", "next {weekday}{month}{season}"),
            ("{this} (?:{weekday}|{season})", "this {weekday}{season}"),
            ("(?:du )?{day}(?:er)? (?:au|et) {day2} {month}", "{day}-{day2} {month}"),
            ("(?:le )?{day}(?:er)? {month}", "on {month} {day}"),
            ("(?:de |d'|depuis ){month} (?:a|jusqu'en|jusqu'a) {month2}", "from {month} to {month2}"),
            ("(?:en |au mois de |au mois d'|durant le mois de ){month}", "in {month}"),
            ("{month} {year}", "{month} {year}"),
            ("en (?:l'an )?{year}", "in {year}"),
            ("(?:de )?(?:l')?{season} {year}", "{season} {year}"),
            ("(?:en |au |pendant l'|durant l'|pendant le |cours de l'){season}", "in {season}"),
            ("(?:a |pour |au |le ){holiday}", "at {holiday}"),
            ("ce soir", "tonight"),
            ("cette nuit", "last night"),
            ("{this} {part}", "this {part}"),
            ("hier {part}", "yesterday {part}"),
            ("tous les {weekday}s?", "every {weekday}"),
            ("(?:le )?{weekday} {part}", "{weekday} {part}"),
            ("(?:le|au) week-?end", "over the weekend"),
        ),
        {
            "aujourd'hui": "today",
            "hier": "yesterday",
            "avant-hier": "two days ago",
            "demain": "tomorrow",
            "apres-demain": "two days from now",
            "depuis": "since",
            "depuis le": "since",
            "depuis la": "since",
            "a partir de": "since",
            "a partir du": "since",
            "avant": "before",
            "avant le": "before",
            "avant la": "before",
            "apres": "after",
            "apres le": "after",
            "apres la": "after",
            "jusqu'a": "until",
            "jusqu'au": "until",
            "jusqu'en": "until",
            "entre": "between",
            "entre le": "between",
            "et": "and",
            "et le": "and",
            "ou": "or",
            "chaque": "every",
        },
    ),
)
