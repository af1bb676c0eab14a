"""Loads of other shapes than a constant one, by several workers, all the way to the summary."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
from driving import Measure

from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.lab.blueprint import Request
from streamgauge.lab.experiment import run_experiment
from streamgauge.lab.watch import Call, Nobody, Seen
from streamgauge.model import LoadPlan
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios


def sent(run: RunDir) -> list[int]:
    """The numbers of all records in the ledgers, as often as they are there."""
    ledger = Ledger.read(run)
    return sorted(
        n for first, count in zip(ledger.first, ledger.count, strict=True) for n in range(first, first + count)
    )


def test_two_workers_share_a_bursty_load_with_random_arrivals_and_skewed_keys(measure: Measure) -> None:
    run, summary = measure(
        shape="periodic-burst", burst_records=300, burst_s=0.2, burst_every_s=2, arrivals="poisson", keys="zipf",
        generators=2,
    )  # fmt: skip
    plan = LoadPlan.from_json(run.manifest()["scenario"]["load"])
    assert summary["verdict"] == "VALID", summary["reasons"]
    assert len(list((run.path / "ledger").iterdir())) == 2
    assert sent(run) == list(range(plan.records))
    # What is anchored before the tail: 5 s at 500/s, and the bursts that end at 2 and 4 s.
    assert summary["results"]["expected"] == summary["results"]["matched"] == plan.count_before(5 * 10**9)
    seconds = pq.read_table(run.measures("seconds")).to_pylist()
    assert [second["offered"] for second in seconds[:5]] == plan.per_second()[:5]
    # The anchors that Spark worked out are the plan's, record by record: no result is early by them.
    assert summary["latency_ms"]["generator_share"]["count"] == summary["latency_ms"]["total"]["count"]
    assert pq.read_table(run.measures("latency")).column("value_ms").to_numpy().min() >= 0


def test_a_load_without_a_schedule_is_measured_from_when_records_left(measure: Measure) -> None:
    run, summary = measure(shape="unlimited", rate_per_s=2_000)
    plan = LoadPlan.from_json(run.manifest()["scenario"]["load"])
    assert summary["verdict"] == "VALID", summary["reasons"]
    assert sent(run) == list(range(plan.records))
    assert summary["latency_ms"]["total"]["count"] == summary["results"]["matched"] == plan.records
    assert summary["generator"]["late_max_ms"] == 0
    assert pq.read_table(run.measures("latency")).column("value_ms").to_numpy().min() >= 0


def test_a_single_burst_is_there_before_the_engine(measure: Measure) -> None:
    run, summary = measure(shape="single-burst", burst_records=3_000, burst_s=1.0, warmup_s=2)
    assert summary["verdict"] == "VALID", summary["reasons"]
    assert summary["results"]["matched"] == summary["results"]["expected"] == 3_000 + 5 * 500
    emitted = pq.read_table(run.recorded("output")).column("appended_ms").to_numpy()
    appended = np.concatenate([pq.read_table(run.recorded(name)).column("appended_ms") for name in ("flow", "speed")])
    assert emitted.min() >= np.sort(appended)[2_999], "no result came before the whole burst was there"


class EndsIt:
    """Calls the word when the measured interval is two seconds old."""

    def __init__(self, word: str) -> None:
        self.word = word

    def look(self, seen: Seen) -> Call | None:
        return Call(self.word, "as agreed") if seen.measured_s >= 2 else None  # type: ignore[arg-type]


def ended(shared: Bench, word: str) -> tuple[RunDir, dict[str, object]]:
    changes = {"warmup_s": "1", "measured_s": "60", "rate_per_s": "500", "out_of_order_ms": "1000"}
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes=changes)
    request = Request(scenario, shared.out(word), bootstrap=shared.bootstrap)
    return run_experiment(request, Nobody(), shared.evaluator, EndsIt(word))


def test_enough_ends_the_measured_interval_and_the_rest_follows(shared: Bench) -> None:
    run, summary = ended(shared, "enough")
    outcome = run.outcome()
    assert 2 <= (outcome["measured_end_ns"] - outcome["measured_start_ns"]) / 1e9 < 6
    assert outcome["load_end_ns"] - outcome["measured_end_ns"] == 10**9, "the tail goes on"
    assert outcome["drain"] == "quiet"
    results = summary["results"]
    assert results["expected"] == results["matched"] > 0  # type: ignore[index]
    plan = LoadPlan.from_json(run.manifest()["scenario"]["load"])
    assert sent(run) == list(range(plan.count_before(outcome["load_end_ns"] - outcome["load_start_ns"])))


def test_hopeless_stops_everything_at_once(shared: Bench) -> None:
    run, summary = ended(shared, "hopeless")
    assert run.outcome()["hopeless"] == "as agreed"
    assert run.outcome()["drain"] is None
    assert not any((run.path / "recorded").iterdir()), "nothing is recorded"
    assert (summary["state"], summary["sustained"]) == ("overloaded", False)
    assert any("as agreed" in str(warning) for warning in summary["warnings"])  # type: ignore[attr-defined]
