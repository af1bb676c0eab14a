"""Injected errors are detected and counted exactly."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from driving import Measure

from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.verdict import exit_code
from streamgauge.measure.measurement import Measurement
from streamgauge.measure.plan import Request, draw, run_name
from streamgauge.measure.reporter import NullReporter, Tick
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios


@pytest.mark.full
def test_an_honest_run_passes(measure: Measure) -> None:
    run, summary = measure()
    assert run.outcome().shared_cores is True, "nothing is pinned to a core"
    assert set(run.outcome().cores) == {"engine", "load"}, "the broker is not the run's own"
    assert summary.reasons == []
    assert summary.verdict == "VALID"
    results = summary.results
    # 5 seconds of load before the tail, at 500 records per second.
    assert results == {
        "expected": 2500,
        "matched": 2500,
        **dict.fromkeys(("wrong", "lost", "unfinished", "duplicates", "intermediate", "reverted", "unexpected"), 0),
        "inputs_per_result": 1.0,
    }
    assert summary.latency_ms["latest"]["count"] == 2000
    assert summary.rate_per_s.offered == 500


def test_injected_errors_are_counted_exactly(measure: Measure) -> None:
    """For each record the first that applies: dropped, altered, published twice."""
    _, summary = measure(drop_every=7, alter_every=5, duplicate_every=3)
    results, numbers = summary.results, range(1, 2501)
    injected = {
        "lost": sum(n % 7 == 0 for n in numbers),
        "wrong": sum(n % 7 != 0 and n % 5 == 0 for n in numbers),
        "duplicates": sum(n % 7 != 0 and n % 5 != 0 and n % 3 == 0 for n in numbers),
    }
    assert {word: results[word] for word in injected} == injected
    assert results["matched"] == 2500 - injected["lost"] - injected["wrong"]
    assert (results["unfinished"], results["intermediate"], results["unexpected"]) == (0, 0, 0)
    assert summary.verdict == "FAILED"
    assert exit_code(summary) == 4
    reasons = " ".join(summary.reasons)
    assert [number for number in injected.values() if f"{number:,}" not in reasons] == []


class Stall(NullReporter):
    """Stops the load worker for 300 ms of every second of the measured interval."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.stalls = 0

    def warn(self, text: str) -> None:
        assert text.startswith("another run was active"), text

    def tick(self, tick: Tick) -> None:
        if tick.phase == "measuring":
            self.stalls += 1
            self.supervisor.pause("load")
            threading.Timer(0.3, self.supervisor.resume, ["load"]).start()


def test_a_stalled_generator_is_invalid(shared: Bench) -> None:
    changes = {"warmup_s": "1", "measured_s": "4", "quiet_s": "1"}
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes=changes)
    request = Request(scenario, shared.out("stall"), transport_address=shared.transport_address)
    run, name = RunDir.create(request.out), run_name(scenario)
    with Supervisor(name, run.path / "logs") as supervisor:
        plan = draw(request, name, supervisor.work_dir)
        reporter = Stall(supervisor)
        summary = Measurement(plan, supervisor, reporter, shared.evaluator).measure()
    plan.transport.remove()
    assert reporter.stalls
    assert summary.verdict == "INVALID"
    assert exit_code(summary) == 3
    assert "generator" in summary.reasons[0]
    assert summary.generator.late_max_ms >= 250
    assert summary.results["lost"] == 0


@pytest.mark.full
def test_an_overloaded_generator_is_invalid(measure: Measure) -> None:
    _, summary = measure(rate_per_s=1_500_000, warmup_s=0, measured_s=1, attempts=1)
    assert summary.verdict == "INVALID"
    assert "generator" in summary.reasons[0]
    assert exit_code(summary) == 3


DYING = """
import json, sys, time
print(json.dumps({"event": "ready"}), flush=True)
time.sleep(2.5)
print("the last thing I say", file=sys.stderr)
sys.exit(3)
"""


def test_an_engine_that_dies_is_a_failure(measure: Measure) -> None:
    run, summary = measure("command", program=(sys.executable, "-c", DYING))
    assert summary.verdict == "FAILED"
    assert exit_code(summary) == 4
    (ended,) = run.outcome().ended
    assert ended.exit_code == 3
    assert "the last thing I say" in ended.log_tail
    assert "exit code 3" in summary.reasons[0]
    assert summary.results["matched"] == 0


def test_an_engine_that_does_not_start_is_a_failure(measure: Measure) -> None:
    broken = 'import json; print(json.dumps({"event": "failed", "message": "no licence"})); raise SystemExit(1)'
    _, summary = measure("command", program=(sys.executable, "-c", broken))
    assert summary.verdict == "FAILED"
    assert "no licence" in " ".join(summary.reasons)


@pytest.mark.full
def test_the_guarantee_decides(measure: Measure) -> None:
    """At-least-once delivery permits the same duplicates."""
    twice = """
import json, signal, sys
from pathlib import Path
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
job = json.loads(Path(sys.argv[-1]).read_text())
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
consumer, producer = Consumer({**servers, "group.id": "x", "enable.auto.commit": False}), Producer(servers)
topics, partitions = job["inputs"].values(), range(job["partitions"])
consumer.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t in topics for p in partitions])
print(json.dumps({"event": "ready"}), flush=True)
while not stopping:
    message = consumer.poll(0.1)
    if message is not None and not message.error():
        for _ in range(2):
            producer.produce(job["output"], key=message.key(), value=message.value())
    producer.poll(0)
producer.flush()
consumer.close()
"""
    verdicts: dict[str, Any] = {}
    for delivery in ("at-least-once", "exactly-once"):
        _, summary = measure("command", program=(sys.executable, "-c", twice), delivery=delivery)
        verdicts[delivery] = (summary.verdict, summary.results["duplicates"])
    assert verdicts == {"at-least-once": ("VALID", 2500), "exactly-once": ("FAILED", 2500)}
