"""How exactly latencies are known, worked by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tallies import row, tally

from run_files import change, content
from streamgauge.evaluate import evaluation
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import resolution
from streamgauge.evaluate.metrics.clock import Bound, transport_bound
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.metrics.resolution import Resolution
from streamgauge.rundir import RunDir

BOUND = Bound(-1.9, 1.8)
VISIBLE_MS = {"p50": 20.6, "p99": 24.0, "max": 25.3}


def latencies(p50_ms: float, samples: int = 30) -> dict[str, Distribution]:
    values = np.full(samples, p50_ms)
    return {kind: Distribution.of(values, np.ones(samples, np.int64)) for kind in ("total", "latest")}


def warnings_for(
    p50_ms: float, *, visible: bool = False, unknown: tuple[str, ...] = (), samples: int = 30
) -> list[str]:
    resolutions = resolution.measure(BOUND, VISIBLE_MS if visible else None)
    return resolution.warnings(resolutions, latencies(p50_ms, samples), unknown, "broker")


def test_the_broker_stamps_what_comes_out() -> None:
    resolutions = resolution.measure(BOUND, None)
    assert resolutions["total"].clock == pytest.approx(3.7)
    assert resolutions["generator_share"].clock == pytest.approx(3.7)
    assert (
        resolutions["latest"]
        == resolutions["average"]
        == Resolution(stamp=1.0, visible_p50=0.0, visible_max=0.0, clock=0.0)
    )


def test_results_that_become_visible_are_stamped_by_the_clock_of_the_load() -> None:
    resolutions = resolution.measure(BOUND, VISIBLE_MS)
    assert resolutions["total"] == Resolution(visible_p50=20.6, visible_max=25.3, clock=0.0)
    assert resolutions["latest"].clock == resolutions["average"].clock == pytest.approx(3.7)
    assert resolutions["latest"].visible_max == 25.3
    assert (resolutions["generator_share"].visible_max, resolutions["generator_share"].clock) == (
        0.0,
        pytest.approx(3.7),
    )


def test_the_example_of_the_docs() -> None:
    """Sent at 10.2 ms, acknowledged at 12.9 ms, stamped 11 ms."""
    first, count, sent_ns, acked_ns = (np.array([value], np.int64) for value in (0, 1, 10_200_000, 12_900_000))
    bound = transport_bound(Ledger(first, count, sent_ns, first, acked_ns, first), np.array([11], np.int64))
    assert bound is not None and (bound.low_ms, bound.high_ms) == (pytest.approx(-1.9), pytest.approx(1.8))
    (warning,) = warnings_for(18.0)
    assert warning == (
        "the offset between the clocks of broker and load worker is known only to within 3.7 ms, more than 20 % of the "
        "median end-to-end latency (18.0 ms)"
    )
    assert warnings_for(20.0) == []


def test_the_warning_is_of_the_latency_between_two_clocks() -> None:
    (of_latest,) = warnings_for(18.0, visible=True)
    assert "median processing latency" in of_latest


def test_no_warning_of_a_median_that_is_not_shown() -> None:
    assert warnings_for(18.0, unknown=("total",)) == []
    assert warnings_for(18.0, samples=15) == []


def test_without_acknowledgements_the_clocks_are_not_known() -> None:
    resolutions = resolution.measure(None, None)
    assert (resolutions["total"].clock, resolutions["latest"].clock) == (None, 0.0)
    assert resolution.warnings(resolutions, latencies(1.0), (), "broker") == []


@pytest.mark.parametrize(("total_ms", "warned"), [(9, True), (10, False)])
def test_the_summary_of_a_run(tmp_path: Path, total_ms: int, warned: bool) -> None:
    """The clocks of the golden run are −0.445 to 1.526 ms apart: 1.971 ms are 20 % of 9.855 ms."""
    shutil.copytree(Path(__file__).parents[2] / "golden" / "format-1", tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    rows = [row(second=second, answered=second, total=total_ms, latest=1) for second in range(2, 10) for _ in range(4)]
    summary = evaluation._evaluate(run, Facts.read(run), tally(*rows), recorded=True)
    assert summary.resolution_ms["total"] == {"stamp": 1.0, "visible_p50": 0.0, "visible_max": 0.0, "clock": 1.971}
    assert summary.resolution_ms["latest"]["clock"] == 0.0
    assert any("known only to within 2.0 ms" in warning for warning in summary.warnings) == warned


@pytest.mark.parametrize("shape", ["constant", "unlimited"])
def test_the_total_of_a_load_without_a_schedule_is_marked(tmp_path: Path, shape: str) -> None:
    shutil.copytree(Path(__file__).parents[2] / "golden" / "format-1", tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    scenario = content(run.manifest_path)["scenario"]
    change(run.manifest_path, scenario={**scenario, "load": {**scenario["load"], "shape": shape}})
    summary = evaluation._evaluate(run, Facts.read(run), tally(row()), recorded=True)
    assert summary.closed_loop == (shape == "unlimited")
    assert any(warning.startswith("closed loop: ") for warning in summary.warnings) == (shape == "unlimited")


def test_a_summary_has_it_rounded() -> None:
    figures = resolution.figures(resolution.measure(Bound(-1.23456, 2.0), None))
    assert figures["total"] == {"stamp": 1.0, "visible_p50": 0.0, "visible_max": 0.0, "clock": 3.235}
