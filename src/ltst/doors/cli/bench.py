"""The benchmarks of the repository: `ltst bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from ltst.doors.cli.options import Options, command
from ltst.errors import NotFound

app = typer.Typer()

REPOSITORY = Path(__file__).parents[4]


@command(app, "bench", json=False, passes_on=True)
def bench(
    options: Options,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="For python -m bench.")] = None,
) -> None:
    """Compare ltst with what one would write by hand.

    In a folder of its own; no memory of yours is touched. `ltst bench -- --help` shows its options.

    Example: ltst bench --quick --only writes
    """
    if not (REPOSITORY / "bench" / "__main__.py").is_file():
        raise NotFound("the benchmarks are not installed with ltst: clone its repository, then run: make bench")
    run = [sys.executable, "-m", "bench", *(arguments or ())]
    raise typer.Exit(subprocess.run(run, cwd=REPOSITORY, check=False).returncode)  # noqa: S603 - our own program
