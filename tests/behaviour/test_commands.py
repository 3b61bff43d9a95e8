"""The command line has every verb, or says why not."""

from __future__ import annotations

import inspect

import ltst.sync
from behaviour import cli

HANDLES = [each for _, each in inspect.getmembers(ltst.sync, inspect.isclass) if each.__module__ == "ltst.sync"]
OF_ALL_USERS = (ltst.sync.Memory, ltst.sync.Keys, ltst.sync.Users)


def verbs(handle: type) -> set[str]:
    return {f"{handle.__name__}.{name}" for name, _ in inspect.getmembers(handle, inspect.isfunction) if name[0] != "_"}


def is_command(noun: str, verb: str) -> bool:
    return cli.command_of(noun, verb) in getattr(cli.COMMAND.commands.get(noun), "commands", {})


def test_every_verb_of_a_user_is_a_command_or_told_why_not() -> None:
    known = set().union(*(verbs(handle) for handle in HANDLES if handle not in OF_ALL_USERS))
    told = set().union(*(verbs(getattr(cli, f"Cli{each.__name__}")) for each in HANDLES if each not in OF_ALL_USERS))
    plain = {verb for verb in known if is_command(*verb.lower().split("."))}
    assert told | {f"Cli{verb}" for verb in plain} == {f"Cli{verb}" for verb in known}
    assert cli.ABSENT.keys() <= known
