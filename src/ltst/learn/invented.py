"""Invented: words after which a text is supposed, made up or asked for, and tells nothing of its writer's life."""

from __future__ import annotations

from ltst.support.tables import Table
from ltst.support.text import holds_any

_TABLE = Table("ltst.learn", "invented.txt")
_ABROAD = _TABLE.pattern("abroad")
_TAKEN_BACK = _TABLE.pattern("taken_back")
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
