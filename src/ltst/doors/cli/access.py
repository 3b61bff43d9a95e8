"""Keys to the server: `ltst keys …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, command, found, opened
from ltst.errors import Invalid
from ltst.records import ApiKey

app = typer.Typer(no_args_is_help=True, help="Keys to the server.\n\nExample: ltst keys create --for ana")

For = Annotated[str | None, typer.Option("--for", metavar="USER", help="Whose memory it opens.")]
Admin = Annotated[bool, typer.Option("--admin", help="It opens everyone's memory.")]
Name = Annotated[str, typer.Option("--name", metavar="TEXT", help="What it is for.")]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key, as `ltst keys list` shows it.")]


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
        raise Invalid("a key is for one user (--for) or for everyone (--admin), not for both and not for none")
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
    owner: Annotated[str | None, typer.Option("--for", metavar="USER", help="Only those for one user.")] = None,
) -> None:
    """Show the keys, revoked ones included.

    Example: ltst keys list
    """
    with opened(options) as memory:
        kept = memory.keys.list(owner)
    if options.json:
        show.document([_told(each) for each in kept])
        return
    show.records(False, kept, COLUMNS, title="Keys", empty="There are no keys. Make one: ltst keys create --for ana")


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
    command changes that, until the next key is made. Keys that can be used must be revoked before.

    Example: ltst keys open --yes
    """
    with opened(options) as memory:
        if not yes:
            typer.confirm(
                "Serve everyone's memory without a key to whoever reaches this machine?", abort=True, err=True
            )
        memory.keys.lift_requirement()
    show.done(options.json, {"open": True}, "No key is needed on this machine until one is made.")


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
