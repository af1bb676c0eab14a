"""The evaluation on run directories whose answers were worked out by hand, in a real Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from synthetic import Output, SyntheticRun, clock_sample, counts, message

from streamgauge.evaluate import evaluate
from streamgauge.evaluate.intended import SQL_SEGMENTS, offset_sql
from streamgauge.evaluate.verdict import exit_code
from streamgauge.model import LoadPlan
from streamgauge.model.summary import Summary


def test_perfect_run(judged: Any, tmp_path: Path) -> None:
    summary = judged(SyntheticRun())
    assert summary["verdict"] == "VALID"
    assert summary["reasons"] == []
    assert summary["results"] == counts(expected=30, matched=30)
    # Records 10–29: total 30 … 49 ms; 20 samples, so ten lie above the median and two above p90.
    unknown = dict.fromkeys(("p90", "p99", "p999"))
    expected = {"count": 20, "missing": 0, "p50": 39.5, **unknown, "max": 49.0, "mean": 39.5}
    assert summary["latency_ms"]["total"] == expected
    shifted = {**expected, "p50": 36.5, "max": 46.0, "mean": 36.5}
    assert summary["latency_ms"]["latest"] == shifted
    assert summary["latency_ms"]["average"] == shifted
    assert summary["latency_ms"]["generator_share"]["mean"] == 3.0
    rates = {"offered": 10.0, "achieved": 10.0, "worst_second": 10, "appended": 10.0, "output": 10.0}
    assert summary["rate_per_s"] == rates
    assert summary["generator"] == {
        "late_p50_ms": 0.0,
        "late_p99_ms": None,
        "late_max_ms": 0.0,
        "late_p99_limit_ms": 20.0,
        "late_max_limit_ms": 200.0,
        "errors": 0,
    }
    # The last record is sent 0.1 s before the load's end and answered 59 ms later.
    assert summary["backlog"]["end"] == 0
    assert summary["clock"] == {"step_max_ms": 0.0, "broker_offset_ms": [-2.0, 3.6]}

    seconds = pq.read_table(tmp_path / "run/measures/seconds.parquet").to_pylist()
    assert [row["phase"] for row in seconds] == ["warmup", "measured", "measured", "tail"] + ["drain"] * 6
    assert [row["offered"] for row in seconds] == [10] * 4 + [0] * 6
    assert [row["sent"] for row in seconds] == [10] * 4 + [0] * 6
    assert [row["appended"] for row in seconds] == [10] * 4 + [0] * 6
    assert [row["output"] for row in seconds] == [10] * 4 + [0] * 6
    assert [row["total_max"] for row in seconds] == [29.0, 39.0, 49.0, 59.0] + [None] * 6
    # Record n waits for 17 + n ms; ten of them in each second of the load.
    assert [row["backlog"] for row in seconds] == [0.215, 0.315, 0.415, 0.515] + [0] * 6
    latency = pq.read_table(tmp_path / "run/measures/latency.parquet").to_pylist()
    total = [(row["value_ms"], row["count"]) for row in latency if row["kind"] == "total"]
    assert total == [(float(ms), 1) for ms in range(30, 50)]


def test_a_backlog_and_when_the_engine_caught_up(judged: Any) -> None:
    """Records 0–9 are the backlog, sent in the first second; the engine starts at 1.5 s and answers from 2 s on."""
    load = LoadPlan(10, 1.0, 2.0, 1.0, shape="single-burst", burst_records=10, burst_s=1.0)
    run = SyntheticRun(load, engine_start_s=1.5)
    at_ms = {n: 2000 + 10 * n if n < 10 else 2500 + 60 * (n - 10) for n in run.inputs}
    run.outputs = [Output(n, at_ms[n] - 100 * n, message(n)) for n in run.inputs]
    # The first result of record 4 is wrong; record 10 is due after the backlog and not part of it.
    run.outputs[4] = Output(4, 2700 - 400, message(4))
    run.outputs += [Output(4, 1900 - 400, message(4, amount=8)), Output(9, 2800 - 900, message(9))]
    summary = judged(run)
    assert (summary["verdict"], summary["reasons"]) == ("VALID", [])
    assert summary["results"] == counts(expected=30, matched=30, duplicates=1, intermediate=1)
    assert summary["burst"] == {"kind": "single", "records": 10, "first_output_s": 0.4, "caught_up_s": 1.2}
    assert summary["latency_ms"]["total"]["count"] == 20, "of the base rate only"
    assert any("had to wait for it" in warning for warning in summary["warnings"])


def test_evaluating_again_gives_the_same_bytes(spark: Any, tmp_path: Path) -> None:
    synthetic = SyntheticRun(sustained="slope")
    synthetic.without(4, 17)
    run = synthetic.write(tmp_path / "run")
    evaluate(spark, run)
    files = [run.summary_path, run.measures("seconds"), run.measures("latency"), run.measures("heatmap")]
    before = [file.read_bytes() for file in files]
    evaluate(spark, run)
    assert [file.read_bytes() for file in files] == before
    assert str(tmp_path) not in run.summary_path.read_text()


def test_a_system_that_falls_silent_has_failed(judged: Any) -> None:
    """It publishes until 2 s and keeps running; the drain waits until its deadline, 2 s after the load."""
    run = SyntheticRun(load=LoadPlan(100, 1.0, 5.0, 1.0), drain="deadline", drain_s=2.0, sustained="slope")
    run.outputs = [Output(n, 20, message(n)) for n in range(200)]
    summary = judged(run)
    assert summary["results"] == counts(expected=600, matched=200, unfinished=400)
    assert (summary["verdict"], summary["sustained"]) == ("FAILED", False)
    assert summary["reasons"] == [
        "the system under test fell silent: no output in the last 7.0 s (quiet time 5.0 s), and 400 of 600 "
        "results are unfinished"
    ]
    # 100 of the 500 measured ones took 20 ms; the others had taken 3.01 to 7 s when the run ended.
    total_ms = summary["latency_ms"]["total"]
    assert (total_ms["count"], total_ms["missing"], total_ms["p50"], total_ms["p99"]) == (100, 400, None, None)
    assert 4000 < total_ms["p50_at_least"] < 5000
    assert exit_code(Summary.model_validate(summary)) == 4


def test_percentiles_are_exact(judged: Any, tmp_path: Path) -> None:
    run = SyntheticRun(load=LoadPlan(100, 1.0, 10.0, 1.0))
    after_ms = np.random.default_rng(3).integers(20, 400, run.load.records)
    run.outputs = [Output(n, int(after_ms[n]), message(n)) for n in run.inputs]
    summary = judged(run)
    measured = after_ms[100:1100]
    total_ms = summary["latency_ms"]["total"]
    assert total_ms["count"] == 1000
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99)):
        assert total_ms[name] == pytest.approx(np.percentile(measured, percent), abs=5e-4)
    assert total_ms["p999"] is None
    assert total_ms["mean"] == pytest.approx(measured.mean(), abs=5e-4)
    seconds = pq.read_table(tmp_path / "run/measures/seconds.parquet").to_pylist()
    for row in seconds[:12]:
        mine = after_ms[row["second"] * 100 :][:100]
        assert row["total_p50"] == pytest.approx(np.percentile(mine, 50))
        assert row["total_max"] == mine.max()


def test_overload_is_a_finding(judged: Any) -> None:
    """The engine processes 5 of 10 records per second: the n-th result is published after n × 0.2 s."""
    run = SyntheticRun(load=LoadPlan(10, 1.0, 10.0, 1.0), sustained="slope", drain_s=20.0)
    run.outputs = [Output(n, 100 * n + 20, message(n)) for n in run.inputs]
    summary = judged(run)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "overloaded", False)
    assert summary["backlog"]["slope_per_s"] == pytest.approx(5.0, abs=0.1)
    assert any(text.startswith("overloaded: the backlog grew by 5") for text in summary["warnings"])


def test_drifting_latency(judged: Any) -> None:
    run = SyntheticRun(load=LoadPlan(10, 1.0, 8.0, 1.0), sustained="slope")
    run.outputs = [Output(n, 20 + n // 10 * 5, message(n)) for n in run.inputs]
    summary = judged(run)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "drifting", True)


def test_broker_clock_ahead_hides_the_end_to_end_latency(judged: Any, tmp_path: Path) -> None:
    summary = judged(SyntheticRun(broker_ahead_ms=7))
    # Appended 3 ms + 7 ms after intended, acknowledged 5 ms after it; intended and sent have 0.4 ms more.
    assert summary["clock"]["broker_offset_ms"] == [5.0, 10.6]
    assert set(summary["latency_ms"]["total"].values()) == {None}
    assert summary["latency_ms"]["latest"]["p50"] == 36.5
    assert any("5.0 to 10.6 ms ahead" in text for text in summary["warnings"])
    kinds = pq.read_table(tmp_path / "run/measures/latency.parquet").column("kind").to_pylist()
    assert set(kinds) == {"latest", "average"}


def test_negative_latencies_are_kept_and_counted(judged: Any) -> None:
    run = SyntheticRun()
    run.without(12)
    run.outputs.append(Output(12, -4, message(12)))
    summary = judged(run)
    assert summary["latency_ms"]["total"]["count"] == 20
    assert any(text.startswith("1 values of the end-to-end latency are below zero") for text in summary["warnings"])


def test_clock_step_is_invalid(spark: Any, tmp_path: Path) -> None:
    run = SyntheticRun().write(tmp_path / "run")
    (run.path / "samples/clock.jsonl").unlink()
    run.append_samples(*(clock_sample(s, step_ms=8.0 if s > 2 else 0.0) for s in range(10)))
    summary = evaluate(spark, run)
    assert summary.verdict == "INVALID"
    assert summary.reasons == ["the machine's clock was set during the run, by 8.0 ms; the limit is 5 ms"]


def test_late_generator_is_invalid_and_comes_before_failure(judged: Any) -> None:
    run = SyntheticRun(late_ms={15: 201.0})
    run.without(12)
    summary = judged(run)
    assert summary["verdict"] == "INVALID"
    assert summary["reasons"][0].startswith("the generator was 201.0 ms late in second 1")
    assert summary["reasons"][-1].startswith("1 of 30 results were lost")


def test_dead_engine(judged: Any) -> None:
    """It died in second 2; the load was stopped early, which is not the generator's fault."""
    dead = {"role": "engine", "group": "engine", "exit_code": 137, "log_tail": "…"}
    run = SyntheticRun(ended=[dead], drain=None, drain_s=-2.0, unsent=frozenset(range(20, 40)))
    run.inputs = list(range(20))
    run.outputs = run.outputs[:15]
    summary = judged(run)
    assert summary["verdict"] == "FAILED"
    assert summary["reasons"] == ["process engine ended unexpectedly (exit code 137)"]
    assert summary["results"] == counts(expected=20, matched=15, unfinished=5)


def test_a_run_without_any_record(judged: Any) -> None:
    run = SyntheticRun(unsent=frozenset(range(40)))
    run.inputs, run.outputs = [], []
    summary = judged(run)
    assert summary["results"] == counts()
    assert summary["verdict"] == "INVALID"
    assert summary["state"] is None
    assert summary["latency_ms"]["total"] == {
        **dict.fromkeys(("p50", "p90", "p99", "p999", "max", "mean")),
        "count": 0,
        "missing": 0,
    }


@pytest.mark.parametrize(
    "plan",
    [
        LoadPlan(3000, 2.0, 5.0, 0.5),
        LoadPlan(100_003, 30.0, 5.0, 0.5, rising_warmup=True),
        LoadPlan(700, 2.0, 9.0, 0.5, shape="steps", steps_per_s=(700, 1100, 13)),
        LoadPlan(500, 2.0, 9.0, 0.5, shape="fluctuating", to_per_s=50),
        LoadPlan(400, 2.0, 30.0, 0.5, shape="periodic-burst", burst_records=4000, burst_s=0.175, burst_every_s=10.0),
        LoadPlan(400, 0.0, 9.0, 0.5, shape="single-burst", burst_records=9000, burst_s=3.0),
    ],
    ids=lambda plan: f"{plan.shape}{' rising' if plan.rising_warmup else ''}",
)
def test_the_intended_time_in_sql_is_that_of_the_plan(spark: Any, plan: LoadPlan) -> None:
    assert len(plan.segments) <= SQL_SEGMENTS
    offsets = spark.range(plan.records).toDF("n_seq").selectExpr(f"{offset_sql(plan.segments)} as offset_ns").toPandas()
    assert (offsets["offset_ns"].to_numpy() == plan.offsets_ns(np.arange(plan.records))).all()
