"""The table of rules: which rules to try for a period, by the word that it begins with."""

from __future__ import annotations

from ltst.recall.dates import english, named, relative
from ltst.recall.dates.phrases import Rules

_TABLE = (
    (english.TODAYS.keys() | {"tonight"}, (relative.read_today,)),
    (
        english.NUMBERS.keys()
        | english.VAGUE.keys()
        | english.words_of("about roughly approximately nearly almost maybe half"),
        (relative.read_ago, relative.read_away),
    ),
    (english.ORDINALS.keys() | {"final"}, (relative.read_ordinal, named.read_day_month)),
    (
        english.words_of("last"),
        (relative.read_ordinal, relative.read_beside, relative.read_this_morning, relative.read_which),
    ),
    (english.words_of("this"), (relative.read_this_morning, relative.read_which)),
    (english.words_of("these past previous current next coming upcoming"), (relative.read_which,)),
    (english.words_of("day night morning afternoon evening"), (relative.read_beside,)),
    (english.words_of("week month"), (relative.read_beside, relative.read_before_last)),
    (english.words_of("year"), (relative.read_beside, relative.read_before_last, named.read_the_year)),
    (english.words_of("quarter"), (relative.read_before_last,)),
    (english.words_of("weekend"), (relative.read_beside, relative.read_before_last, relative.read_weekend)),
    (english.words_of("early mid late beginning start middle end"), (relative.read_part,)),
    (english.MONTHS.keys(), (named.read_month,)),
    (english.WEEKDAYS.keys(), (named.read_weekday,)),
    (named.SEASONS.keys(), (named.read_season,)),
    (
        english.words_of(
            "christmas xmas new hallowe halloween valentine valentines st saint independence boxing thanksgiving"
        ),
        (named.read_holiday,),
    ),
    (english.words_of("q"), (named.read_quarter,)),
)
RULES = Rules(
    by_word={word: rules for words, rules in _TABLE for word in words},
    by_number=(
        named.read_numeric,
        relative.read_ordinal,
        named.read_day_month,
        relative.read_ago,
        relative.read_away,
        named.read_day_alone,
        named.read_year,
    ),
    leading=english.DETERMINERS.union(
        english.EDGES, english.words_of("in on during over throughout around at for of from ever between")
    ),
)
