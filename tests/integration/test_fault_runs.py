"""Faults on real processes and a real broker: their effect is measured, and one without effect makes a run INVALID."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from driving import Measure, in_process, streamgauge
from test_nothing_left import Started

from attempts import ATTEMPTS, until_valid

COPY_FOR_A_WHILE = """
import itertools, json, sys
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
job = json.load(open(sys.argv[-1]))
consumer = Consumer({"bootstrap.servers": job["endpoints"]["bootstrap"], "group.id": "copy"})
places = itertools.product(job["inputs"].values(), range(job["partitions"]))
consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in places])
producer = Producer({"bootstrap.servers": job["endpoints"]["bootstrap"], "linger.ms": 0})
consumer.list_topics(timeout=20)
print(json.dumps({"event": "ready"}), flush=True)
for _ in range(1500):
    message = None
    while message is None:
        message = consumer.poll(1.0)
        producer.poll(0)
    producer.produce(job["output"], value=message.value(), key=message.key())
producer.flush(10)
sys.exit(7)
"""
"""Three seconds of a load of 500 records per second, then it dies."""


@pytest.mark.full
def test_a_pause_is_an_outage_of_its_length(measure: Measure) -> None:
    run, summary = measure(faults=("pause engine for 2s at 40%",), measured_s=20)
    assert summary.verdict == "VALID", summary.reasons
    assert summary.results["lost"] == summary.results["duplicates"] == summary.results["unfinished"] == 0
    (fault,) = summary.faults
    (record,) = run.outcome().faults
    assert record.took_effect and record.ended_ns - record.acted_ns >= 2e9
    assert fault.planned_s == 8.0 and fault.acted_s >= 8.0
    assert fault.outage_s >= max(2.0, fault.gap_before_s)
    assert fault.first_output_s >= 2.0
    # They count whole seconds of the run; the fault acts some milliseconds after a full second.
    assert fault.latency_back_s >= 1.9 and fault.backlog_back_s >= 1.9
    assert summary.latency_ms["total"]["max"] >= 2000
    assert summary.generator.late_max_ms < summary.generator.late_max_limit_ms


@pytest.mark.full
def test_unpublished_results_of_a_killed_engine_are_lost(measure: Measure) -> None:
    run, summary = measure(faults=("kill engine at 2s",))
    assert summary.verdict == "FAILED", summary.reasons
    assert run.outcome().ended == [], "a process that a fault killed did not exit unexpectedly"
    assert run.outcome().drain == "quiet"
    results = summary.results
    assert results["lost"] > 500 and results["matched"] > 0
    assert results["lost"] + results["matched"] == results["expected"]
    assert results["lost"] == 2500 - sum(run.outcome().ends["output"].values()), "by the offsets of the broker"
    assert [reason for reason in summary.reasons if "were lost" in reason] == summary.reasons
    (fault,) = summary.faults
    assert fault.took_effect and fault.first_output_s is None and fault.backlog_back_s is None


@pytest.mark.full
def test_a_killed_process_comes_back_and_what_it_lost_is_what_the_topics_lack(measure: Measure) -> None:
    """Echo has no checkpoint: it copies each record once, and continues at the end of its input."""
    run, summary = measure(faults=("kill engine for 1s at 1s",), measured_s=12)
    outcome, results = run.outcome(), summary.results
    (record,), (fault,) = outcome.faults, summary.faults
    assert record.took_effect and record.acted_ns + 1e9 <= record.restarted_ns <= record.ended_ns
    assert outcome.ended == [] and outcome.drain == "quiet"
    assert fault.number == 1 and fault.first_output_s >= 1.0 and fault.restarted_s >= 2.0
    # By the offsets that the broker reports, without the evaluation.
    held = {name: sum(ends.values()) for name, ends in outcome.ends.items()}
    missing = held["flow"] + held["speed"] - held["output"]
    assert (results["lost"], results["duplicates"]) == (missing, 0) and missing > 400
    assert summary.verdict == "FAILED"
    assert summary.guarantee == f"{missing:,} of {results['expected']:,} results lost, nothing duplicated"


@pytest.mark.full
def test_every_repetition_of_a_fault_is_measured(measure: Measure) -> None:
    _, summary = measure(faults=("pause engine for 1s at 6s every 5s",), measured_s=20)
    assert summary.verdict == "VALID", summary.reasons
    assert summary.guarantee == "nothing lost, nothing duplicated"
    assert [(fault.number, fault.planned_s) for fault in summary.faults] == [(1, 6.0), (2, 11.0), (3, 16.0)]
    assert all(fault.took_effect and fault.outage_s >= 1.0 for fault in summary.faults)


@pytest.mark.full
@pytest.mark.engine("flink")
def test_a_system_that_runs_on_silently_has_failed(measure: Measure) -> None:
    """A Flink job that has lost its only TaskManager waits for another one."""
    run, summary = measure("flink", faults=("kill taskmanager-1 at 50%",), stage="ingest", drain_deadline_s=8)
    assert run.outcome().ended == []
    assert run.outcome().drain == "deadline"
    assert summary.verdict == "FAILED"
    assert any("no output after the fault" in reason for reason in summary.reasons)


@pytest.mark.full
def test_a_fault_whose_process_had_already_ended_makes_the_run_invalid(measure: Measure) -> None:
    program = (sys.executable, "-c", COPY_FOR_A_WHILE)
    run, summary = measure(
        "command", program=program, faults=("kill engine at 90%",), attempts=1, measured_s=8, delivery="at-least-once"
    )
    assert summary.verdict == "INVALID"
    assert any("did not take effect" in reason for reason in summary.reasons)
    assert any("exit code 7" in reason for reason in summary.reasons)
    (record,) = run.outcome().faults
    assert (record.took_effect, record.acted_ns) == (False, None)


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ("pause broker for 3s at 6s", "VALID"),
        ("kill broker at 3s", "INVALID"),
        ("kill load at 3s", "INVALID"),
        ("pause load for 1s at 3s", "INVALID"),
        ("cut load from broker for 2s at 6s", "INVALID"),
        ("cut engine from broker for 2s at 6s", "VALID"),
        ("kill broker for 3s at 6s", "VALID"),
    ],
)
def test_faults_of_components_that_are_not_under_test(fault: str, verdict: str, tmp_path: Path) -> None:
    """A broker that is away stops the output but not the generator; without broker or load nothing is measured."""
    directories: list[Path] = []
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        return streamgauge(
            "run", "ospbench/latency", "--engine", "echo", "--for", "14s", "--warmup", "1s", "--fault", fault, "--json",
            "--out", str(directories[-1]), "--set", "drain_deadline_s=20",
            env={"TMPDIR": str(temporary), "STREAMGAUGE_STATE": str(tmp_path / "state")},
        )  # fmt: skip

    done = until_valid(once, lambda done: done.returncode == 3, ATTEMPTS if verdict == "VALID" else 1)
    out = directories[-1]
    assert "Traceback" not in done.stderr
    # An outage may be too long for a rate to be sustained (exit code 1).
    assert done.returncode in ((0, 1) if verdict == "VALID" else (3,)), done.stderr
    summary = json.loads(done.stdout)
    assert summary["verdict"] == verdict
    (figures,) = summary["faults"]
    assert figures["took_effect"]
    assert (out / "report.html").is_file()
    assert list(temporary.iterdir()) == [] and list((tmp_path / "state").rglob("*.jsonl")) == [], "nothing is left"
    if fault.startswith("cut"):
        assert figures["ended_s"] - figures["acted_s"] >= 2.0
        assert ("kept the load from the broker" in str(summary["reasons"])) is fault.startswith("cut load")
    if fault.startswith("cut engine"):
        # What had passed the proxy by then is still appended.
        assert figures["outage_s"] >= max(1.9, figures["gap_before_s"]) and figures["first_output_s"] >= 1.9
        assert figures["latency_back_s"] is not None and figures["backlog_back_s"] >= 1.0
        assert summary["guarantee"] == "nothing lost, nothing duplicated"
    if verdict == "VALID" and "broker for 3s" in fault:
        assert figures["outage_s"] >= max(3.0, figures["gap_before_s"])
        assert summary["generator"]["errors"] == summary["results"]["lost"] == 0
        assert summary["generator"]["late_max_ms"] < summary["generator"]["late_max_limit_ms"]


def is_stopped(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


@pytest.mark.full
def test_an_interrupted_run_leaves_nothing_paused(tmp_path: Path) -> None:
    fault = ("--fault", "pause engine for 50s at 1s", "--fault", "pause broker for 50s at 1s")
    started = Started(tmp_path, "--engine", "echo", "--for", "60s", "--warmup", "1s", *fault)
    try:
        started.await_text("warm-up")
        deadline = time.monotonic() + 60
        while sum(is_stopped(process) for process in started.seen) < 2:
            assert time.monotonic() < deadline and started.cli.poll() is None, started.log.read_text()
            started.look()
            time.sleep(0.1)
        started.cli.send_signal(signal.SIGINT)
        assert started.cli.wait(60) == 130
        assert "Traceback" not in started.log.read_text()
        started.assert_nothing_left()
        actions = json.loads((tmp_path / "run" / "outcome.json").read_text())["faults"]
        assert all(action["took_effect"] and action["ended_ns"] for action in actions)
    finally:
        if started.cli.poll() is None:
            started.cli.kill()
            started.cli.wait()


def test_mistakes_are_reported_before_anything_starts(tmp_path: Path) -> None:
    for arguments, says in (
        (
            ("run", "ospbench/latency", "--engine", "echo", "--fault", "kill engin at 50%"),
            "one of broker, engine, load",
        ),
        (
            ("plan", "ospbench/latency", "--engine", "echo", "--fault", "kill engine at 31s"),
            "the measured interval is over",
        ),
        (("capacity", "ospbench/latency", "--engine", "echo", "--fault", "kill engine at 3s"), "takes no faults"),
    ):
        done = in_process(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert says in done.stderr and "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []
