"""Runs on the shared broker, evaluated by the shared evaluator."""

from __future__ import annotations

from typing import Any

import pytest
from driving import Measure

from streamgauge.conformance.suite import Bench
from streamgauge.lab.blueprint import Request
from streamgauge.lab.experiment import run_experiment
from streamgauge.lab.watch import Nobody
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

ATTEMPTS = 3


@pytest.fixture
def measure(shared: Bench) -> Measure:
    """A short run. One that the machine spoilt (INVALID) is repeated, unless that is what the test is about."""

    def run(
        engine: str = "echo", *, program: tuple[str, ...] = (), attempts: int = ATTEMPTS, **changes: object
    ) -> tuple[RunDir, dict[str, Any]]:
        short = {"warmup_s": "1", "measured_s": "4", "rate_per_s": "500"}
        settings = {key: str(value).lower() for key, value in changes.items()}
        scenario = scenarios.resolve("ospbench/latency", engine=engine, changes=short | settings)
        while True:
            request = Request(scenario, shared.out(engine), bootstrap=shared.bootstrap, program=program)
            directory, summary = run_experiment(request, Nobody(), shared.evaluator)
            attempts -= 1
            if summary["verdict"] != "INVALID" or not attempts:
                return directory, summary

    return run
