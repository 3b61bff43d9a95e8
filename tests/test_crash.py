"""Nothing that was acknowledged is lost when the server, the client or both are killed in the middle of their work."""

import pytest

from bench import crash

SEED = 20


def test_no_acknowledged_message_is_lost_to_a_kill() -> None:
    outcomes = crash.run(5, SEED)

    assert [outcome.kind for outcome in outcomes] == ["server", "client", "both", "server", "client"]
    assert all(outcome.acknowledged for outcome in outcomes)
    assert [problem for outcome in outcomes for problem in outcome.problems] == []
    assert sum(outcome.missing for outcome in outcomes) == 0


@pytest.mark.long
def test_the_rounds_notice_a_loss_when_commits_do_not_wait_for_the_disk() -> None:
    outcomes = crash.run(2, SEED, kinds=("both",), forgetful=True)

    assert sum(outcome.missing for outcome in outcomes) > 0
