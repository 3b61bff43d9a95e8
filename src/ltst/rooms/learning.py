"""Learning: which features are switched on for a user, and what language models cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from ltst.db.pool import Executor
from ltst.records import Usage


async def switches(tx: Executor) -> dict[str, bool]:
    """What is switched on or off for this user alone."""
    return dict(await tx.value("learning.switches", user_id=tx.scope.user_id) or {})


async def set(tx: Executor, switched: Mapping[str, bool]) -> dict[str, bool]:
    """Switch features on or off for this user; all that is switched so."""
    kept: dict[str, bool] = await tx.value(
        "learning.set", user_id=tx.scope.user_id, switches=json.dumps(dict(switched))
    )
    return kept


async def count_usage(tx: Executor, usage: Usage) -> None:
    """Add to what a language model was asked today."""
    await tx.run("learning.count_usage", **asdict(usage))


async def usage(tx: Executor) -> list[Usage]:
    """What language models were asked so far."""
    return await tx.rows("learning.usage", Usage)
