"""API keys of the server, `ltst keys …`, and the key that wraps users' data keys, `ltst master-key …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, Yes, agreed, command, found, named, opened
from ltst.doors.cli.verbs import Noun
from ltst.errors import NotFound
from ltst.records import ApiKey

if TYPE_CHECKING:
    from ltst.settings import Settings
    from ltst.sync import Memory

app = Noun("keys", "Keys to the server.", "create --for ana")
master = Noun("master-key", "The key that wraps the users' data keys.", "show")

GONE = (
    "Servers still ask for a key, and no key can be used. "
    "Make one: ltst keys create --for ana. Or ask for none on this machine: ltst keys open"
)
ELSEWHERE = "servers at other addresses ask for keys all the same"


def about_keys(memory: Memory, *, tokens: bool) -> str:
    """Say whether a server of this memory asks for a key, and what to do if nobody has one."""
    if tokens:
        return "Send a key with every request."
    if not memory.keys.required():
        return "No key is needed on this machine."
    return f"{GONE}." if _are_gone(memory) else "Send a key with every request."


def _are_gone(memory: Memory) -> bool:
    """Return whether servers ask for a key while no usable key exists."""
    return memory.keys.required() and all(each.revoked_at is not None for each in memory.keys.list())


def _opens(key: ApiKey) -> str:
    return "everyone's memory" if key.admin else f"the memory of {key.user_id}"


COLUMNS = show.columns(
    "Id: key_id, Opens, Name: name, Made: created_at, Last used: last_used, Revoked: revoked_at", {"Opens": _opens}
)


@command(app, "create")
def create(
    options: Options,
    owner: Annotated[str | None, named("--for", "USER", "Whose memory it opens.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="It opens everyone's memory.")] = False,
    name: Annotated[str, named("--name", "TEXT", "What it is for.")] = "",
) -> None:
    """Make a key for one user's memory, or for everyone's.

    It is shown only this once; of what is kept nobody can make it again.

    Example: ltst keys create --for ana --name laptop
    """
    if admin == (owner is not None):
        raise typer.BadParameter("say whose memory it opens, with --for USER, or --admin for everyone: one of them")
    with opened(options) as memory:
        made = memory.keys.create(owner, admin=admin, name=name)
    if options.json:
        show.document({**_document(made), "secret": made.secret})
        return
    show.say(str(made.secret))
    show.hint(f"Keep it: it is not shown again. It opens {_opens(made)}.")


@command(app, "list")
def list_keys(
    options: Options, owner: Annotated[str | None, named("--for", "USER", "Only those for one user.")] = None
) -> None:
    """Show the keys, revoked ones included.

    Example: ltst keys list
    """
    with opened(options) as memory:
        kept, gone = memory.keys.list(owner), _are_gone(memory)
    empty = "There are no keys." if gone else "There are no keys. Make one: ltst keys create --for ana"
    show.records(options.json, kept, COLUMNS, title="Keys", empty=empty, instead=[_document(each) for each in kept])
    if gone and not options.json:
        show.hint(GONE)


@command(app, "revoke")
def revoke(
    options: Options,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key, as `ltst keys list` shows it.")],
) -> None:
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
        agreed(f"Serve everyone's memory without a key to everybody on this machine ({ELSEWHERE})?", yes)
        memory.keys.lift_requirement()
    show.done(options.json, {"open": True}, f"No key is needed on this machine until one is made; {ELSEWHERE}.")


def _document(key: ApiKey) -> dict[str, object]:
    kept = {name: getattr(key, name) for name in ("admin", "name", "created_at", "last_used", "revoked_at")}
    return {"key_id": key.key_id, "user_id": None if key.admin else key.user_id, **kept}


@command(master, "show")
def show_key(options: Options) -> None:
    """Show where the master key is, and its id.

    Several ids, newest first, while keys are being rotated. Never the key itself.

    Example: ltst master-key show
    """
    where, ids = _identified(options.settings)
    show.records(options.json, ids, {"Id": str}, title="Master keys", instead={"where": where, "ids": ids})
    if not options.json:
        show.hint(f"Newest first, from {where}")


@command(master, "rotate")
def rotate(options: Options) -> None:
    """Wrap every user's data key with a new master key.

    Sensitive values stay readable all the while.

    Example: ltst master-key rotate
    """
    with opened(options) as memory, show.working("Wrapping the data keys anew"):
        wrapped = memory.rotate_master_key()
        where, ids = _identified(memory.settings)
    show.done(
        options.json,
        {"wrapped": wrapped, "where": where, "ids": ids},
        f"{wrapped:,} data {'key is' if wrapped == 1 else 'keys are'} wrapped by {ids[0]} now. Keep a copy of {where}.",
    )


def _identified(settings: Settings) -> tuple[str, list[str]]:
    """Return where the keys are kept, and their ids. Looking does not create the file."""
    from ltst.support.crypto import MasterKeys  # late: slow to import, and --help should be fast

    file = settings.home / "master.key"
    if settings.master_key:
        where, written = "LTST_MASTER_KEY", settings.master_key
    elif not file.exists():
        raise NotFound(f"there is no master key yet: the first sensitive value makes one in {file}")
    else:
        MasterKeys(None, file).newest_id()  # refuses a file that others can read
        where, written = str(file), file.read_text()
    return where, [MasterKeys(part, file).newest_id() for part in written.split(",") if part.strip()]
