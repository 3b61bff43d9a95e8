"""Invented: words after which a text is supposed, made up or asked for, and tells nothing of its writer's life."""

from __future__ import annotations

import re

from ltst.support.text import holds_any

_ABROAD = re.compile(
    r"\b(?:stell(?:t|en)? (?:dir|euch|sie sich|wir uns)\b[^.!?\n]{0,20} vor|angenommen|nehmen wir an|was wäre,? wenn"
    r"|wenn ich [^.!?\n]{0,60}\b(?:wäre|hätte|würde|könnte)|ich wünschte|es war einmal|tu so,? als"
    r"|spielst? (?:du )?(?:die rolle|eine[nr]?)\b|in meine[mr] (?:traum|geschichte|roman|spiel)"
    r"|imagin(?:a|emos|ate|ad|ons|ez)|suponga?mos|supón|suponha|si (?:yo )?(?:fuera|fuese|tuviera|pudiera|viviera)"
    r"|ojalá|érase una vez|era uma vez|se eu (?:fosse|tivesse|pudesse)|haz de cuenta"
    r"|suppos(?:ons|ez)|admettons|si j'(?:étais|avais|habitais)|il était une fois|fais semblant"
    r"|immagina|supponiamo|se (?:io )?(?:fossi|avessi)|c'era una volta|fai finta"
    r"|stel (?:je voor|dat)|er was eens|doe alsof)\b"
    # What is asked for begins a sentence; within one, somebody tells that they write.
    r"|(?:\A|[.!?:;¡]\s{0,3}|\b(?:bitte|por favor|per favore|kannst du|puedes|peux-tu)\s{1,3})"
    r"(?:schreibe?|übersetze?|escrib[ea]|escreva|traduce|traduza|écri(?:s|vez)|traduis(?:ez)?|scrivi|traduci|schrijf"
    r"|vertaal)(?:-moi|me|mi)?\b",
    re.I,
)
_TAKEN_BACK = re.compile(
    r"\b(?:nur|kleiner|war) (?:ein )?(?:spaß|scherz|witz)\b|\b(?:es|era)(?: una)? broma\b|\bbrincadeira\b"
    r"|\bje (?:plaisante|rigole)\b|\b(?:sto )?scherz(?:o|ando)\b|\bgrapje\b",
    re.I,
)
# One of these is in whatever the pattern finds: to look for them first costs less.
_SIGNS = tuple(
    """
    stell|angenommen|nehmen wir|wäre|wenn ich|wünschte|einmal|tu so|spiel|in meine|schreib|setz|spaß|scherz|witz
    |imagin|supon|supón|si yo|si fu|si tu|si pu|si vi|ojal|una vez|uma vez|se eu|broma|brinca|escr|tradu|haz de|suppos
    |admett|si j'|une fois|semblant|écri|plaisant|rigole|immagina|suppon|se io|se fossi|se avessi|volta|fai finta|scriv
    |stel |er was|alsof|schrijf|vertaal|grapje
    """.replace("\n    ", "").split("|")
)


def abroad(text: str, start: int, end: int) -> bool:
    """Returns whether a sentence holds or follows such words of another language on its line, or is a joke there."""
    begins, ends = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[begins : len(text) if ends < 0 else ends]
    if not holds_any(line, _SIGNS):
        return False
    return _ABROAD.search(line[: end - begins]) is not None or _TAKEN_BACK.search(line) is not None
