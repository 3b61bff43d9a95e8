"""The public names are a promise: a change here is a change of the promise."""

import subprocess
import sys
from importlib import import_module

import pytest

import ltst

PROMISED = """
    Adoption AdoptionFault ApiKey AsyncChat AsyncMemory AsyncUser CallableEmbedder Chat Check Completion
    Conflict Context ConversationContext ConversationMessage ConversationSession ConversationStorage
    DatabaseUnavailable Denied Document DocumentChunk Event Fact Health Hit Imported ImportedConversation
    ImportedMessage Instruction Invalid Item KnownUser LocalEmbedder LtstError Memory MemoryConfig MemoryEntry
    MemoryManager MemoryTypes ModelUnavailable NotFound OpenAIEmbedder OpenAILanguageModel OperationStats
    OutcomeUnknown ProcessWindowCache Receipt RedisWindowCache Restitution RetentionPolicy SessionRelationship
    SessionSummary Settings Statement Stats TableStats Unavailable Usage User UserPreference Verification
""".split()  # noqa: SIM905 - as a list it would fill the screen


def test_public_names_are_pinned() -> None:
    assert sorted(ltst.__all__) == sorted(PROMISED)


def test_every_public_name_can_be_imported() -> None:
    for name in ltst.__all__:
        assert getattr(ltst, name).__doc__


@pytest.mark.parametrize("module", ["importers", "langchain", "manager", "mcp", "server"])
def test_public_modules_name_what_they_offer(module: str) -> None:
    found = import_module(f"ltst.{module}")
    assert found.__doc__ and all(getattr(found, name) is not None for name in found.__all__)


def test_import_does_not_load_the_driver() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, ltst; print(*(name in sys.modules for name in ('psycopg', 'typer', 'numpy')))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == ["False"] * 3
