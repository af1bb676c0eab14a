"""Figures show the numbers that were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic_run
from written_runs import manifest, summary

from run_files import change, content
from streamgauge.model import NS_PER_S
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import ClockSample, PositionsSample, ResourceSample
from streamgauge.report import figures, latencies
from streamgauge.report.draw import Mark, line, linear, logarithmic, over_time
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
        "heatmap": (),
        "resources": (),
        "machine": (),
        "clock": (),
        "positions": (),
        "batches": (),
        "missing": (),
    }
    return Source(**{**empty, **parts})


def test_distribution_is_exact_where_it_is_drawn() -> None:
    values = np.sort(np.random.default_rng(3).gamma(2, 100, 50_000))
    counts = np.ones(len(values), dtype=int)
    drawn = latencies.distribution(source(latency={"total": (values, counts)}))
    assert drawn is not None
    line = drawn["data"][0]
    assert len(line["x"]) < 600
    assert (line["x"][0], line["x"][-1], line["y"][-1]) == (1.0, 50_000, values[-1])
    for x, y, percent in list(zip(line["x"], line["y"], line["customdata"], strict=True))[1:-1]:
        assert percent == pytest.approx(100 * np.mean(values <= y), abs=1e-4)
        assert x == pytest.approx(1 / (1 - percent / 100), rel=1e-3)


def test_every_nine_has_the_same_width() -> None:
    latency = {"total": (np.arange(1.0, 1001.0), np.ones(1000, dtype=int))}
    drawn = latencies.distribution(source(latency=latency))
    assert drawn is not None
    axis = drawn["layout"]["xaxis"]
    assert (axis["type"], axis["tickvals"]) == ("log", [1.0, 2.0, 10.0, 100.0, 1000.0])
    assert axis["ticktext"] == ["0", "50", "90", "99", "99.9"]
    reached = dict(zip(drawn["data"][0]["x"], drawn["data"][0]["y"], strict=True))
    assert (reached[2.0], reached[10.0], reached[100.0]) == (500, 900, 990)


def test_distribution_counts_repeated_values_and_ends_where_results_are_missing() -> None:
    latency = {"total": (np.array([5.0, 9.0]), np.array([98, 1]))}
    missing = summary(latency_ms={"total": {"count": 99, "missing": 1}})
    drawn = latencies.distribution(source(latency=latency, summary=missing))
    assert drawn is not None
    assert (drawn["data"][0]["x"], drawn["data"][0]["y"]) == ([1.0, 50.0, 100.0], [5.0, 5.0, 9.0])


def test_distribution_of_wide_latencies_is_logarithmic_and_narrow_ones_are_not() -> None:
    for top, kind in ((2000.0, "log"), (9.0, None)):
        drawn = latencies.distribution(source(latency={"total": (np.array([-1.0, 1.0, top]), np.array([1, 1, 1]))}))
        assert drawn is not None and drawn["layout"]["yaxis"].get("type") == kind


@pytest.mark.parametrize(("apart_ms", "figures_drawn"), [(1.0, ["total"]), (50.0, ["total", "latest"])])
def test_kinds_that_are_practically_the_same_share_a_figure(
    valid: RunDir, apart_ms: float, figures_drawn: list[str]
) -> None:
    loaded = read(valid)
    values, counts = loaded.latency["total"]
    changed = replace(loaded, latency={"total": (values, counts), "latest": (values - apart_ms, counts)})
    assert list(latencies.over_seconds(changed)) == [f"latency-{kind}" for kind in figures_drawn]
    drawn = latencies.distribution(changed)
    assert drawn is not None and len(drawn["data"]) == len(figures_drawn)


def test_the_measured_part_sets_the_axes_and_the_warm_up_is_clipped_and_marked(valid: RunDir) -> None:
    loaded = read(valid)
    figure = latencies.over_seconds(loaded)["latency-total"]
    measured = [v for v, phase in zip(loaded.seconds["total_max"], loaded.seconds["phase"], strict=True)
                if phase == "measured"]  # fmt: skip
    assert figure["layout"]["yaxis"]["range"] == [0, pytest.approx(1.05 * max(measured))]
    assert figure["layout"]["xaxis"]["range"] == [0, 46]
    (clipped,) = [trace for trace in figure["data"] if trace["name"].startswith("beyond the axis")]
    assert clipped["y"] == [figure["layout"]["yaxis"]["range"][1]] and clipped["x"][0] < 10
    assert [trace["name"] for trace in figure["data"][:3]] == ["p50", "p99", "max"]


def test_a_low_rate_shows_the_99th_percentile_of_a_window(valid: RunDir) -> None:
    loaded = read(valid)
    many = len(loaded.seconds["second"])
    seconds = {**loaded.seconds, "total_p99": [None] * many}
    seconds |= {"total_p99_window": [700.0] * many, "window_s": [3] * many}
    names = [
        trace["name"] for trace in latencies.over_seconds(replace(loaded, seconds=seconds))["latency-total"]["data"]
    ]
    assert names[:3] == ["p50", "p99 of 3 s", "max"]
    early = {name: column for name, column in seconds.items() if "window" not in name}
    names = [trace["name"] for trace in latencies.over_seconds(replace(loaded, seconds=early))["latency-total"]["data"]]
    assert names[:2] == ["p50", "max"]


def test_a_warm_up_longer_than_the_measured_part_is_cut(valid: RunDir) -> None:
    change(valid.outcome_path, measured_start_ns=content(valid.outcome_path)["load_start_ns"] + 30 * NS_PER_S)
    assert figures.all_figures(read(valid))["rates"]["layout"]["xaxis"]["range"] == [25, 45]


def test_no_note_lies_over_a_curve_or_an_axis(tmp_path: Path) -> None:
    for kind in ("valid", "invalid", "failed", "bursts", "faults"):
        run = getattr(synthetic_run, f"write_{kind}")(tmp_path / kind)
        for name, drawn in figures.all_figures(read(run)).items():
            for note in drawn["layout"].get("annotations", ()):
                assert (note["yref"], note["y"], note["yanchor"]) == ("paper", 1, "bottom"), name


def test_numbers_of_moments_close_together_share_a_place(valid: RunDir) -> None:
    marks = [Mark("a", 20.0), Mark("b", 20.5), Mark("c", 35.0), Mark("a", 36.0)]
    drawn = over_time(read(valid), [line("x", [0, 1], [0, 1], "--s1", "")], linear("y"), marks)
    numbers = [(note["x"], note["text"]) for note in drawn["layout"]["annotations"] if note["text"][0].isdigit()]
    assert numbers == [(20.0, "1, 2"), (35.0, "1, 3")]
    assert [trace["name"] for trace in drawn["data"][1:]] == ["1 a", "2 b", "3 c"]


def test_a_preloaded_run_is_drawn_while_the_engine_works(preloaded: RunDir) -> None:
    loaded = read(preloaded)
    assert [phase.name for phase in loaded.phases if phase.main] == ["processing"]
    drawn = figures.all_figures(loaded)
    assert not [name for name in drawn if name.startswith("latency")]
    taken, output = drawn["rates"]["data"]
    assert (taken["name"], output["name"]) == ("taken by the engine", "output")
    main = loaded.main_phase
    assert main is not None
    assert max(y for x, y in zip(taken["x"], taken["y"], strict=True) if main.from_s <= x <= main.to_s) == 2000
    shaded = [(s["x0"], s["x1"]) for s in drawn["rates"]["layout"]["shapes"]]
    assert not [1 for begin, end in shaded if begin < main.to_s and end > main.from_s]


def test_the_heatmap_has_every_result_of_every_second(valid: RunDir) -> None:
    drawn = latencies.heatmap(read(valid))
    assert drawn is not None
    (trace, *_) = drawn["data"]
    assert trace["x"] == list(range(47))
    shares = np.array([[0.0 if share is None else share for share in row] for row in trace["z"]])
    assert shares.shape == (len(trace["y"]) - 1, 46)
    assert shares[:, :41].sum(axis=0) == pytest.approx(100, abs=0.1)
    total, _ = synthetic_run.latencies_ms()
    of_second = total[20 * synthetic_run.RATE : 21 * synthetic_run.RATE]
    expected = np.histogram(of_second, trace["y"])[0] / synthetic_run.RATE * 100
    assert shares[:, 20] == pytest.approx(expected, abs=0.01)
    assert drawn["layout"]["yaxis"]["type"] == "log"


def test_a_long_run_has_a_heatmap_of_few_columns(valid: RunDir) -> None:
    loaded = read(valid)
    late_ns = loaded.load_start_ns + 1000 * NS_PER_S
    long = replace(loaded, outcome=loaded.outcome.with_changes(measured_end_ns=late_ns, load_end_ns=late_ns))
    drawn = latencies.heatmap(long)
    assert drawn is not None and 60 < len(drawn["data"][0]["x"]) <= latencies.COLUMNS_MAX + 2


def test_a_run_of_an_early_version_has_no_heatmap_and_no_gap(valid: RunDir) -> None:
    valid.measures("heatmap").unlink()
    loaded = read(valid)
    assert latencies.heatmap(loaded) is None
    assert not loaded.missing


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
    _, band, slope, *_ = drawn["data"]
    middle = np.median(
        [b for b, p in zip(loaded.seconds["backlog"], loaded.seconds["phase"], strict=True) if p == "measured"]
    )
    assert slope["x"] == [10, 40] and slope["y"][1] - slope["y"][0] == 60
    assert slope["y"][0] + 2.0 * (25 - 10) == middle
    assert max(band["y"]) - middle == pytest.approx(3.0 * 15)


def test_the_lag_that_was_sampled_is_drawn_with_the_backlog(valid: RunDir) -> None:
    start_ns = read(valid).load_start_ns
    lags = {11: 100.0, 12: 300.0, 13: None}
    valid.append_samples(
        *(PositionsSample(t_ns=start_ns + s * NS_PER_S, appended={}, consumed=5, lag=lag) for s, lag in lags.items())
    )
    drawn = figures.backlog(read(valid))
    assert drawn is not None
    lag, backlog, *_ = drawn["data"]
    assert (lag["name"], lag["x"], lag["y"]) == ("lag: not taken by the engine", [11, 12], [100, 300])
    assert backlog["name"] == "backlog" and drawn["layout"]["yaxis"]["range"][1] == pytest.approx(315)


def test_worst_second_is_a_whole_one_of_the_measured_interval() -> None:
    moments = ("load_start", "measured_start", "measured_end", "load_end", "drain_end")
    seconds = (0, 1, 3.5, 3.6, 4)
    outcome = {f"{name}_ns": int(at * NS_PER_S) for name, at in zip(moments, seconds, strict=True)}
    counts = {"second": [0, 1, 2, 3], "sent": [1, 9, 8, 2]}
    assert figures.worst_second(source(outcome=Outcome.blank().with_changes(**outcome), seconds=counts)) == (2, 8)


def test_latency_figures_share_one_scale(invalid: RunDir) -> None:
    drawn = latencies.over_seconds(read(invalid))
    ranges = [figure["layout"]["yaxis"]["range"] for figure in drawn.values()]
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
