"""The client of the HTTP rows: a process that sends prepared requests over many connections, and takes the times.

Each line that comes in names the requests of each connection; each line that goes out tells how long each took, how
long all took together, and how much of a core this process used meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from collections.abc import Sequence

from bench.wire import Wire

FIRST_ERROR = 400


async def main() -> None:
    """Work off one line after the other, over connections that stay open."""
    port, wires = int(sys.argv[1]), []
    # In a thread, or this one would not hear of a connection that ends meanwhile.
    while line := await asyncio.to_thread(sys.stdin.readline):
        given = [[base64.b64decode(each) for each in requests] for requests in json.loads(line)]
        wires += [Wire(port) for _ in range(len(given) - len(wires))]
        print(json.dumps(await _block(wires, given)), flush=True)
    for wire in wires:
        await wire.close()


async def _block(wires: Sequence[Wire], given: Sequence[Sequence[bytes]]) -> dict[str, object]:
    began, used = time.perf_counter(), time.process_time()
    done = await asyncio.gather(*(_ask(wire, requests) for wire, requests in zip(wires, given, strict=False)))
    elapsed = time.perf_counter() - began
    seconds = [each for times in done for each in times]
    return {"seconds": seconds, "elapsed": elapsed, "share": (time.process_time() - used) / elapsed}


async def _ask(wire: Wire, requests: Sequence[bytes]) -> list[float]:
    seconds = []
    for request in requests:
        began = time.perf_counter()
        answer = await wire.ask(request)
        seconds.append(time.perf_counter() - began)
        if answer.status >= FIRST_ERROR:
            raise RuntimeError(f"{answer.status}: {answer.body[:500]!r}")
    return seconds


if __name__ == "__main__":
    asyncio.run(main())
