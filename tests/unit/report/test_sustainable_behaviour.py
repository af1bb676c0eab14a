"""Behaviour over time in the study sustainable, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic_sustainable import MIDDLES, START_MS, batch, cells, panels, plots, plotted, run, used

from run_files import change, content
from streamgauge.studies.sustainable.behaviour import delays_ms, quarters

FALLING = {
    "offered": [900.0, 300.0, 300.0, 900.0],
    "ingested": [800.0, 400.0, 300.0, 900.0],
    "total_p50": [10.0, 20.0, 20.0, 30.0],
    "total_max": [40.0, 50.0, 50.0, 60.0],
}
OVERLOADED = {
    "ingested": [1000.0] * 4,
    "total_p50": [500.0, 1000.0, 1500.0, 2000.0],
    "processing_time_p50": [80.0, 90.0, 85.0, 80.0],
}
CLUSTER = {
    role: (cpu, mb) for role, cpu, mb in (("worker-1", 0.5, 1.0), ("executor-1", 1.0, 2.0), ("worker-2", 0.25, 0.5))
}
"""Cores and MB/s of each role of two nodes, the second of which has no executor."""


def by_second(values: list[float]) -> dict[float, float]:
    return dict(zip(MIDDLES, values, strict=True))


def test_a_fluctuating_load_shows_latency_and_rates_of_each_program(tmp_path: Path) -> None:
    latencies = {"total": [100.0] * 98 + [1100.0] * 2, "processing_time": [50.0] * 100}
    rows = [
        run(tmp_path, "fluctuating-aggregation", rate=900, columns=FALLING, latencies=latencies),
        run(tmp_path, "fluctuating-join", "flink", columns=FALLING),
    ]
    drawn = panels(tmp_path, "Fig. 6", rows)
    names = [f"e-{program}-{what}" for program in ("aggregation", "join") for what in ("latency", "rates")]
    assert list(plots(drawn)) == names
    assert plotted(drawn)["e-aggregation-latency"] == {
        "spark p50": by_second(FALLING["total_p50"]),
        "spark max": by_second(FALLING["total_max"]),
    }
    assert plotted(drawn)["e-join-rates"] == {
        "flink offered": by_second(FALLING["offered"]),
        "flink taken": by_second(FALLING["ingested"]),
    }
    assert cells(drawn, "Latencies")[:2] == [
        ["spark · aggregation", "900", "event time", "120", "100", "–", "1,100", "VALID"],
        ["spark · aggregation", "900", "processing time", "50", "50", "–", "50", "VALID"],
    ]
    assert {row[0] for row in cells(drawn, "The paper's numbers")} == {
        "load, high (records/s)",
        "load, low (records/s)",
    }


def test_event_time_grows_under_overload_and_processing_time_does_not(tmp_path: Path) -> None:
    (panel,) = panels(tmp_path, "Fig. 7", [run(tmp_path, "overloaded", columns=OVERLOADED, sustained=False)])
    assert panel.finding == (
        "spark · aggregation · 150 %, not sustained: event time 500 → 2,000 ms, processing time 80 → 80 ms "
        "(first → last quarter)."
    )
    (plot,) = panel.plots
    event_time, processing_time = plot.figure["data"]
    assert (event_time["name"], event_time["y"]) == ("spark event time", OVERLOADED["total_p50"])
    assert (processing_time["name"], processing_time["line"]["dash"]) == ("spark processing time", "dash")


def test_the_finding_has_a_sentence_for_each_engine_with_both_ends(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "aggregation-latency-1x-100", columns={"total_p50": [100.0, None, None, 120.0]}),
        run(tmp_path, "aggregation-latency-1x-100", "flink", columns={"total_p50": [None, 7.0, None, None]}),
    ]
    (panel,) = panels(tmp_path, "Fig. 8", rows)
    assert panel.finding == "spark · aggregation · 1× · 100 %: event time 100 → 120 ms (first → last quarter)."


def test_the_points_of_a_window_are_no_growth() -> None:
    """Results of rare gem packs have waited longer than others of the same window."""
    window = [900.0, 700.0, 500.0, 300.0]
    assert quarters(4 * window) == (600.0, 600.0)
    assert quarters([*window, *window, *window, 1900.0, 1700.0, 1500.0, 1300.0]) == (600.0, 1600.0)
    assert quarters([100.0, 120.0]) == (100.0, 120.0)


def test_a_run_whose_load_never_began_is_left_out_of_figures(tmp_path: Path) -> None:
    row = run(tmp_path, "overloaded", columns=OVERLOADED, verdict="FAILED")
    outcome = tmp_path / row["directory"] / "outcome.json"
    outcome.unlink()
    banner, panel = panels(tmp_path, "Fig. 7", [row])
    assert (banner.verdict, panel.finding, panel.plots) == ("FAILED", "", [])


def test_backpressure_is_the_level_of_the_queues(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "aggregation-latency-1x-100", rate=2000, columns={"queued": [100.0, 200.0, 300.0, 1000.0]}),
        run(tmp_path, "join-latency-4x-100", rate=500, columns={"queued": [0.0, 5.0, 5.0, 10.0]}),
        run(tmp_path, "join-latency-1x-100", columns={"ingested": [1.0] * 4}),
    ]
    drawn = panels(tmp_path, "Experiment 7", rows)
    assert plotted(drawn) == {
        "e-aggregation-1x": {"spark": by_second([100.0, 200.0, 300.0, 1000.0])},
        "e-join-4x": {"spark": by_second([0.0, 5.0, 5.0, 10.0])},
    }
    assert cells(drawn, "Records in the queues") == [
        ["spark · aggregation · 1× · 100 %", "2,000", "400", "1,000", "0.50", "VALID"],
        ["spark · join · 4× · 100 %", "500", "5", "10", "0.02", "VALID"],
    ]


def test_throughput_over_time_has_its_mean_and_spread(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "aggregation-latency-1x-100", columns={"ingested": [600.0, 1400.0, 600.0, 1400.0]}),
        run(tmp_path, "aggregation-latency-1x-90", "flink", columns={"ingested": [900.0] * 4}),
        run(tmp_path, "aggregation-latency-1x-90", columns={"ingested": [0.0] * 4}),
    ]
    drawn = panels(tmp_path, "Fig. 9", rows)
    assert plotted(drawn)["e-100"] == {"spark": by_second([600.0, 1400.0, 600.0, 1400.0])}
    assert list(plotted(drawn)["e-90"]) == ["flink", "spark"]
    assert cells(drawn, "Throughput at the queues") == [
        ["100 %", "spark", "1,000", "600", "1,400", "40.0", "VALID"],
        ["90 %", "flink", "900", "900", "900", "0.0", "VALID"],
        ["90 %", "spark", "0", "0", "0", "–", "VALID"],
    ]


def test_the_spread_is_of_whole_seconds(tmp_path: Path) -> None:
    row = run(tmp_path, "aggregation-latency-1x-100", columns={"ingested": [500.0, 1000.0, 1000.0, 500.0]})
    path = tmp_path / row["directory"] / "outcome.json"
    moved = {"measured_start_ns": 100_000_000, "measured_end_ns": -100_000_000}
    change(path, **{name: content(path)[name] + shift for name, shift in moved.items()})
    (found,) = cells(panels(tmp_path, "Fig. 9", [row]), "Throughput at the queues")
    assert found[2:6] == ["1,000", "1,000", "1,000", "0.0"], "the first and the last second are cut"


@pytest.mark.parametrize("network", [True, False])
def test_a_node_uses_what_all_its_processes_use(network: bool, tmp_path: Path) -> None:
    samples = [
        used(
            float(second),
            role,
            cpu * second + 2 * (role == "executor-1" and second >= 4),
            mb * second if network else None,
        )
        for second in range(8)
        for role, (cpu, mb) in {**CLUSTER, "engine": (9.0, 9.0)}.items()
    ]
    rows = [run(tmp_path, "aggregation-latency-2x-100", nodes=2, samples=samples)]
    panel, together = panels(tmp_path, "Fig. 10", rows)
    assert (panel.title, panel.verdict) == ("spark · aggregation · 2× · 100 %", "VALID")
    assert plotted([panel])["e-spark-cpu"] == {
        "worker-1": {0.0: 1.5, 1.0: 1.5, 2.0: 3.5, 3.0: 1.5, 4.0: 1.5},
        "worker-2": dict.fromkeys((0.0, 1.0, 2.0, 3.0, 4.0), 0.25),
    }
    network_of = {"worker-1": ["6.00", "6.00"], "worker-2": ["1.00", "1.00"]} if network else {}
    assert cells([together], "Use of each node") == [
        ["spark", "worker-1", "1.90", "3.50", *network_of.get("worker-1", ["–", "–"]), "VALID"],
        ["spark", "worker-2", "0.25", "0.25", *network_of.get("worker-2", ["–", "–"]), "VALID"],
    ]
    assert ("e-spark-network" in plots([panel])) is network
    if network:
        assert plotted([panel])["e-spark-network"] == {
            "worker-1": dict.fromkeys((0.0, 1.0, 2.0, 3.0, 4.0), 6.0),
            "worker-2": dict.fromkeys((0.0, 1.0, 2.0, 3.0, 4.0), 1.0),
        }


def test_a_sum_that_shrinks_is_not_a_negative_use(tmp_path: Path) -> None:
    cpu_s = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 3.5]
    samples = [used(float(second), "worker-1", value) for second, value in enumerate(cpu_s)]
    panel, _ = panels(tmp_path, "Fig. 10", [run(tmp_path, "aggregation-latency-2x-100", samples=samples)])
    assert list(plotted([panel])["e-spark-cpu"]["worker-1"].values()) == [1.0, 1.0, None, 1.0, 1.0]


def test_an_engine_without_nodes_has_no_panel(tmp_path: Path) -> None:
    samples = [used(float(second), "engine", float(second)) for second in range(8)]
    (only,) = panels(tmp_path, "Fig. 10", [run(tmp_path, "aggregation-latency-2x-100", nodes=0, samples=samples)])
    assert not only.plots


def test_a_batch_is_due_at_the_next_multiple_of_the_interval() -> None:
    began = (2000, 3000, 4250, None, 6000, 6010)
    batches = [batch(number, began_ms) for number, began_ms in enumerate(began)]
    # 3000 is due at 3000, 4250 at 4000, 6000 at 5000; 6010 is before its trigger at 7000.
    expected = [(3000, 0), (4250, 250), (6000, 1000), (6010, 0)]
    assert delays_ms(batches, 1000) == [(START_MS + began_ms, delay_ms) for began_ms, delay_ms in expected]
    assert delays_ms(batches[:1], 1000) == []


def test_scheduler_delay_and_throughput_stand_beside_each_other(tmp_path: Path) -> None:
    late = [batch(number, began_ms) for number, began_ms in enumerate((1000, 2000, 3000, 4250, 6000, 7000))]
    rows = [
        run(tmp_path, "aggregation-latency-1x-100", columns=OVERLOADED),
        run(tmp_path, "overloaded-unlimited", columns=OVERLOADED, samples=late),
        run(tmp_path, "overloaded", samples=late),
    ]
    drawn = panels(tmp_path, "Fig. 11", rows)
    assert plotted(drawn) == {
        "e-delay-150": {"spark, 150 %": {0.0: 0.0, 1.0: 0.0, 2.25: 250.0, 4.0: 1000.0}},
        "e-taken-150": {"spark": by_second(OVERLOADED["ingested"])},
    }
    assert plots(drawn)["e-delay-150"].caption == "Highest 1,000 ms."


def test_batches_without_their_beginning_have_no_delay(tmp_path: Path) -> None:
    early = [batch(number, None) for number in range(4)]
    rows = [run(tmp_path, "overloaded-unlimited", columns=OVERLOADED, samples=early)]
    assert panels(tmp_path, "Fig. 11", rows) == []
