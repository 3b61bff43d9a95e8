"""Compile, pack and install the TypeScript client; TypeScript comes from npm.

    python scripts/check_typescript.py

The sources and their tests must compile under the strictest rules. The package must hold nothing but what is compiled
and be usable, with its types, by a program that installs it. The exit status is 1 when something has failed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import node

CLIENT = Path(__file__).parents[1] / "clients" / "typescript"
SECONDS = 600
USER = """import { LtstError, Memory } from "ltst";
import type { Schemas } from "ltst";

export async function found(memory: Memory): Promise<Schemas["Hit"][]> {
  return memory.user("anna").search("Where do I live?", { limit: 3 });
}
console.log(typeof Memory, typeof LtstError, typeof new Memory().user("anna").facts.list);
"""
CONFIGURATION = """{"compilerOptions": {"strict": true, "module": "nodenext", "target": "es2022", "skipLibCheck": false,
"lib": ["es2023", "dom"], "types": [], "outDir": "out"}, "files": ["main.ts"]}"""


def main() -> int:
    """Try each step; the exit status."""
    with tempfile.TemporaryDirectory(prefix="ltst-typescript-") as made:
        client, user = Path(made) / "client", Path(made) / "user"
        shutil.copytree(CLIENT, client, ignore=shutil.ignore_patterns("node_modules", "dist", "*.tgz"))
        node.install(client, [])
        _step("strict", client, ["node_modules/.bin/tsc", "--project", "tsconfig.json"])
        _step("build", client, ["node_modules/.bin/tsc", "--project", "tsconfig.build.json"])
        node.npm(client, "pack", "--ignore-scripts")
        (packed,) = client.glob("*.tgz")
        user.mkdir()
        (user / "package.json").write_text('{"type": "module"}')
        (user / "main.ts").write_text(USER)
        (user / "tsconfig.json").write_text(CONFIGURATION)
        node.install(user, [str(packed)])
        _step("types", user, [str(client / "node_modules/.bin/tsc"), "--project", "tsconfig.json"])
        _step("import", user, ["node", "out/main.js"], "function function function\n")
    print("clients/typescript: passed")
    return 0


def _step(name: str, folder: Path, command: list[str], expected: str | None = None) -> None:
    done = node.run(folder, command, SECONDS)
    if done.returncode or expected not in (None, done.stdout):
        raise SystemExit(f"{name}: FAILED\n{done.stdout}{done.stderr}")
    print(f"{name}: passed")


if __name__ == "__main__":
    sys.exit(main())
