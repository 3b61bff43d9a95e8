"""The keys: what a claim can be about, and whether a user can have one value for it or several."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Returns the words of a list that is written as a text."""
    return frozenset(text.split())


SINGLE_VALUED = words(
    """
    name nickname age birthday home hometown nationality job employer studies school relationship_status partner diet
    car phone commute email cloud_provider
    """
)
SEVERAL_VALUED = words(
    """
    child sibling parent pet allergy dislike like hobby language learning tool possession health sport plan goal
    instrument
    """
)
FACTS = SINGLE_VALUED | SEVERAL_VALUED
# Their values are names, of which a longer form may be given later: "Jonas", "Jonas Brandt".
NAMED = words("partner child pet sibling parent")

# Each with its type of preference.
PREFERENCES = {
    "address_as": "communication",
    "answer_length": "communication",
    "answer_language": "communication",
    "tone": "communication",
    "format": "communication",
    "emojis": "communication",
    "detail": "communication",
    "units": "general",
    "theme": "general",
    "code_style": "coding",
    "programming_language": "coding",
}
PREFERS = "prefers"  # for one thing over another: the key is prefers_ and the thing
INSTRUCTION = "instruction"

# In the details of a claim: the message that it corrects (ANY for whatever is known), and whether the claim means
# nothing without that message.
CORRECTS, BARE = "corrects", "bare"

_SPELLED = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
"""
NUMBERS = dict(zip(_SPELLED.split(), [*range(1, 20), *range(20, 101, 10), 1000], strict=True))
