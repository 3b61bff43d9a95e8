"""What servers share at the network."""

from __future__ import annotations

import os
import signal

import pytest

from ltst.support.network import SIGNALS, signals_to_end


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_comes_before_the_wait_ends_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with signals_to_end() as wait_for_one:
        os.kill(os.getpid(), number)
        assert wait_for_one() == bytes([number])
    assert signal.getsignal(number) == before
    assert signal.set_wakeup_fd(-1) == -1
