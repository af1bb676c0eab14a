"""One broker and one evaluator per worker; selection of one engine's tests; the terminal summary."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from attempts import RUNS
from lean_java import lean_java

if TYPE_CHECKING:
    from streamgauge.conformance.suite import Bench


# Under nohup or in the background of a script these signals are ignored, also in children; the tests need them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow, which says nothing about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

UNIT, CONFORMANCE = (Path(__file__).parent / part for part in ("unit", "conformance"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", metavar="NAME", help="besides the unit tests, run only the tests of this engine")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # One worker runs all tests that share started processes: those that only evaluate, and those of one file.
        # Runs of the conformance suite share nothing but a bench.
        if not item.path.is_relative_to(CONFORMANCE):
            only_evaluates = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("evaluation" if only_evaluates else item.path.stem))
    wanted = config.getoption("--engine")
    if wanted is None:
        return
    from streamgauge import registry

    if wanted not in registry.names("engines"):
        raise pytest.UsageError(f"--engine {wanted}: unknown; one of {', '.join(registry.names('engines'))}")
    chosen = [item for item in items if item.path.is_relative_to(UNIT) or wanted in _engines(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def _engines(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("engine") for name in mark.args}


@pytest.fixture(scope="session", autouse=True)
def fast_starting_jvms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For live tests; unit tests start no JVM."""
    if all(item.path.is_relative_to(UNIT) for item in request.session.items):
        yield
        return
    with lean_java(tmp_path_factory.mktemp("java")):
        yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    from streamgauge.conformance.suite import bench

    with bench(tmp_path_factory.mktemp("bench")) as running:
        yield running


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if output := getattr(session.config, "workeroutput", None):
        output["runs"] = asdict(RUNS)
        return
    if exitstatus == pytest.ExitCode.OK and RUNS.problem():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Count the runs of a worker; one that crashed has no output, and its test has failed."""
    counted = getattr(node, "workeroutput", {}).get("runs")
    if counted:
        RUNS.total += counted["total"]
        RUNS.invalid += counted["invalid"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield  # after pytest's own lines
    if RUNS.total:
        terminalreporter.write_line(RUNS.summary(), yellow=bool(RUNS.invalid))
    if problem := RUNS.problem():
        terminalreporter.write_line(f"FAILED: {problem}", red=True)
    skipped = [report for report in terminalreporter.getreports("skipped") if "browser" in report.keywords]
    if skipped:
        reason = skipped[0].longrepr[2].removeprefix("Skipped: ")
        terminalreporter.write_line(f"{len(skipped)} browser tests were skipped: {reason}", yellow=True)
