"""Loads of other shapes than constant, with several workers, up to the summary."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from driving import Measure

from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.measure import measurement as course
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import LoadObservation, NullReporter, ProbeDecision
from streamgauge.measure.runner import run_scenario
from streamgauge.model import LoadPlan
from streamgauge.model.summary import BurstFigures, Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios


def sent(run: RunDir) -> list[int]:
    """The numbers of all records in the ledgers, with repetitions."""
    ledger = Ledger.read(run)
    return sorted(
        n for first, count in zip(ledger.first, ledger.count, strict=True) for n in range(first, first + count)
    )


def sent_within_ms(run: RunDir, plan: LoadPlan, from_s: float, to_s: float) -> float:
    """Time from the first to the last record that was due in this interval."""
    ledger = Ledger.read(run)
    due_s = plan.offsets_ns(np.arange(plan.records)) / 1e9
    sent_ns = [
        sent_ns
        for first, count, sent_ns in zip(ledger.first, ledger.count, ledger.sent_ns, strict=True)
        if ((from_s <= due_s[first : first + count]) & (due_s[first : first + count] < to_s)).any()
    ]
    return round((max(sent_ns) - min(sent_ns)) / 1e6, 3)


@pytest.mark.full
def test_two_workers_share_a_bursty_load_with_random_arrivals_and_skewed_keys(measure: Measure) -> None:
    run, summary = measure(
        shape="periodic-burst", burst_records=300, burst_s=0.2, burst_every_s=2, arrivals="poisson", keys="zipf",
        generators=2,
    )  # fmt: skip
    plan = run.manifest().scenario.load.plan()
    assert summary.verdict == "VALID", summary.reasons
    assert len(list((run.path / "ledger").iterdir())) == 2
    assert sent(run) == list(range(plan.records))
    # Records before the tail: 5 s at 500/s, and the bursts that end at 2 and 4 s.
    assert summary.results["expected"] == summary.results["matched"] == plan.count_before(5 * 10**9)
    seconds = pq.read_table(run.measures("seconds")).to_pylist()
    assert [second["offered"] for second in seconds[:5]] == plan.per_second()[:5]
    # The anchors computed by Spark are the plan's, record by record: no result is earlier.
    assert summary.latency_ms["generator_share"]["count"] == summary.latency_ms["total"]["count"]
    assert pq.read_table(run.measures("latency")).column("value_ms").to_numpy().min() >= 0
    widths_ms = [(burst.start_s, burst.width_ms) for burst in summary.burst.bursts]
    assert widths_ms == [(start_s, sent_within_ms(run, plan, start_s, start_s + 0.2)) for start_s in (1.8, 3.8)]


@pytest.mark.full
def test_a_load_without_a_schedule_is_measured_from_the_send_time(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(course, "LOAD_OVERRUN_S", -60.0)  # it may take longer than its rate implies: nothing is overdue
    run, summary = measure(shape="unlimited", rate_per_s=2_000)
    assert summary.closed_loop
    plan = run.manifest().scenario.load.plan()
    assert summary.verdict == "VALID", summary.reasons
    assert sent(run) == list(range(plan.records))
    assert summary.latency_ms["total"]["count"] == summary.results["matched"] == plan.records
    assert summary.generator.late_max_ms == 0
    outcome = run.outcome()
    sent_ns = pq.read_table(run.ledger(0)).column("sent_ns").to_numpy()
    assert outcome.measured_end_ns == sent_ns.max() + 1, "only while it was sent"
    assert pq.read_table(run.measures("latency")).column("value_ms").to_numpy().min() >= 0


@pytest.mark.full
def test_an_engine_catches_up_with_a_single_burst(measure: Measure) -> None:
    """The engine reads 1,500 records/s and delays each by 300 ms: it needs two seconds for one second of load."""
    run, summary = measure(
        shape="single-burst", burst_records=3_000, burst_s=1.0, warmup_s=2, cap_per_s=1_500, delay_ms=300.0
    )
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["matched"] == summary.results["expected"] == 3_000 + 5 * 500
    emitted = pq.read_table(run.recorded("output")).column("appended_ms").to_numpy()
    appended = np.concatenate([pq.read_table(run.recorded(name)).column("appended_ms") for name in ("flow", "speed")])
    assert emitted.min() >= np.sort(appended)[2_999], "no result before the whole burst was appended"
    started_ms = run.outcome().engine_start_ns / 1e6
    of_burst_ms = [
        row["appended_ms"]
        for row in pq.read_table(run.recorded("output")).to_pylist()
        if json.loads(row["value"])["n_seq"] < 3_000
    ]
    assert len(of_burst_ms) == 3_000
    assert summary.burst == BurstFigures(
        kind="single",
        records=3_000,
        first_output_s=round((emitted.min() - started_ms) / 1000, 3),
        caught_up_s=round((max(of_burst_ms) - started_ms) / 1000, 3),
    )
    # Known behaviour of the engine: it delays the first record, and the last one follows at its pace.
    assert summary.burst.first_output_s >= 0.3
    assert summary.burst.caught_up_s >= 3_000 / 1_500


READY_WHEN_SAMPLED = """
import json, pathlib, sys, time
started_ns, samples = time.time_ns(), pathlib.Path(sys.argv[1])
while not any(json.loads(line)["t_ns"] > started_ns for line in samples.read_text().split("\\n")[:-1]):
    time.sleep(0.02)
print(json.dumps({"event": "ready"}), flush=True)
sys.exit(3)
"""


@pytest.mark.full
def test_an_engine_is_sampled_while_it_starts_under_load(shared: Bench) -> None:
    """The engine reports ready when it finds a sample newer than itself, and then exits."""
    changes = {"shape": "single-burst", "burst_records": "500", "burst_s": "0.5", "warmup_s": "1", "measured_s": "4"}
    out = shared.out("command")
    program = (sys.executable, "-c", READY_WHEN_SAMPLED, str(out / "samples" / "machine.jsonl"))
    scenario = scenarios.resolve("ospbench/latency", engine="command", changes=changes)
    request = Request(scenario, out, transport_address=shared.transport_address, program=program)
    run, _ = run_scenario(request, NullReporter(), shared.evaluator)
    assert [process.exit_code for process in run.outcome().ended] == [3]


class EndsIt:
    """Decides two seconds into the measured interval."""

    def __init__(self, word: str) -> None:
        self.action = word

    def look(self, observation: LoadObservation) -> ProbeDecision | None:
        return ProbeDecision(self.action, "as agreed") if observation.measured_s >= 2 else None  # type: ignore[arg-type]


def ended(shared: Bench, word: str) -> tuple[RunDir, Summary]:
    changes = {"warmup_s": "1", "measured_s": "60", "rate_per_s": "500"}
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes=changes)
    request = Request(scenario, shared.out(word), transport_address=shared.transport_address)
    return run_scenario(request, NullReporter(), shared.evaluator, EndsIt(word))


@pytest.mark.full
def test_enough_ends_the_measured_interval_and_the_rest_follows(shared: Bench) -> None:
    run, summary = ended(shared, "enough")
    outcome = run.outcome()
    assert 2 <= (outcome.measured_end_ns - outcome.measured_start_ns) / 1e9 < 60, "shorter than planned"
    plan = run.manifest().scenario.load.plan()
    assert outcome.load_end_ns - outcome.measured_end_ns == plan.tail_s * 1e9 > 0, "the tail continues"
    assert outcome.drain == "quiet"
    results = summary.results
    assert results["expected"] == results["matched"] > 0  # type: ignore[index]
    assert sent(run) == list(range(plan.count_before(outcome.load_end_ns - outcome.load_start_ns)))


@pytest.mark.full
def test_hopeless_stops_everything_at_once(shared: Bench) -> None:
    run, summary = ended(shared, "hopeless")
    assert run.outcome().hopeless == "as agreed"
    assert run.outcome().drain is None
    assert not any((run.path / "recorded").iterdir()), "nothing is recorded"
    assert (summary.state, summary.sustained) == ("overloaded", False)
    assert any("as agreed" in str(warning) for warning in summary.warnings)  # type: ignore[attr-defined]
