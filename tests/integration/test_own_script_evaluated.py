"""The evaluation of a user's script: with a reference, without one, and with every mistake."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from own_scripts import BUILD, ONE_TO_ONE, PAIRS, PER_LANE, result, with_script
from synthetic import START_NS, Output, SyntheticRun

from run_files import content
from streamgauge.engines.spark.script import messages
from streamgauge.errors import UsageError
from streamgauge.evaluate import evaluate
from streamgauge.measure.evaluation import keep_reference
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import PositionsSample
from streamgauge.stored import write_json


def ids(made: SyntheticRun) -> None:
    """The results that ONE_TO_ONE expects."""
    made.outputs = [Output(n, 20 + n, result(n_seq=n, id=f"RWS01_{n // 2:04}")) for n in made.inputs]


def test_a_reference_of_one_input_each(spark: Any, tmp_path: Path) -> None:
    made = SyntheticRun()
    ids(made)
    made.outputs[12] = Output(12, 32, result(n_seq=12, id="another"))
    made.outputs[13] = Output(13, 33, "no JSON")
    summary = evaluate(spark, with_script(made, tmp_path / "run", BUILD + ONE_TO_ONE))
    counts = {name: summary.results[name] for name in ("expected", "matched", "wrong", "lost", "unexpected")}
    assert counts == {"expected": 30, "matched": 28, "wrong": 1, "lost": 1, "unexpected": 1}
    assert (summary.verdict, summary.validated) == ("FAILED", True)
    assert summary.script.name == "my.py"
    assert summary.script.reference == summary.script.sha256
    # Records 10–29 without 12 and 13: the timestamps are those of the input that n_seq names.
    # 13 had no result after 8.7 s, when the drain ended.
    expected = (sum(range(30, 50)) - 32 - 33 + 8700) / 19
    assert summary.latency_ms["total"]["mean_at_least"] == pytest.approx(expected, abs=1e-3)
    assert summary.latency_ms["latest"]["mean_at_least"] == pytest.approx(expected - 3, abs=1e-3)


def test_a_reference_of_pairs(spark: Any, tmp_path: Path) -> None:
    """Inputs 2k and 2k + 1 are 100 ms apart; the result follows 30 ms after the second, appended after 3 ms."""
    made = SyntheticRun()
    made.outputs = [Output(n, 30, result(id=f"RWS01_{n // 2:04}", n=2)) for n in made.inputs if n % 2]
    summary = evaluate(spark, with_script(made, tmp_path / "run", BUILD + PAIRS))
    assert summary.verdict == "VALID"
    assert (summary.results["expected"], summary.results["matched"]) == (15, 15)
    assert summary.results["inputs_per_result"] == 2.0
    latencies = {kind: summary.latency_ms[kind]["max"] for kind in ("total", "latest", "average")}
    assert latencies == {"total": 30.0, "latest": 27.0, "average": 77.0}


def test_an_aggregating_reference(spark: Any, tmp_path: Path) -> None:
    """One row of the flow records 0, 2, … 8: the last is sent at 0.8 s, the mean is 0.4 s."""
    made = SyntheticRun()
    made.outputs = [Output(8, 50, result(lane="lane1", mean=4.0000000001))]
    run = with_script(made, tmp_path / "run", BUILD + PER_LANE)
    summary = evaluate(spark, run)
    assert (summary.verdict, summary.results["matched"]) == ("VALID", 1)
    assert summary.results["inputs_per_result"] == 5.0


def test_a_run_of_an_early_version_which_called_the_script_job(spark: Any, tmp_path: Path) -> None:
    made = SyntheticRun()
    made.outputs = [Output(8, 50, result(lane="lane1", mean=4.0))]
    run = with_script(made, tmp_path / "run", BUILD + PER_LANE.replace("streamgauge.script", "streamgauge.job"))
    run.script_path.rename(run.path / "job.py")
    manifest = content(run.manifest_path)
    manifest["scenario"]["job"] = manifest["scenario"].pop("script")
    write_json(run.manifest_path, manifest)
    summary = evaluate(spark, run)
    assert (summary.verdict, summary.validated, summary.results["matched"]) == ("VALID", True, 1)
    assert content(run.summary_path)["script"]["name"] == "my.py"


def test_without_a_reference_the_latency_follows_from_the_output(spark: Any, tmp_path: Path) -> None:
    made = SyntheticRun(sustained="slope")
    made.without(12, 13)  # dropped on purpose or lost: unknown
    made.outputs.append(Output(15, 90, "no n_seq"))
    run = with_script(made, tmp_path / "run", BUILD)
    run.append_samples(*(positions(second) for second in range(10)))
    summary = evaluate(spark, run)
    assert (summary.verdict, summary.validated, summary.script.reference) == ("VALID", False, None)
    assert set(summary.results.values()) == {None}
    total = summary.latency_ms["total"]
    assert (total["count"], total["max"]) == (18, 49.0)
    assert summary.rate_per_s.output == 9.5
    assert summary.backlog.end == 4
    assert summary.warnings[0].startswith("unvalidated: the script has no reference")
    assert "whose n_seq it carries" in summary.warnings[1]


def test_without_reference_and_n_seq_the_backlog_is_unconsumed_input(spark: Any, tmp_path: Path) -> None:
    made = SyntheticRun(sustained="ospbench")
    made.outputs = [Output(n, 20, "{}") for n in made.inputs]
    made.load = type(made.load)(10, 1.0, 8.0, 1.0)
    run = with_script(made, tmp_path / "run", BUILD)
    run.append_samples(*(positions(second, behind_per_s=5) for second in range(10)))
    summary = evaluate(spark, run)
    assert summary.latency_ms["total"]["count"] == 0
    assert (summary.state, summary.sustained) == ("overloaded", False)
    assert summary.backlog.slope_per_s == 5.0
    assert "carries no n_seq" in summary.warnings[1]
    assert any("only the slope of the backlog" in text for text in summary.warnings)


def positions(second: int, behind_per_s: int = 1) -> PositionsSample:
    """Sampled mid-second: 5 records per input arrive every second, and ``behind_per_s`` are not consumed."""
    appended = {"flow": 5 * (second + 1), "speed": 5 * (second + 1), "output": 0}
    t_ns = START_NS + second * NS_PER_S + NS_PER_S // 2
    return PositionsSample(t_ns=t_ns, appended=appended, consumed=(10 - behind_per_s) * (second + 1), sent=0)


MISTAKES = [
    ("return inputs['flow'].count()", "must return a batch DataFrame"),
    ("return inputs['flow'].select('n_seq')", "lacks the key column id"),
    ("return inputs['flow'].selectExpr('key AS id')", "does not identify the inputs of its rows"),
    ("return inputs['flow'].selectExpr('n_seq', 'key AS id', '1 AS n', '2 AS n')", "several columns named n"),
    ("return inputs['flow'].selectExpr('key AS id', '1 AS inputs')", "it lacks appended_max_ms"),
    ("return inputs['flow'].select('nothing')", "line 12: return inputs['flow'].select('nothing')"),
    ("return inputs['flows']", "KeyError: 'flows'"),
    ("return inputs['flow'].selectExpr('n_seq + 9999 AS n_seq', 'key AS id')", "a row without inputs"),
    ("return inputs['flow'].selectExpr('n_seq', 'nullif(key, key) AS id')", "a row without id, a key column"),
    ("import no_such_module", "No module named 'no_such_module'"),
    ("raise SystemExit('enough')", "SystemExit: enough"),
    (
        "return inputs['flow'].select('n_seq', f.udf(lambda key: 1 // 0)('key').alias('id'))",
        "the reference of the script could not be computed",
    ),
]


@pytest.mark.parametrize(
    ("reference", "says"),
    [pytest.param(*one, marks=() if n % 4 == 0 else pytest.mark.full) for n, one in enumerate(MISTAKES)],
)
def test_a_mistake_in_the_reference_keeps_the_run(spark: Any, tmp_path: Path, reference: str, says: str) -> None:
    script = f"{BUILD}\n\nkey = ['id']\n\n\ndef reference(inputs):\n    {reference}\n"
    run = with_script(SyntheticRun(), tmp_path / "run", script)
    with pytest.raises(UsageError) as refused:
        evaluate(spark, run)
    message = refused.value.message()
    assert says in message
    assert f"streamgauge evaluate {run.path} --script my.py" in message
    assert "Traceback" not in message
    assert not run.summary_path.exists()


def test_a_mistake_in_a_fixed_file_names_that_file(spark: Any, tmp_path: Path) -> None:
    run = with_script(SyntheticRun(), tmp_path / "run", BUILD + ONE_TO_ONE)
    mended = tmp_path / "elsewhere" / "mended.py"
    mended.parent.mkdir()
    mended.write_text(f"{BUILD}\n\nkey = ['id']\n\n\ndef reference(inputs):\n    return inputs['flows']\n")
    keep_reference(run, mended)
    with pytest.raises(UsageError) as refused:
        evaluate(spark, run)
    message = refused.value.message()
    assert f"where: {mended}, line 12: return inputs['flows']" in message
    assert f"streamgauge evaluate {run.path} --script mended.py" in message
    assert "my.py" not in message


@pytest.mark.full
def test_modules_next_to_a_script_are_not_shared(spark: Any, tmp_path: Path) -> None:
    """Two scripts, each next to a module of the same name, evaluated in turn; workers find the module too."""
    matched = []
    for name, prefix in (("one", "RWS01"), ("other", "none")):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "beside.py").write_text(f"def ident(n_seq):\n    return '{prefix}_%04d' % (n_seq // 2)\n")
        script = ONE_TO_ONE.replace('f.get_json_object("value", "$.id")', "f.udf(beside.ident)('n_seq')")
        made = SyntheticRun()
        ids(made)
        summary = evaluate(spark, with_script(made, directory / "run", f"import beside\n{BUILD}{script}"))
        matched.append(summary.results["matched"])
    assert matched == [30, 0]
    assert "beside" not in sys.modules
    assert not any(str(tmp_path) in entry for entry in sys.path)


def test_a_run_of_a_built_in_workload_is_validated(spark: Any, tmp_path: Path) -> None:
    summary = evaluate(spark, SyntheticRun().write(tmp_path / "run"))
    assert (summary.validated, summary.script) == (True, None)


@pytest.fixture
def stream(spark: Any) -> Any:
    return spark.readStream.format("rate").load().selectExpr("value AS n", "'a' AS id", "cast(value AS string) AS text")


def test_the_result_of_build_is_written_unchanged_or_as_json(stream: Any) -> None:
    as_it_is = messages(stream.selectExpr("id AS key", "text AS value"), (), "my.py")
    assert as_it_is.columns == ["key", "value"]
    assert messages(stream.selectExpr("text AS value"), (), "my.py").columns == ["value"]
    as_json = messages(stream, ("id", "n"), "my.py")
    assert as_json.dtypes == [("key", "string"), ("value", "string")]
    with pytest.raises(UsageError, match=r"key names a column .*: window_end_ms(.|\n)*got: columns n, id, text"):
        messages(stream, ("id", "window_end_ms"), "my.py")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda stream: None, "must return a DataFrame"),
        (lambda stream: stream.sparkSession.range(3), "a batch DataFrame"),
        (lambda stream: stream.selectExpr("n AS value"), "value is bigint"),
        (lambda stream: stream.selectExpr("n AS key", "text AS value"), "key is bigint"),
        (lambda stream: stream.selectExpr("n", "id AS n"), "several columns named n"),
        (lambda stream: stream.select(), "no columns"),
    ],
)
def test_invalid_results_of_build(stream: Any, make: Any, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        messages(make(stream), (), "my.py")
    assert says in refused.value.message()


def test_the_message_that_a_reader_sees_first(spark: Any, tmp_path: Path) -> None:
    """The page of an unvalidated run shows that next to its verdict, and does not call the answers checked."""
    from streamgauge.report import write

    run = with_script(SyntheticRun(), tmp_path / "run", BUILD)
    evaluate(spark, run)
    page = write(run).read_text()
    assert "VALID · unvalidated: no reference" in page
    assert "the answers were not checked" in page
    assert "the script my.py instead of stage" in page
