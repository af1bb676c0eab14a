"""Backlog, its slope, and the rule made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tallies import facts, row, tally

from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics import lag
from streamgauge.evaluate.metrics.trend import Series, Slope


def test_backlog_is_what_was_appended_and_not_yet_answered() -> None:
    rows = tally(
        row(appended=0, answered=0),
        row(appended=0, answered=2, inputs=3),
        row(appended=1, answered=3, fate="wrong"),
        row(appended=2, fate="unfinished", inputs=2, open_at_end=2),
        row(appended=1, answered=3, fate="lost", inputs=10, open_at_end=10),
        row(appended=3, answered=1),  # stamped before it was asked for: in no backlog
    )
    assert lag.backlog_per_second(rows, 5).tolist() == [3, 4, 3, 2, 2]
    assert lag.backlog_at_end(rows) == 2


def test_a_record_behind_several_results_is_in_the_backlog_once() -> None:
    """A window that slides over three seconds: each row needs 6 records, 2 of which are its own."""
    rows = tally(
        row(appended=0, answered=1, inputs=2),
        row(appended=1, answered=2, inputs=4, new_inputs=2),
        row(appended=2, answered=3, inputs=6, new_inputs=2),
        row(appended=3, answered=4, inputs=6, new_inputs=2),
    )
    assert lag.backlog_per_second(rows, 5).tolist() == [2, 2, 2, 2, 0]


def test_the_backlog_of_a_second_is_its_mean_over_time() -> None:
    """Ten records of 100 ms each at a time: one waits in the mean, wherever in the second somebody looked."""
    tenths = [row(appended_into_ms=100 * n, answered_into_ms=100 * (n + 1)) for n in range(9)]
    last = row(appended_into_ms=900, answered=1, answered_into_ms=250)
    assert lag.backlog_per_second(tally(*tenths, last), 3).tolist() == [1.0, 0.25, 0.0]


@pytest.mark.parametrize("period_ms", [330, 500, 980, 1020, 1490])
def test_an_engine_that_publishes_about_once_a_second_has_no_trend(period_ms: int) -> None:
    """It keeps up: everything that arrived since the last time comes out. A look a second would see a beat."""
    rows = []
    for at_ms in range(0, 60_000, 5):
        out_ms = (at_ms // period_ms + 1) * period_ms
        appended, answered = divmod(at_ms, 1000), divmod(out_ms, 1000)
        rows.append(
            row(
                appended=appended[0],
                appended_into_ms=appended[1],
                answered=answered[0],
                answered_into_ms=answered[1],
            )
        )
    slope = Series.of(lag.backlog_per_second(tally(*rows), 62), range(60)).slope()
    assert slope is not None
    assert max(abs(slope.low), abs(slope.high)) < 0.01 * 200


def test_slope_over_the_measured_interval_only() -> None:
    _, moments = facts(measured_s=10.0)
    backlog = np.array([900] + [100 + 7 * second for second in range(10)] + [0] * 6)
    assert Series.of(backlog, moments.measured_seconds()).slope() == Slope(7.0, 7.0, 7.0)


def test_too_short_for_a_slope() -> None:
    _, moments = facts(measured_s=4.9)
    assert Series.of(np.zeros(13, np.int64), moments.measured_seconds()).slope() is None


def test_a_series_leaves_out_seconds_without_a_value() -> None:
    series = Series.of([9.0, None, 2.0, None, 4.0, 5.0, 6.0, 7.0], range(1, 20))
    assert (series.seconds.tolist(), series.values.tolist()) == ([2, 4, 5, 6, 7], [2.0, 4.0, 5.0, 6.0, 7.0])
    assert series.slope() == Slope(1.0, 1.0, 1.0)
    assert [half.seconds.tolist() for half in series.halves()] == [[2, 4], [5, 6, 7]]


def test_the_interval_is_wider_where_seconds_resemble_the_next() -> None:
    """The same values, shuffled or in slow waves, around the same trend."""
    seconds = np.arange(60)
    waves = np.sin(seconds / 4)
    shuffled = np.random.default_rng(1).permutation(waves)
    widths = []
    for noise in (shuffled, waves):
        slope = Series.of((3.0 * seconds + noise).tolist(), range(60)).slope()
        assert slope is not None and slope.low < 3.0 < slope.high
        widths.append(slope.high - slope.low)
    # Neighbours correlate by about 0.97: the square root of 1.97 / 0.03 is 8.
    assert widths[1] > 4 * widths[0]


def test_drained_when_the_last_result_is_out() -> None:
    _, moments = facts(measured_s=10.0)  # the load ends after 12 s
    assert lag.drained_s(tally(row(answered=3), row(phase="tail", answered=13, fate="wrong")), moments) == 2.0
    assert lag.drained_s(tally(row(answered=11), row(phase="tail", fate="lost", answered=99)), moments) == 0.0
    assert lag.drained_s(tally(row(answered=3), row(fate="unfinished")), moments) is None
    assert lag.drained_s(tally(row(answered=3), row(phase="tail", fate="unfinished")), moments) == 0.0
    assert lag.drained_s(tally(row(fate="lost")), moments) is None


@dataclass(frozen=True)
class WithSlope(Series):
    """A series whose trend is known beforehand."""

    known: Slope | None = None

    def slope(self) -> Slope | None:
        return self.known

    def halves(self) -> tuple[Series, Series]:
        return self, self


def of_slope(slope: Slope | None, median_ms: float | None = 100.0) -> sustained.Evidence:
    return sustained.Evidence(median_ms, waiting=WithSlope(np.zeros(0), np.zeros(0), slope))


@pytest.mark.parametrize(
    ("slope", "median_ms", "held"),
    [
        (Slope(0.0, -0.001, 0.0099), 100.0, True),
        (Slope(0.0, -0.001, 0.010), 100.0, None),
        (Slope(0.012, 0.010, 0.014), 100.0, False),
        (Slope(0.0, 0.0, 0.0), 10_000.0, False),
        (Slope(0.0, 0.0, 0.0), None, False),
        (None, 100.0, None),
    ],
)
def test_slope_rule(slope: Slope | None, median_ms: float | None, held: bool | None) -> None:
    finding = sustained.apply("slope", of_slope(slope, median_ms))
    assert finding.held is held
    assert bool(finding.why) is (held is not True)


def test_no_rule_and_unknown_rule() -> None:
    evidence = of_slope(None, None)
    assert sustained.apply(None, evidence) == sustained.Finding(None)
    assert "known: ospbench, scalability, slope, sustainable" in sustained.apply("slpoe", evidence).why


def test_overload_and_doubt_are_told_apart() -> None:
    def finding(slope: Slope) -> sustained.Finding:
        return sustained.apply("slope", of_slope(slope))

    assert finding(Slope(0.012, 0.011, 0.013)) == sustained.Finding(
        False, "overloaded: the backlog grew by 1.2 % of the offered rate (at least 1.1 %); the limit is 1.0 %"
    )
    for doubtful in (Slope(0.001, -0.001, 0.013), Slope(0.012, 0.0099, 0.013)):
        assert finding(doubtful).held is None
        assert "undecided: the backlog may have grown by up to 1.3 % of the offered rate" in finding(doubtful).why
    assert finding(Slope(0.001, -0.001, 0.0099)) == sustained.Finding(True)


@pytest.mark.parametrize(("missing", "held"), [(0.0101, False), (0.01, True)])
@pytest.mark.parametrize("rule", sorted(sustained.RULES))
def test_no_rate_is_sustained_whose_results_are_missing(rule: str, missing: float, held: bool) -> None:
    calm = Series.of(np.full(80, 5.0), range(80))
    fifths = (5.0,) * 5
    evidence = sustained.Evidence(5.0, calm, calm, calm, missing, fifths_ms=fifths, drained_s=1.0)
    finding = sustained.apply(rule, evidence)
    assert finding.held is held
    assert held or finding.why.startswith("not sustained: 1.0 % of the expected results are missing")
