"""Programs designed to mislead a measurement, and its verdict on them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import Measure

from streamgauge import jars
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.verdict import exit_code
from streamgauge.jvm.java import find_java
from streamgauge.transports.kafka.sender import CLIENT_ID

pytestmark = pytest.mark.full

HOSTILE = str(Path(__file__).parent / "hostile_engine.py")


def hostile(behaviour: str, value: float) -> tuple[str, ...]:
    return sys.executable, HOSTILE, behaviour, str(value)


@pytest.mark.parametrize(
    ("behaviour", "fate", "reason"),
    [
        ("silent", "lost", "results were lost"),
        ("stuck", "unfinished", "the system under test fell silent"),
    ],
)
def test_a_program_that_falls_silent_half_way(measure: Measure, behaviour: str, fate: str, reason: str) -> None:
    """The drain waits until the deadline for one that reports consumed records; for the other it ends quiet."""
    program = hostile(behaviour, 4)
    _, summary = measure("command", program=program, measured_s=6, drain_deadline_s=8, sustained="slope")
    assert (summary.verdict, exit_code(summary)) == ("FAILED", 4)
    assert reason in summary.reasons[0]
    assert (summary.state, summary.sustained) == ("overloaded", False)
    results, total = summary.results, summary.latency_ms["total"]
    assert results[fate] == results["expected"] - results["matched"] > 500
    assert total["missing"] > 500
    assert total["p99"] is None and total["p99_at_least"] > 3000


def test_a_program_that_publishes_every_098_seconds_keeps_up(measure: Measure) -> None:
    _, summary = measure("command", program=hostile("every", 0.98), measured_s=25, sustained="slope")
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert (summary.sustained, exit_code(summary)) == (True, 0)


def test_a_slow_partition_is_overload_and_not_loss(measure: Measure) -> None:
    """Partition 1 gets about 250 of the 500 records per second, and 60 of them are read."""
    _, summary = measure("command", program=hostile("slow", 60), measured_s=14, drain_deadline_s=6, sustained="slope")
    assert summary.results["lost"] == 0
    assert summary.results["unfinished"] > 500
    assert (summary.verdict, summary.sustained) == ("VALID", False)
    assert exit_code(summary) == 1


def test_a_steady_delay_under_a_ramp_is_sustained(measure: Measure) -> None:
    _, summary = measure("echo", delay_ms=500, shape="ramp", to_per_s=4000, measured_s=20, sustained="slope")
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert summary.sustained is True, summary.state_reason
    assert summary.backlog.slope_per_s > 10, "the backlog in records does grow"


@pytest.fixture
def throttled(shared: Bench) -> Iterator[None]:
    """The broker accepts only a part of 1,000 records per second from the load's client."""
    command = [
        *(str(find_java().path), "-cp", ":".join(map(str, jars.paths("kafka"))), "kafka.admin.ConfigCommand"),
        *(
            "--bootstrap-server",
            shared.transport_address,
            "--alter",
            "--entity-type",
            "clients",
            "--entity-name",
            CLIENT_ID,
        ),
    ]
    subprocess.run([*command, "--add-config", "producer_byte_rate=20000"], check=True, capture_output=True)
    yield
    subprocess.run([*command, "--delete-config", "producer_byte_rate"], check=True, capture_output=True)


@pytest.mark.usefixtures("throttled")
def test_a_throttling_broker_is_reported(measure: Measure) -> None:
    _, summary = measure(rate_per_s=1000, measured_s=15, attempts=1)
    assert (summary.verdict, exit_code(summary)) == ("INVALID", 3)
    assert any(reason.startswith("the broker did not take the load") for reason in summary.reasons)
    assert summary.rate_per_s.achieved == pytest.approx(1000, rel=0.05), "all of it left the generator"
    assert summary.rate_per_s.appended < 950
