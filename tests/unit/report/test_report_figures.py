"""Figures show the numbers that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from written_runs import manifest, summary

from run_files import change
from streamgauge.model import NS_PER_S
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import ClockSample, ResourceSample
from streamgauge.report import figures
from streamgauge.report.draw import logarithmic
from streamgauge.report.source import Source, read
from streamgauge.report.text import number, rounded, scaled, share
from streamgauge.rundir import RunDir


def source(**parts: Any) -> Source:
    empty: Mapping[str, Any] = {
        "manifest": manifest(),
        "outcome": Outcome.blank().with_changes(load_start_ns=0),
        "summary": summary(latency_ms={}),
        "seconds": {},
        "latency": {},
        "resources": (),
        "machine": (),
        "clock": (),
        "missing": (),
    }
    return Source(**{**empty, **parts})


def test_distribution_is_exact_where_it_is_drawn() -> None:
    values = np.sort(np.random.default_rng(3).gamma(2, 100, 50_000))
    counts = np.ones(len(values), dtype=int)
    drawn = figures.distribution(source(latency={"total": (values, counts)}))
    assert drawn is not None
    line = drawn["data"][0]
    assert len(line["x"]) < 600
    assert line["x"][0] == values[0] and line["x"][-1] == values[-1] and line["y"][-1] == 100
    for x, y in zip(line["x"], line["y"], strict=True):
        assert y == pytest.approx(100 * np.mean(values <= x), abs=1e-4)


def test_distribution_counts_repeated_values() -> None:
    drawn = figures.distribution(source(latency={"total": (np.array([5.0, 9.0]), np.array([99, 1]))}))
    assert drawn is not None
    assert (drawn["data"][0]["x"], drawn["data"][0]["y"]) == ([5.0, 9.0], [99.0, 100.0])


def test_distribution_of_wide_latencies_is_logarithmic_and_narrow_ones_are_not() -> None:
    for top, kind in ((2000.0, "log"), (19.0, None)):
        drawn = figures.distribution(source(latency={"total": (np.array([-1.0, 1.0, top]), np.array([1, 1, 1]))}))
        assert drawn is not None and drawn["layout"]["xaxis"].get("type") == kind


def test_cpu_is_the_growth_of_cpu_time_and_unknown_where_a_process_went() -> None:
    samples = [
        ResourceSample(t_ns=t * NS_PER_S, role="engine", group="engine", cpu_s=used)
        for t, used in ((0, 1.0), (2, 4.0), (3, 0.5), (4, 0.75))
    ]
    drawn = figures.cpu(source(resources=samples))
    assert drawn is not None
    assert (drawn["data"][0]["x"], drawn["data"][0]["y"]) == ([2, 3, 4], [1.5, None, 0.25])


def test_clock_steps_are_moves_against_the_monotonic_clock() -> None:
    readings = ((0, 0), (1_000_000_000, 1_000_000_000), (2_007_000_000, 2_000_000_000))
    steps_ms = figures.clock_steps_ms(
        source(clock=[ClockSample(t_ns=t, mono_ns=mono, bracket_ns=0) for t, mono in readings])
    )
    assert steps_ms == [(1.0, 0.0), (2.007, 7.0)]


def test_slope_goes_through_the_middle_of_the_measured_backlog(valid: RunDir) -> None:
    change(valid.summary_path, backlog={"end": 1, "slope_per_s": 2.0, "slope_ci": [1.0, 3.0]})
    loaded = read(valid)
    drawn = figures.backlog(loaded)
    assert drawn is not None
    _, band, slope = drawn["data"]
    middle = np.median(
        [b for b, p in zip(loaded.seconds["backlog"], loaded.seconds["phase"], strict=True) if p == "measured"]
    )
    assert slope["x"] == [10, 40] and slope["y"][1] - slope["y"][0] == 60
    assert slope["y"][0] + 2.0 * (25 - 10) == middle
    assert max(band["y"]) - middle == pytest.approx(3.0 * 15)


def test_worst_second_is_a_whole_one_of_the_measured_interval() -> None:
    moments = ("load_start", "measured_start", "measured_end", "load_end", "drain_end")
    seconds = (0, 1, 3.5, 3.6, 4)
    outcome = {f"{name}_ns": int(at * NS_PER_S) for name, at in zip(moments, seconds, strict=True)}
    counts = {"second": [0, 1, 2, 3], "sent": [1, 9, 8, 2]}
    assert figures.worst_second(source(outcome=Outcome.blank().with_changes(**outcome), seconds=counts)) == (2, 8)


def test_latency_figures_share_one_scale(invalid: RunDir) -> None:
    drawn = [figures.latency_over_time(read(invalid), kind) for kind in ("total", "latest")]
    ranges = [figure["layout"]["yaxis"]["range"] for figure in drawn if figure is not None]
    assert len(ranges) == 2 and ranges[0] == ranges[1]


def test_lateness_limits_are_those_of_the_verdict() -> None:
    generator = {"late_max_limit_ms": 500.0, "late_p99_limit_ms": 100.0}
    assert figures.late_limits_ms(source(summary=summary(generator=generator))) == (500.0, 100.0)
    assert figures.late_limits_ms(source(summary=summary(generator=None))) == (None, None)


def test_more_roles_than_colours_stay_apart() -> None:
    samples = [
        ResourceSample(t_ns=t * NS_PER_S, role=f"worker-{n}", group="engine", rss_mb=n)
        for t in (0, 1)
        for n in range(20)
    ]
    drawn = figures.level(source(resources=samples), "rss_mb", "memory (MB)")
    assert drawn is not None
    assert len({(trace["line"]["color"], trace["line"]["dash"]) for trace in drawn["data"]}) == 20


def test_columns_without_values_are_left_out() -> None:
    seconds = {"second": [0, 1], "offered": [5, 5], "sent": [None, None], "phase": ["measured"] * 2}
    drawn = figures.rates(source(seconds=seconds))
    assert drawn is not None and [trace["name"] for trace in drawn["data"]] == ["offered"]
    assert figures.lateness(source(seconds=seconds)) is None


def test_logarithmic_axis_of_one_value_has_a_tick() -> None:
    axis = logarithmic("ms", [0.0, 2.0])
    assert axis["tickvals"] == [2.0] and axis["range"][0] < axis["range"][1]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(1234567), "1,234,567"),
        (number(None), "–"),
        (number(float("nan")), "–"),
        (number(-0.5, 1), "−0.5"),
        (rounded(1234.5), "1,234"),
        (rounded(12.34), "12.3"),
        (rounded(1.234), "1.23"),
        (rounded(30.0), "30"),
        (share(1, 3), "33.33 %"),
        (share(999_999, 1_000_000), "> 99.99 %"),
        (share(5, 5), "100 %"),
        (share(0, 0), "–"),
        (scaled({"measured_s": [30.0, 1500.0], "heap": "half"}), "measured_s 30 instead of 1,500, heap half"),
    ],
)
def test_numbers_read_well(shown: str, expected: str) -> None:
    assert shown == expected
