"""Runs on the shared broker, evaluated by the shared evaluator; one Spark session for all tests that only evaluate."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from driving import Measure
from synthetic import SyntheticRun

from attempts import ATTEMPTS, until_valid
from run_files import as_written
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate import evaluate, process
from streamgauge.jvm.java import find_java
from streamgauge.jvm.spark import connect
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def measure(shared: Bench) -> Measure:
    """A short run. An INVALID one is repeated, unless the test is about that."""

    def run(
        engine: str = "echo",
        *,
        name: str = "ospbench/latency",
        choice: str | None = None,
        program: tuple[str, ...] = (),
        faults: tuple[str, ...] = (),
        attempts: int = ATTEMPTS,
        own_broker: bool = False,
        **changes: object,
    ) -> tuple[RunDir, Summary]:
        short = {"warmup_s": "1", "measured_s": "4", "rate_per_s": "500"}
        if engine == "echo":
            short["quiet_s"] = "1"  # it reports consumed records, and the drain waits for those
        settings = {key: str(value).lower() for key, value in changes.items()}
        if choice is not None:
            settings["program"] = choice
        scenario = scenarios.resolve(name, engine=engine, changes=short | settings)
        scenario = replace(scenario, faults=tuple(parse_fault(fault) for fault in faults))

        def once(_: int) -> tuple[RunDir, Summary]:
            address = None if own_broker else shared.transport_address
            request = Request(scenario, shared.out(engine), transport_address=address, program=program)
            return run_scenario(request, NullReporter(), shared.evaluator)

        return until_valid(once, lambda done: done[1].verdict == "INVALID", attempts)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's chromium, without a window."""
    from browsing import ARGUMENTS, CHROMIUM
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on a JVM as planned by the evaluator."""
    from pyspark import SparkContext

    work_dir = tmp_path_factory.mktemp("evaluate")
    spec = process.plan(find_java().path, work_dir, (), "local[2]", 1024, records=1000)[0]
    environment, on_interrupt = dict(os.environ), signal.getsignal(signal.SIGINT)
    with (work_dir / "jvm.log").open("w") as log:
        jvm = subprocess.Popen(spec.argv, env={**os.environ, **spec.env}, stdin=subprocess.PIPE, stdout=log, stderr=log)
        assert jvm.stdin is not None
        try:
            session = connect(work_dir / "connection")
            # Other tests of this process must not see Spark's variables or its signal handler, which cancels jobs.
            os.environ.clear()
            os.environ.update(environment)
            signal.signal(signal.SIGINT, on_interrupt)
            session.conf.set("spark.sql.shuffle.partitions", "2")
            # Compiling a plan takes longer than a test's few rows; runs of the shared evaluator cover compilation.
            session.conf.set("spark.sql.codegen.wholeStage", "false")
            yield session
            session.stop()
        finally:
            jvm.stdin.close()
            jvm.wait(30)
            SparkContext._gateway = SparkContext._jvm = None  # another session of this process needs another JVM


@pytest.fixture
def judged(spark: Any, tmp_path: Path) -> Callable[[SyntheticRun], dict[str, Any]]:
    """Writes a run and returns the summary of its evaluation."""

    def write_and_evaluate(run: SyntheticRun) -> dict[str, Any]:
        return as_written(evaluate(spark, run.write(tmp_path / "run")))

    return write_and_evaluate
