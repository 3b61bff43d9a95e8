"""Keys to the server: `ltst keys …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, command, found, named, opened
from ltst.records import ApiKey

if TYPE_CHECKING:
    from ltst.sync import Memory

app = typer.Typer(no_args_is_help=True, help="Keys to the server.\n\nExample: ltst keys create --for ana")

For = Annotated[str | None, named("--for", "USER", "Whose memory it opens.")]
Admin = Annotated[bool, typer.Option("--admin", help="It opens everyone's memory.")]
Name = Annotated[str, named("--name", "TEXT", "What it is for.")]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key, as `ltst keys list` shows it.")]

GONE = (
    "Servers still ask for a key, and no key can be used. "
    "Make one: ltst keys create --for ana. Or ask for none on this machine: ltst keys open"
)
ELSEWHERE = "servers at other addresses ask for keys all the same"


def about_keys(memory: Memory, *, tokens: bool) -> str:
    """Whether a server of this memory asks for a key, and what to do where nobody has one."""
    if tokens:
        return "Send a key with every request."
    if not memory.keys.required():
        return "No key is needed on this machine."
    return f"{GONE}." if _are_gone(memory) else "Send a key with every request."


def _are_gone(memory: Memory) -> bool:
    """Whether servers ask for a key that nobody can have."""
    return memory.keys.required() and all(each.revoked_at is not None for each in memory.keys.list())


def _opens(key: ApiKey) -> str:
    return "everyone's memory" if key.admin else f"the memory of {key.user_id}"


COLUMNS: show.Columns = {
    "Id": "key_id",
    "Opens": _opens,
    "Name": "name",
    "Made": "created_at",
    "Last used": "last_used",
    "Revoked": "revoked_at",
}


@command(app, "create")
def create(options: Options, owner: For = None, admin: Admin = False, name: Name = "") -> None:
    """Make a key for one user's memory, or for everyone's.

    It is shown only this once; of what is kept nobody can make it again.

    Example: ltst keys create --for ana --name laptop
    """
    if admin == (owner is not None):
        raise typer.BadParameter("say whose memory it opens, with --for USER, or --admin for everyone: one of them")
    with opened(options) as memory:
        made = memory.keys.create(owner, admin=admin, name=name)
    if options.json:
        show.document({**_told(made), "secret": made.secret})
        return
    show.say(str(made.secret))
    show.hint(f"Keep it: it is not shown again. It opens {_opens(made)}.")


@command(app, "list")
def list_keys(
    options: Options,
    owner: Annotated[str | None, named("--for", "USER", "Only those for one user.")] = None,
) -> None:
    """Show the keys, revoked ones included.

    Example: ltst keys list
    """
    with opened(options) as memory:
        kept, gone = memory.keys.list(owner), _are_gone(memory)
    if options.json:
        show.document([_told(each) for each in kept])
        return
    empty = "There are no keys." if gone else "There are no keys. Make one: ltst keys create --for ana"
    show.records(False, kept, COLUMNS, title="Keys", empty=empty)
    if gone:
        show.hint(GONE)


@command(app, "revoke")
def revoke(options: Options, key_id: KeyId) -> None:
    """End a key for good.

    Example: ltst keys revoke 01a1e36a-101c-7020-b609-90625bc20742
    """
    with opened(options) as memory:
        found(memory.keys.revoke(key_id), f"key {key_id!r} to revoke")
    show.done(options.json, {"revoked": key_id}, f"The key {key_id} opens nothing any more.")


@command(app, "open")
def open_server(options: Options, yes: Yes = False) -> None:
    """Let everybody on this machine in without a key.

    From the first key on a server asks for one, also when all of them are revoked or their users erased. Only this
    command changes that, until the next key is made, for servers that nobody else can reach: those at other addresses
    ask for keys all the same. Keys that can be used must be revoked before.

    Example: ltst keys open --yes
    """
    with opened(options) as memory:
        if not yes:
            wanted = f"Serve everyone's memory without a key to everybody on this machine ({ELSEWHERE})?"
            typer.confirm(wanted, abort=True, err=True)
        memory.keys.lift_requirement()
    show.done(options.json, {"open": True}, f"No key is needed on this machine until one is made; {ELSEWHERE}.")


def _told(key: ApiKey) -> dict[str, object]:
    return {
        "key_id": key.key_id,
        "user_id": None if key.admin else key.user_id,
        "admin": key.admin,
        "name": key.name,
        "created_at": key.created_at,
        "last_used": key.last_used,
        "revoked_at": key.revoked_at,
    }
