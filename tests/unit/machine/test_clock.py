"""A clock reading brackets the real time between two monotonic readings."""

from __future__ import annotations

import time

from streamgauge.machine import clock


def test_reading_lies_between_the_readings_around_it():
    mono_before_ns, before_ns = time.monotonic_ns(), time.time_ns()
    reading = clock.read_clock()
    mono_after_ns, after_ns = time.monotonic_ns(), time.time_ns()
    assert mono_before_ns <= reading.mono_ns <= mono_after_ns
    assert before_ns <= reading.t_ns <= after_ns
    assert 0 <= reading.bracket_ns <= mono_after_ns - mono_before_ns


def test_tightest_of_five_wins(monkeypatch):
    monotonic = iter([0, 90, 100, 150, 200, 220, 300, 370, 400, 480])
    real = iter([1000, 1100, 1200, 1300, 1400])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(monotonic))
    monkeypatch.setattr(time, "time_ns", lambda: next(real))
    assert clock.read_clock().as_json() == {"t_ns": 1200, "mono_ns": 210, "bracket_ns": 20}
