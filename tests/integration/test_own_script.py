"""A user's script on the real engine: measured and checked like a built-in workload; mistakes give one message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from driving import in_process, streamgauge

from attempts import until_valid
from streamgauge.conformance.suite import Bench
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios
from streamgauge.workloads.own.script import inspect

pytestmark = pytest.mark.engine("spark")

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_script.py"

RunScript = Callable[[Path], tuple[RunDir, Summary]]

ONLY_BUILD = """\
from beside import doubled
from pyspark.sql import functions as f


def build(spark, source):
    m = f.from_json("value", "n_seq bigint, flow int")
    return source.where("stream = 'flow'").select(m.alias("m")).select("m.n_seq", f.udf(doubled)("m.flow").alias("n"))
"""


@pytest.fixture
def run_script(shared: Bench) -> RunScript:
    """A short run of a script; an INVALID one is repeated."""

    def run(file: Path) -> tuple[RunDir, Summary]:
        short = {"warmup_s": "3", "measured_s": "5", "rate_per_s": "200", "quiet_s": "2"}
        scenario = scenarios.resolve("ospbench/latency", engine="spark", changes=short, script=inspect(file))

        def once(_: int) -> tuple[RunDir, Summary]:
            request = Request(scenario, shared.out("script"), transport_address=shared.transport_address)
            return run_scenario(request, NullReporter(), shared.evaluator)

        return until_valid(once, lambda done: done[1].verdict == "INVALID")

    return run


@pytest.mark.full
def test_the_example_is_correct(run_script: RunScript) -> None:
    run, summary = run_script(EXAMPLE)
    assert summary.verdict == "VALID", summary.reasons
    results = summary.results
    assert results["matched"] == results["expected"] > 0
    assert {results[word] for word in ("wrong", "lost", "unfinished", "unexpected")} == {0}
    assert summary.latency_ms["total"]["count"] > 0
    assert run.manifest().scenario.script.sha256 == summary.script.sha256 == inspect(EXAMPLE).sha256
    assert run.script_path.read_bytes() == EXAMPLE.read_bytes()


@pytest.mark.full
def test_an_error_in_build_is_found(run_script: RunScript, tmp_path: Path) -> None:
    right = EXAMPLE.read_text()
    wrong = right.replace('f.sum("m.flow")', 'f.max("m.flow")', 1)
    assert wrong != right
    (tmp_path / "wrong.py").write_text(wrong)
    _, summary = run_script(tmp_path / "wrong.py")
    assert summary.verdict == "FAILED"
    assert summary.results["wrong"] > 0


@pytest.mark.full
def test_a_script_without_reference_is_unvalidated(run_script: RunScript, tmp_path: Path) -> None:
    """Its output names its input, so the latency is known; a module next to it works in Spark's Python workers."""
    (tmp_path / "beside.py").write_text("def doubled(flow):\n    return 2 * flow\n")
    (tmp_path / "my.py").write_text(ONLY_BUILD)
    run, summary = run_script(tmp_path / "my.py")
    assert (summary.verdict, summary.validated) == ("VALID", False)
    assert set(summary.results.values()) == {None}
    # Every other record is a flow message, and each is published eventually: 8.5 s of load, 5 s of it measured.
    assert summary.latency_ms["total"]["count"] == 500
    assert sum(run.outcome().ends["output"].values()) == 850


@pytest.mark.full
@pytest.mark.parametrize(
    ("build", "says"),
    [
        ('return source.select("nothing")', 'line 2: return source.select("nothing")'),
        ('return source.groupBy("key").count()', "Spark rejects the query that build returned"),
    ],
)
def test_a_build_that_cannot_run_is_reported_before_the_load(
    shared: Bench, tmp_path: Path, build: str, says: str
) -> None:
    (tmp_path / "my.py").write_text(f"def build(spark, source):\n    {build}\n")
    where = ("--bootstrap", shared.transport_address, "--out", "run")
    done = streamgauge("run", "ospbench/latency", "--script", "my.py", *where, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    message = done.stderr[done.stderr.index("streamgauge: ") :]
    assert says in message
    assert "nothing was measured" in message
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my.py"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--script", "none.py"), "No such file"),
        (("--script", str(EXAMPLE), "--engine", "echo"), "engine echo does not support scripts"),
    ],
)
def test_mistakes_found_before_anything_starts(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = in_process("run", "ospbench/latency", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_plan_names_the_script(tmp_path: Path) -> None:
    done = in_process("plan", "ospbench/latency", "--script", str(EXAMPLE), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"replaced by your own: {EXAMPLE}, results checked by id, window_end_ms" in " ".join(done.stdout.split())
