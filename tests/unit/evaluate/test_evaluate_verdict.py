"""Verdicts and exit codes, in their order of precedence; runs that never got to records."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tallies import row, tally
from written_runs import summary as summary_with

from run_files import write_manifest
from streamgauge import registry
from streamgauge.errors import EngineFailed, EnvironmentProblem
from streamgauge.evaluate import evaluate, evaluate_without_spark, needs_spark, process
from streamgauge.evaluate.metrics import resources
from streamgauge.evaluate.tally import Tally, results, wrong_after_fault
from streamgauge.evaluate.verdict import decide, exit_code, failures, recounting_warnings
from streamgauge.jvm.spark import connect, jvm_argv
from streamgauge.measure.outcome import never_started
from streamgauge.model import Verdict
from streamgauge.model.outcome import EndedProcess, Outcome
from streamgauge.model.samples import MachineSample, ResourceSample
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies import scenario as scenarios

NO_RESULTS = {"expected": 9, "wrong": 0, "lost": 0, "duplicates": 0, "unexpected": 0}
DEAD = {"role": "engine", "group": "engine", "exit_code": 137}


def test_invalid_comes_before_failed_and_both_are_told() -> None:
    decision = decide(["late"], ["wrong"])
    assert (decision.verdict, decision.reasons) == (Verdict.INVALID, ["late", "wrong"])
    assert decide([], ["wrong"]).verdict is Verdict.FAILED
    assert decide([], []).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("kind", "delivery", "fails"),
    [
        ("wrong", "at-most-once", True),
        ("unexpected", "at-most-once", True),
        ("lost", "exactly-once", True),
        ("lost", "at-least-once", True),
        ("lost", "at-most-once", False),
        ("duplicates", "exactly-once", True),
        ("duplicates", "at-least-once", False),
        ("duplicates", "at-most-once", True),
    ],
)
def test_failures_against_the_guarantee(kind: str, delivery: str, fails: bool) -> None:
    assert bool(failures({**NO_RESULTS, kind: 1}, delivery, [])) is fails


def wrong_rows(*before_fault: bool) -> Tally:
    return tally(row(), *(row(fate="wrong", wrong_before_fault=before) for before in before_fault))


def judged_wrong(rows: Tally, *, recounts: bool = True) -> tuple[list[str], list[str]]:
    """Reasons and warnings."""
    counts = results(rows)
    recounted = wrong_after_fault(rows) if recounts else 0
    unexpected = rows.unexpected_after_fault if recounted else 0
    return failures(counts, "at-least-once", [], recounted, unexpected), recounting_warnings(counts, recounted)


def test_an_input_counted_twice_after_a_fault_is_reported_where_the_engine_declares_it() -> None:
    assert judged_wrong(wrong_rows(False, False)) == (
        [],
        [
            "2 of 3 results are wrong after a fault: the engine may count an input twice when it reads it again, which "
            "at-least-once delivery allows"
        ],
    )
    assert judged_wrong(wrong_rows(False, False), recounts=False) == (["2 of 3 results are wrong"], [])


def test_wrong_results_before_the_fault_or_without_one_are_failures_in_any_case() -> None:
    assert judged_wrong(wrong_rows(True, True)) == (["2 of 3 results are wrong"], [])
    why, warnings = judged_wrong(wrong_rows(True, False, False))
    assert why == ["3 of 4 results are wrong, 1 of them before the first fault"]
    assert warnings[0].startswith("2 of 4 results are wrong after a fault")


def too_high(unexpected: int, *, before_fault: bool) -> Tally:
    """Totals of one key, of which five are too high; the others that are unexpected belong to no known key."""
    wrong = row(phase="tail", fate="wrong", wrong_before_fault=before_fault, miscounted=5)
    return replace(tally(row(), wrong), running=True, unexpected=unexpected)


def test_totals_that_are_too_high_after_a_fault_are_excused_with_the_wrong_record_that_shows_them() -> None:
    why, warnings = judged_wrong(too_high(5, before_fault=False))
    assert not why
    assert warnings[0].startswith("1 of 2 results are wrong after a fault")
    assert judged_wrong(too_high(6, before_fault=False))[0] == ["1 results should not have been produced"]
    both = ["1 of 2 results are wrong", "5 results should not have been produced"]
    assert judged_wrong(too_high(5, before_fault=False), recounts=False) == (both, [])
    assert judged_wrong(too_high(5, before_fault=True)) == (both, [])


@pytest.mark.parametrize(
    ("engine", "changes", "recounts"),
    [
        ("kafka-streams", {}, True),
        ("kafka-streams", {"delivery": "exactly-once"}, False),
        ("flink", {}, False),
        ("spark", {}, False),
        ("echo", {}, False),
        ("command", {}, False),
        ("command", {"recounts_after_failure": "true"}, True),
        ("command", {"recounts_after_failure": "true", "delivery": "exactly-once"}, False),
        ("command", {"recounts_after_failure": "true", "delivery": "at-most-once"}, False),
    ],
)
def test_which_engines_may_count_twice(engine: str, changes: dict[str, str], recounts: bool) -> None:
    """Flink and Spark keep their state in their checkpoints, whatever their sinks promise."""
    options = scenarios.resolve("ospbench/latency", engine=engine, changes=changes).engine_options
    assert registry.engine(engine).traits.recounts_with(options) is recounts


def test_a_dead_process_is_a_failure() -> None:
    assert failures(NO_RESULTS, "at-least-once", [EndedProcess(log_tail="", **DEAD)]) == [
        "process engine ended unexpectedly (exit code 137)"
    ]
    never_usable = never_started("streams-2", EngineFailed("streams-2 timed out", got="still running"))
    assert failures(NO_RESULTS, "at-least-once", [never_usable]) == [
        "process streams-2 did not become usable: streams-2 timed out, still running"
    ]


def objective(*, passed: bool) -> dict[str, Any]:
    return {"slo": "results.lost == 0", "value": 0, "limit": 0, "unit": "", "passed": passed}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"sustained": True}, 0),
        ({"sustained": False}, 1),
        ({"slo": [objective(passed=True), objective(passed=False)]}, 1),
        ({"verdict": "FAILED", "sustained": False}, 4),
        ({"verdict": "INVALID", "sustained": False}, 3),
        ({"verdict": "INVALID", "interrupted": True}, 130),
    ],
)
def test_exit_codes(changes: dict[str, Any], code: int) -> None:
    assert exit_code(summary_with(**{"sustained": None, **changes})) == code


def unstarted(path: Path, **outcome: Any) -> RunDir:
    """A run that ended before its load began."""
    run = RunDir.create(path)
    load = {"rate_per_s": 10, "warmup_s": 1.0, "measured_s": 2.0, "tail_s": 1.0}
    scenario = {"study": "s", "name": "n", "profile": "p", "stage": "i", "pipeline": "ospbench/ingest", "load": load}
    write_manifest(
        run,
        {
            "run": "r",
            "scenario": {**scenario, "sustained": "slope"},
            "engine": {"name": "e", "version": "1", "delivery": "at-least-once", "options": {}},
            "transport": {"name": "kafka", "own": True},
            "streams": [{"name": "flow", "topic": "t", "partitions": 1, "role": "input"}],
            "command": "streamgauge run s/n",
        },
    )
    ended = [{"exit_code": 1, "log_tail": "", **process} for process in outcome.pop("ended", ())]
    write_json(run.outcome_path, {**Outcome.blank().as_json(), "ended": ended, **outcome})
    return run


@pytest.mark.parametrize(
    ("outcome", "verdict", "reason", "code"),
    [
        ({"ended": [DEAD]}, "FAILED", "process engine ended", 4),
        ({}, "INVALID", "the load never started", 3),
        ({"load_error": "no memory"}, "INVALID", "the load worker failed: no memory", 3),
        ({"ended": [{"role": "broker", "group": "broker"}]}, "INVALID", "process broker ended", 3),
        ({"interrupted": True}, "INVALID", "the run was interrupted", 130),
    ],
)
def test_a_run_without_load_needs_no_spark(
    tmp_path: Path, outcome: dict[str, Any], verdict: str, reason: str, code: int
) -> None:
    run = unstarted(tmp_path / "run", **outcome)
    assert not needs_spark(run)
    summary = evaluate(_no_spark, run)
    assert summary == run.summary() == evaluate_without_spark(run)
    assert summary.verdict == verdict
    assert summary.reasons[0].startswith(reason)
    assert (summary.state, summary.sustained, exit_code(summary)) == (None, None, code)
    assert not any(summary.results.values())


def _no_spark() -> Any:
    raise AssertionError("Spark was asked for")


def test_importing_the_evaluation_does_not_import_spark() -> None:
    code = "import sys, streamgauge.evaluate, streamgauge.evaluate.process; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_resources_of_groups_and_machine() -> None:
    def sample(second: int, role: str, cpu_s: float, rss_mb: float, heap_mb: float | None) -> ResourceSample:
        used = {"cpu_s": cpu_s, "rss_mb": rss_mb, "heap_used_mb": heap_mb, "gc_ms": None}
        return ResourceSample(t_ns=second * 10**9, role=role, group="engine", **used)

    by_group = resources.by_group(
        [
            sample(1, "a", 10.0, 100, None),
            sample(1, "b", 1.0, 50, 30),
            sample(3, "a", 13.0, 90, None),
            sample(3, "b", 2.0, 70, 20),
        ]
    )
    assert by_group == {"engine": {"cpu_mean": 2.0, "rss_max_mb": 160, "heap_max_mb": 30, "gc_ms": None}}
    # One is killed after two of four seconds and another takes over: never more than one core, nor both memories.
    by_group = resources.by_group(
        [
            *(sample(second, "a", float(second), 100, None) for second in (1, 2, 3)),
            *(
                sample(second, "spare", max(second - 3.0, 0.0), 10 if second <= 3 else 100, None)
                for second in range(1, 6)
            ),
        ]
    )
    assert (by_group["engine"]["cpu_mean"], by_group["engine"]["rss_max_mb"]) == (1.0, 110)
    calm = MachineSample(t_ns=1, cpu_busy=0.9, steal=0.05, psi_cpu_some=0.2)
    assert resources.machine_warnings([calm, MachineSample(t_ns=2)], {}, None) == []
    busy = MachineSample(t_ns=1, cpu_busy=0.95, steal=0.06, psi_cpu_some=0.3)
    assert len(resources.machine_warnings([busy], {}, None)) == 3


@pytest.mark.parametrize(("engine", "broker", "warned"), [(1.0, 0.61, False), (1.0, 0.59, True), (1.0, None, False)])
def test_programs_outside_the_run_are_told_by_what_is_left_of_the_machine(
    engine: float, broker: float | None, warned: bool
) -> None:
    """By hand: 95.5 % of two cores are 1.91, and the limit of 15 % is 0.3 of them."""
    used = {"engine": {"cpu_mean": engine}, "broker": {"cpu_mean": broker}}
    busy = MachineSample(t_ns=1, cpu_busy=0.955)
    texts = resources.machine_warnings([busy], used, 2)
    assert any(text.startswith("programs that do not belong to this run used 16 %") for text in texts) is warned


def test_the_evaluators_processes(tmp_path: Path) -> None:
    jvm, python = process.plan(Path("java"), tmp_path / "work", [Path("a.jar")], "local[2]", 512)
    assert not (tmp_path / "work").exists()
    assert (jvm.role, python.role) == ("evaluate-jvm", "evaluate")
    assert "-Xmx512m" in jvm.argv
    assert "-XX:TieredStopAtLevel=1" not in jvm.argv
    assert "-XX:+ExitOnOutOfMemoryError" in jvm.argv, "it would hang"
    small = process.plan(Path("java"), tmp_path, (), "local[2]", 512, records=1000)[0]
    assert "-XX:TieredStopAtLevel=1" in small.argv


def test_an_evaluator_that_lives_for_days_does_not_grow(tmp_path: Path) -> None:
    """Each of these was seen to grow for half an hour: the heap's pages, compiled code, what malloc keeps."""
    for steady in (True, False):
        jvm, python = process.plan(Path("java"), tmp_path, (), "local[1]", 1024, steady=steady)
        bounded = {"-Xms1024m", "-XX:+AlwaysPreTouch", "-XX:ReservedCodeCacheSize=48m"} <= {*jvm.argv}
        assert bounded is steady
        assert all(("MALLOC_ARENA_MAX" in one.env) is steady for one in (jvm, python))


def test_jars_go_to_executors_only_where_there_are_any(tmp_path: Path) -> None:
    jars = [Path("a.jar")]
    local = jvm_argv(Path("java"), master="local[2]", conf={}, jars=jars, heap_mb=64, work_dir=tmp_path)
    cluster = jvm_argv(Path("java"), master="spark://h:1", conf={}, jars=jars, heap_mb=64, work_dir=tmp_path)
    assert "--jars" not in local
    assert local[local.index("-cp") + 1].endswith("a.jar")
    assert cluster[cluster.index("--jars") + 1] == "a.jar"


@pytest.mark.parametrize("content", [None, b"\x00\x00\x10", b"\x00\x00\x10\x00\x00\x00\x00\x20cut short"])
def test_a_jvm_that_does_not_come_up(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "connection"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(EnvironmentProblem, match=r"did not start within 0\.1 s"):
        connect(file, timeout_s=0.1)
