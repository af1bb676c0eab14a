"""Signals that are deferred until cleanup is done, and signals that act like Ctrl-C."""

from __future__ import annotations

import signal

import pytest

from streamgauge.processes.signals import signals_as_interrupt, uninterrupted


def test_interrupt_waits_until_the_block_is_done():
    done = False
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_is_not_lost_when_the_block_fails():
    with pytest.raises(KeyboardInterrupt) as raised, uninterrupted():
        signal.raise_signal(signal.SIGINT)
        raise OSError("no room")
    assert isinstance(raised.value.__context__, OSError)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_act_like_an_interrupt(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), signals_as_interrupt():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_ignored_hangup_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_interrupt():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
