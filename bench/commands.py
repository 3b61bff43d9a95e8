"""What the commands of this folder have in common."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options of `python -m bench.<name>`."""
    return argparse.ArgumentParser(
        prog=f"python -m bench.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def numbers(parser: argparse.ArgumentParser, **options: tuple[float, str]) -> None:
    """Add options that take a number: each by its name, with its default and what it means."""
    for name, (default, meaning) in options.items():
        help = f"{meaning} (default {default:,})"
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=type(default), default=default, metavar="N", help=help)


def seeded(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the options of a command whose choices are made by chance."""
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the choices of an earlier run")
    return parser.parse_args()


def measuring(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the options of a command that measures: where its figures go, and whether its bounds must hold."""
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bound does not hold")
    return parser.parse_args()


def begun(seed: int | None, told: str) -> tuple[Console, int]:
    """Say with which seed, given or new, a run begins; return where it is told what comes of it, and the seed."""
    console = Console(highlight=False, soft_wrap=True)
    chosen = random.randrange(2**32) if seed is None else seed
    console.print(f"seed {chosen}; {told}")
    return console, chosen


def complain(console: Console, problems: Sequence[str]) -> None:
    """Tell the first of what is not as it should be."""
    for problem in problems[:50]:
        console.print(f"  {problem}", style="red", markup=False)


def run(main: Callable[[], int]) -> None:
    """Run a command and exit with what it returns; with 130 when it is interrupted."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
