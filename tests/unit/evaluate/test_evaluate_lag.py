"""Backlog, its slope, and the rule made of it."""

from __future__ import annotations

import numpy as np
import pytest
from tallies import facts, row, tally

from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics import lag
from streamgauge.evaluate.metrics.trend import Series, Slope


def test_backlog_is_what_was_appended_and_not_yet_answered() -> None:
    found = tally(
        row(appended=0, answered=0),
        row(appended=0, answered=2, inputs=3),
        row(appended=1, answered=3, fate="wrong"),
        row(appended=2, fate="unfinished", inputs=2, open_at_end=2),
        row(appended=1, answered=3, fate="lost", inputs=10, open_at_end=10),
        row(appended=3, answered=1),  # stamped before it was asked for: in no backlog
    )
    assert lag.backlog_per_second(found, 5).tolist() == [3, 4, 3, 2, 2]
    assert lag.backlog_at_end(found) == 2


def test_a_record_behind_several_results_is_in_the_backlog_once() -> None:
    """A window that slides over three seconds: each row needs 6 records, 2 of which are its own."""
    found = tally(
        row(appended=0, answered=1, inputs=2),
        row(appended=1, answered=2, inputs=4, new_inputs=2),
        row(appended=2, answered=3, inputs=6, new_inputs=2),
        row(appended=3, answered=4, inputs=6, new_inputs=2),
    )
    assert lag.backlog_per_second(found, 5).tolist() == [2, 2, 2, 2, 0]


def test_slope_over_the_measured_interval_only() -> None:
    _, moments = facts(measured_s=10.0)
    backlog = np.array([900] + [100 + 7 * second for second in range(10)] + [0] * 6)
    assert Series.of(backlog, moments.measured_seconds()).slope() == Slope(7.0, 7.0, 7.0)


def test_too_short_for_a_slope() -> None:
    _, moments = facts(measured_s=4.9)
    assert Series.of(np.zeros(13, np.int64), moments.measured_seconds()).slope() is None


def test_a_series_leaves_out_seconds_without_a_value() -> None:
    found = Series.of([9.0, None, 2.0, None, 4.0, 5.0, 6.0, 7.0], range(1, 20))
    assert (found.seconds.tolist(), found.values.tolist()) == ([2, 4, 5, 6, 7], [2.0, 4.0, 5.0, 6.0, 7.0])
    assert found.slope() == Slope(1.0, 1.0, 1.0)
    assert [half.seconds.tolist() for half in found.halves()] == [[2, 4], [5, 6, 7]]


def test_the_interval_is_wider_where_seconds_resemble_the_next() -> None:
    """The same values, shuffled or in slow waves, around the same trend."""
    seconds = np.arange(60)
    waves = np.sin(seconds / 4)
    shuffled = np.random.default_rng(1).permutation(waves)
    widths = []
    for noise in (shuffled, waves):
        found = Series.of((3.0 * seconds + noise).tolist(), range(60)).slope()
        assert found is not None and found.low < 3.0 < found.high
        widths.append(found.high - found.low)
    # Neighbours correlate by about 0.97: the square root of 1.97 / 0.03 is 8.
    assert widths[1] > 4 * widths[0]


def test_drained_when_the_last_result_is_out() -> None:
    _, moments = facts(measured_s=10.0)  # the load ends after 12 s
    assert lag.drained_s(tally(row(answered=3), row(phase="tail", answered=13, fate="wrong")), moments) == 2.0
    assert lag.drained_s(tally(row(answered=11), row(phase="tail", fate="lost", answered=99)), moments) == 0.0
    assert lag.drained_s(tally(row(answered=3), row(fate="unfinished")), moments) is None
    assert lag.drained_s(tally(row(answered=3), row(phase="tail", fate="unfinished")), moments) == 0.0
    assert lag.drained_s(tally(row(fate="lost")), moments) is None


@pytest.mark.parametrize(
    ("slope", "median_ms", "held"),
    [
        (Slope(0.0, -1.0, 9.9), 100.0, True),
        (Slope(0.0, -1.0, 10.0), 100.0, None),
        (Slope(12.0, 10.0, 14.0), 100.0, False),
        (Slope(0.0, 0.0, 0.0), 10_000.0, False),
        (Slope(0.0, 0.0, 0.0), None, False),
        (None, 100.0, None),
    ],
)
def test_slope_rule(slope: Slope | None, median_ms: float | None, held: bool | None) -> None:
    found = sustained.apply("slope", sustained.Evidence(1000.0, slope, median_ms))
    assert found.held is held
    assert bool(found.why) is (held is not True)


def test_no_rule_and_unknown_rule() -> None:
    evidence = sustained.Evidence(1.0, None, None)
    assert sustained.apply(None, evidence) == sustained.Finding(None)
    assert "known: ospbench, scalability, slope, sustainable" in sustained.apply("slpoe", evidence).why


def test_overload_and_doubt_are_told_apart() -> None:
    def found(slope: Slope) -> sustained.Finding:
        return sustained.apply("slope", sustained.Evidence(1000.0, slope, 100.0))

    assert found(Slope(12.0, 11.0, 13.0)) == sustained.Finding(
        False, "overloaded: the backlog grew by 12.0 records/s (at least 11.0); the limit is 10.0"
    )
    for doubtful in (Slope(1.0, -1.0, 13.0), Slope(12.0, 9.9, 13.0)):
        assert found(doubtful).held is None
        assert "undecided: the backlog may have grown by up to 13.0" in found(doubtful).why
    assert found(Slope(1.0, -1.0, 9.9)) == sustained.Finding(True)
