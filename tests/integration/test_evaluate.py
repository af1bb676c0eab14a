"""The evaluation on run directories whose answers were worked out by hand, in a real Spark session."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from synthetic import Output, SyntheticRun, clock_sample, message

from run_files import as_written
from streamgauge.evaluate import evaluate, process
from streamgauge.evaluate.intended import SQL_SEGMENTS, offset_sql
from streamgauge.evaluate.match import compare, judge
from streamgauge.evaluate.verdict import exit_code
from streamgauge.jvm.java import find_java
from streamgauge.model import LoadPlan
from streamgauge.model.summary import Summary


@pytest.fixture
def judged(spark: Any, tmp_path: Path) -> Any:
    def write_and_evaluate(run: SyntheticRun) -> dict[str, Any]:
        return as_written(evaluate(spark, run.write(tmp_path / "run")))

    return write_and_evaluate


def counts(**given: int) -> dict[str, float | None]:
    names = [
        "expected",
        "matched",
        "wrong",
        "lost",
        "unfinished",
        "duplicates",
        "intermediate",
        "unexpected",
        "reverted",
    ]
    return dict.fromkeys(names, 0) | given | {"inputs_per_result": 1.0 if given.get("matched") else None}


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


def test_a_backlog_and_when_it_was_caught_up_with(judged: Any) -> None:
    """Records 0–9 are the backlog, sent in the first second; the engine starts at 1.5 s and answers from 2 s on."""
    load = LoadPlan(10, 1.0, 2.0, 1.0, shape="single-burst", burst_records=10, burst_s=1.0)
    made = SyntheticRun(load, engine_start_s=1.5)
    at_ms = {n: 2000 + 10 * n if n < 10 else 2500 + 60 * (n - 10) for n in made.inputs}
    made.outputs = [Output(n, at_ms[n] - 100 * n, message(n)) for n in made.inputs]
    # Record 4 is first answered wrongly; record 10 is due when the backlog has ended, and belongs to it no more.
    made.outputs[4] = Output(4, 2700 - 400, message(4))
    made.outputs += [Output(4, 1900 - 400, message(4, amount=8)), Output(9, 2800 - 900, message(9))]
    summary = judged(made)
    assert (summary["verdict"], summary["reasons"]) == ("VALID", [])
    assert summary["results"] == counts(expected=30, matched=30, duplicates=1, intermediate=1)
    assert summary["burst"] == {"kind": "single", "records": 10, "first_output_s": 0.4, "caught_up_s": 1.2}
    assert summary["latency_ms"]["total"]["count"] == 20, "of the base rate only"
    assert any("waited for it" in warning for warning in summary["warnings"])


def test_evaluating_again_gives_the_same_bytes(spark: Any, tmp_path: Path) -> None:
    made = SyntheticRun(sustained="slope")
    made.without(4, 17)
    run = made.write(tmp_path / "run")
    evaluate(spark, run)
    files = [run.summary_path, run.measures("seconds"), run.measures("latency")]
    before = [file.read_bytes() for file in files]
    evaluate(spark, run)
    assert [file.read_bytes() for file in files] == before
    assert str(tmp_path) not in run.summary_path.read_text()


def test_every_way_to_be_wrong(judged: Any) -> None:
    """Each record below has one fate; the others are perfect."""
    made = SyntheticRun(delivery="exactly-once")
    made.without(11, 13, 14, 15, 16, 17, 18)
    wrong = [message(n, amount=8) for n in range(40)]
    made.outputs += [
        Output(12, 90, message(12)),  # 12: a duplicate
        Output(13, 30, wrong[13]),  # 13: altered
        Output(14, 40, wrong[14]),  # 14: intermediate, then right, then right again
        Output(14, 50, message(14)),
        Output(14, 60, message(14)),
        Output(15, 40, message(15)),  # 15: right at first, but the last is wrong
        Output(15, 50, wrong[15]),
        Output(16, 40, wrong[16], partition=1),  # 16: in one millisecond the partition decides, then the offset
        Output(16, 40, wrong[16], partition=0),
        Output(16, 40, message(16), partition=1),
        Output(17, 40, message(17), partition=1),  # 17: the same, the right one has the lower offset
        Output(17, 40, wrong[17], partition=0),
        Output(18, 40, message(18)),  # 18: in one partition the wrong one has the higher offset
        Output(18, 40, wrong[18]),
        Output(20, 30, message(99_999)),  # a key that the input does not have, twice, and no key at all
        Output(20, 31, message(99_999)),
        Output(20, 32, "no JSON"),
    ]
    summary = judged(made)
    assert summary["results"] == counts(
        expected=30, matched=26, wrong=3, lost=1, duplicates=2, intermediate=4, unexpected=3
    )
    assert summary["verdict"] == "FAILED"
    assert summary["reasons"] == [
        "3 of 30 results are wrong",
        "3 results should not have come out",
        "1 of 30 results were lost; the engine claims exactly-once",
        "2 results came out twice; the engine claims exactly-once",
    ]
    # 16 of the 20 measured records matched; 14 at its first right output.
    total_ms = summary["latency_ms"]["total"]
    assert (total_ms["count"], total_ms["missing"]) == (16, 1)
    # Record 11, due at 1.1 s, had not come when the drain ended at 10 s.
    assert (total_ms["max"], total_ms["max_at_least"]) == (None, 8900.0)


def test_right_wrong_right_is_counted(judged: Any) -> None:
    """Each record below has its outputs in this order; the others are perfect."""
    made = SyntheticRun()
    made.without(*range(11, 18))
    wrong = [message(n, amount=8) for n in range(40)]
    made.outputs += [
        *(Output(11, 30, message(11)), Output(11, 31, wrong[11]), Output(11, 32, message(11))),  # reverted
        *(Output(12, 30, message(12)), Output(12, 30, wrong[12]), Output(12, 30, message(12))),  # in one millisecond
        *(Output(13, 30, wrong[13]), Output(13, 31, message(13)), Output(13, 32, message(13))),  # right from then on
        *(Output(14, 30, wrong[14]), Output(14, 30, message(14))),  # the same in one millisecond
        *(Output(15, 30, message(15)), Output(15, 31, wrong[15])),  # wrong, not reverted
        *(
            Output(16, 30, wrong[16]),
            Output(16, 31, message(16)),
            Output(16, 32, wrong[16]),
            Output(16, 33, message(16)),
        ),
        Output(17, 30, message(17)),
        *(Output(35, 30, message(35)), Output(35, 31, wrong[35])),  # of the tail: not expected
    ]
    summary = judged(made)
    # Duplicates: 11, 12, 13 and 16. Intermediate: 11, 12, 13, 14 and two of 16.
    assert summary["results"] == counts(expected=30, matched=29, wrong=1, duplicates=4, intermediate=6, reverted=3)


@pytest.mark.parametrize(
    ("fault_s", "declared", "verdict", "reasons"),
    [
        (2.0, True, "VALID", []),
        (2.0, False, "FAILED", ["2 of 30 results are wrong"]),
        (None, True, "FAILED", ["2 of 30 results are wrong"]),
        # Record 22 is due at 2.2 s and answered 42 ms later, record 25 at 2.5 s.
        (2.4, True, "FAILED", ["2 of 30 results are wrong, 1 of them before the first fault"]),
    ],
)
def test_an_input_counted_twice_after_a_fault(
    judged: Any, fault_s: float | None, declared: bool, verdict: str, reasons: list[str]
) -> None:
    made = SyntheticRun(fault_s=fault_s, recounts_after_failure=declared)
    for n in (22, 25):
        made.outputs[n] = Output(n, 20 + n, message(n, amount=8))
    summary = judged(made)
    assert summary["results"] == counts(expected=30, matched=28, wrong=2)
    assert (summary["verdict"], summary["reasons"]) == (verdict, reasons)
    assert any("wrong after a fault" in warning for warning in summary["warnings"]) == (
        declared and fault_s is not None
    )


@pytest.mark.parametrize(
    ("delivery", "verdict"),
    [("at-least-once", "VALID"), ("at-most-once", "FAILED"), ("exactly-once", "FAILED")],
)
def test_duplicates_fail_only_against_the_guarantee(judged: Any, delivery: str, verdict: str) -> None:
    made = SyntheticRun(delivery=delivery)
    made.outputs.append(Output(12, 90, message(12)))
    summary = judged(made)
    assert (summary["results"]["duplicates"], summary["verdict"]) == (1, verdict)


def test_rows_of_the_tail_are_neither_expected_nor_unexpected(judged: Any) -> None:
    made = SyntheticRun(delivery="exactly-once")
    made.without(30, 35)
    made.outputs.append(Output(36, 90, message(36)))
    summary = judged(made)
    assert summary["results"] == counts(expected=30, matched=30)
    assert summary["verdict"] == "VALID"


def test_missing_rows_are_lost_after_a_quiet_drain_else_unfinished(judged: Any) -> None:
    made = SyntheticRun(drain="deadline", drain_s=1.0)
    made.without(*range(25, 40))
    summary = judged(made)
    assert summary["results"] == counts(expected=30, matched=25, unfinished=5)
    assert summary["verdict"] == "VALID"
    # Unfinished rows and the tail, which nobody answered, are the backlog.
    assert summary["backlog"]["end"] == 15


def test_rows_overtaken_by_ten_seconds_are_lost(judged: Any) -> None:
    made = SyntheticRun(load=LoadPlan(10, 1.0, 12.0, 1.0), drain="deadline", drain_s=2.0)
    made.without(0, 10, 19, 20, *range(120, 140))
    # The last row that came out is 119, at 11.9 s: 19 is 10.0 s older, 20 only 9.9 s.
    summary = judged(made)
    assert summary["results"] == counts(expected=130, matched=116, lost=3, unfinished=11)
    assert summary["reasons"] == ["3 of 130 results were lost; the engine claims at-least-once"]
    # Not the lost ones: 20, 120–129 and the tail.
    assert summary["backlog"]["end"] == 21


def test_a_slow_partition_is_not_loss(judged: Any) -> None:
    """From record 12 on nothing of the topic flow is answered (the even ones), while speed goes on to the end."""
    made = SyntheticRun(load=LoadPlan(10, 1.0, 12.0, 1.0), drain="deadline", drain_s=2.0, sustained="slope")
    made.without(*range(12, 140, 2))
    summary = judged(made)
    assert summary["results"] == counts(expected=130, matched=71, unfinished=59)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "overloaded", False)
    assert summary["state_reason"].startswith("not sustained: 45.4 % of the expected results did not come out")
    assert any("59 of 130 results were not out when the drain ended" in text for text in summary["warnings"])


def test_a_system_that_falls_silent_has_failed(judged: Any) -> None:
    """It answers until 2 s and lives on; the drain waits for it until its deadline, 2 s after the load."""
    made = SyntheticRun(load=LoadPlan(100, 1.0, 5.0, 1.0), drain="deadline", drain_s=2.0, sustained="slope")
    made.outputs = [Output(n, 20, message(n)) for n in range(200)]
    summary = judged(made)
    assert summary["results"] == counts(expected=600, matched=200, unfinished=400)
    assert (summary["verdict"], summary["sustained"]) == ("FAILED", False)
    assert summary["reasons"] == [
        "the system under test fell silent: nothing came out in the last 7.0 s (quiet time 5.0 s), and 400 of 600 "
        "results are unfinished"
    ]
    # 100 of the 500 measured ones took 20 ms; the others had taken 3.01 to 7 s when the run ended.
    total_ms = summary["latency_ms"]["total"]
    assert (total_ms["count"], total_ms["missing"], total_ms["p50"], total_ms["p99"]) == (100, 400, None, None)
    assert 4000 < total_ms["p50_at_least"] < 5000
    assert exit_code(Summary.model_validate(summary)) == 4


def test_percentiles_are_exact(judged: Any, tmp_path: Path) -> None:
    made = SyntheticRun(load=LoadPlan(100, 1.0, 10.0, 1.0))
    after_ms = np.random.default_rng(3).integers(20, 400, made.load.records)
    made.outputs = [Output(n, int(after_ms[n]), message(n)) for n in made.inputs]
    summary = judged(made)
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


def test_parse_compares_fields_not_bytes(judged: Any) -> None:
    made = SyntheticRun(pipeline="ospbench/parse")
    made.outputs = []
    for n in made.inputs:
        fields = json.loads(message(n))
        if n == 12:  # the amount under the other name: all values are there, none is where it belongs
            fields["flow" if "speed" in fields else "speed"] = fields.pop("speed" if "speed" in fields else "flow")
        if n == 13:
            del fields["lane"]
        if n == 14:
            fields["flow"], fields["speed"] = fields.get("flow"), fields.get("speed")
        made.outputs.append(Output(n, 30, json.dumps(dict(sorted(fields.items())))))
    summary = judged(made)
    assert summary["results"] == counts(expected=30, matched=28, wrong=2)


def test_overload_is_a_finding(judged: Any) -> None:
    """The engine takes 5 of 10 records a second: the n-th result comes after n × 0.2 s."""
    made = SyntheticRun(load=LoadPlan(10, 1.0, 10.0, 1.0), sustained="slope", drain_s=20.0)
    made.outputs = [Output(n, 100 * n + 20, message(n)) for n in made.inputs]
    summary = judged(made)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "overloaded", False)
    assert summary["backlog"]["slope_per_s"] == pytest.approx(5.0, abs=0.1)
    assert any(text.startswith("overloaded: the backlog grew by 5") for text in summary["warnings"])


def test_drifting_latency(judged: Any) -> None:
    made = SyntheticRun(load=LoadPlan(10, 1.0, 8.0, 1.0), sustained="slope")
    made.outputs = [Output(n, 20 + n // 10 * 5, message(n)) for n in made.inputs]
    summary = judged(made)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "drifting", True)


def test_the_same_key_twice_in_the_reference_is_invalid(judged: Any) -> None:
    made = SyntheticRun()
    made.inputs.append(12)
    summary = judged(made)
    assert summary["verdict"] == "INVALID"
    assert summary["reasons"] == ["1 keys of the reference answer are not unique"]


def test_broker_clock_ahead_hides_the_total(judged: Any, tmp_path: Path) -> None:
    summary = judged(SyntheticRun(broker_ahead_ms=7))
    # Appended 3 ms + 7 ms after intended, acknowledged 5 ms after it; intended and sent have 0.4 ms more.
    assert summary["clock"]["broker_offset_ms"] == [5.0, 10.6]
    assert set(summary["latency_ms"]["total"].values()) == {None}
    assert summary["latency_ms"]["latest"]["p50"] == 36.5
    assert any("5.0 to 10.6 ms ahead" in text for text in summary["warnings"])
    kinds = pq.read_table(tmp_path / "run/measures/latency.parquet").column("kind").to_pylist()
    assert set(kinds) == {"latest", "average"}


def test_negative_latencies_are_kept_and_counted(judged: Any) -> None:
    made = SyntheticRun()
    made.without(12)
    made.outputs.append(Output(12, -4, message(12)))
    summary = judged(made)
    assert summary["latency_ms"]["total"]["count"] == 20
    assert any(text.startswith("1 values of the total latency are below zero") for text in summary["warnings"])


def test_clock_step_is_invalid(spark: Any, tmp_path: Path) -> None:
    run = SyntheticRun().write(tmp_path / "run")
    (run.path / "samples/clock.jsonl").unlink()
    run.append_samples("clock", [clock_sample(s, step_ms=8.0 if s > 2 else 0.0) for s in range(10)])
    summary = evaluate(spark, run)
    assert summary.verdict == "INVALID"
    assert summary.reasons == ["the machine's clock was set during the run, by 8.0 ms; the limit is 5 ms"]


def test_late_generator_is_invalid_and_comes_before_failure(judged: Any) -> None:
    made = SyntheticRun(late_ms={15: 201.0})
    made.without(12)
    summary = judged(made)
    assert summary["verdict"] == "INVALID"
    assert summary["reasons"][0].startswith("the generator was 201.0 ms late in second 1")
    assert summary["reasons"][-1].startswith("1 of 30 results were lost")


def test_dead_engine(judged: Any) -> None:
    """It died in second 2; the load was stopped, which is not the generator's fault."""
    dead = {"role": "engine", "group": "engine", "exit_code": 137, "log_tail": "…"}
    made = SyntheticRun(ended=[dead], drain=None, drain_s=-2.0, unsent=frozenset(range(20, 40)))
    made.inputs = list(range(20))
    made.outputs = made.outputs[:15]
    summary = judged(made)
    assert summary["verdict"] == "FAILED"
    assert summary["reasons"] == ["process engine ended although nobody had asked it to (exit code 137)"]
    assert summary["results"] == counts(expected=20, matched=15, unfinished=5)


def test_a_run_without_any_record(judged: Any) -> None:
    made = SyntheticRun(unsent=frozenset(range(40)))
    made.inputs, made.outputs = [], []
    summary = judged(made)
    assert summary["results"] == counts()
    assert summary["verdict"] == "INVALID"
    assert summary["state"] is None
    assert summary["latency_ms"]["total"] == {
        **dict.fromkeys(("p50", "p90", "p99", "p999", "max", "mean")),
        "count": 0,
        "missing": 0,
    }


def test_floats_match_within_a_billionth(spark: Any) -> None:
    answer = spark.createDataFrame(
        [(n, 2, 1000.0, 2, 5, 4.5, 10) for n in range(7)],
        "id bigint, n int, mean double, inputs int, "
        "appended_max_ms bigint, appended_mean_ms double, intended_max_ns bigint",
    )
    results = spark.createDataFrame(
        [
            *((0, 2, 1000.0), (1, 2, 1000.0000009), (2, 2, 1000.000002), (3, 3, 1000.0), (4, 2, None)),
            *((5, 2, float("inf")), (6, 2, float("nan"))),
        ],
        "id bigint, n int, mean double",
    ).selectExpr("*", "20L AS emitted_ms", "0 AS partition", "id AS offset")
    fates = judge(compare(answer, results, ("id",))).select("id", "fate").collect()
    assert sorted(tuple(row) for row in fates) == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]


def test_floats_match_a_right_value_of_zero_within_a_billionth(spark: Any) -> None:
    """A mean of speeds that cancel out is 0 by one order of summation and 1e-16 by another."""
    answer = spark.createDataFrame(
        [(n, 2, 0.0, 2, 5, 4.5, 10) for n in range(6)],
        "id bigint, n int, mean double, inputs int, "
        "appended_max_ms bigint, appended_mean_ms double, intended_max_ns bigint",
    )
    results = spark.createDataFrame(
        [(0, 2, -0.0), (1, 2, 1e-16), (2, 2, -1e-9), (3, 2, 1.1e-9), (4, 2, float("nan")), (5, 2, None)],
        "id bigint, n int, mean double",
    ).selectExpr("*", "20L AS emitted_ms", "0 AS partition", "id AS offset")
    fates = judge(compare(answer, results, ("id",))).select("id", "fate").collect()
    assert sorted(tuple(row) for row in fates) == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]


@pytest.mark.full
def test_the_evaluators_process(tmp_path: Path) -> None:
    """It says ready before Spark is, goes on after a request that fails, and ends when its input does."""
    work_dir = tmp_path / "work"
    work_dir.mkdir()
    made = SyntheticRun().write(tmp_path / "run")
    jvm_spec, spec = process.plan(find_java().path, work_dir, (), "local[2]", 512, records=40)
    for file, text in {**jvm_spec.files, **spec.files}.items():
        file.write_text(text)
    with (
        (work_dir / "log").open("w") as log,
        subprocess.Popen(spec.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as python,
    ):
        assert python.stdin is not None and python.stdout is not None
        assert json.loads(python.stdout.readline()) == {"event": "ready"}
        with subprocess.Popen(
            jvm_spec.argv, env={**os.environ, **jvm_spec.env}, stdin=subprocess.PIPE, stdout=log, stderr=log
        ):
            for path in (tmp_path / "nowhere", made.path):
                python.stdin.write(json.dumps({"do": "evaluate", "run": str(path)}) + "\n")
            python.stdin.close()
            events = [json.loads(line) for line in python.stdout]
            assert python.wait(30) == 0
    assert events[0]["event"] == "failed"
    assert events[0]["message"].startswith("not a run directory")
    assert [event["event"] for event in events[1:-1]] == ["progress"] * (len(events) - 2)
    assert events[-1] == {"event": "evaluated", "run": str(made.path)}
    assert made.summary().verdict == "VALID"


def test_a_jvm_that_died_after_it_came_up_is_an_environment_problem(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    secret = b"s" * 32
    (tmp_path / "connection").write_bytes(struct.pack(">ii", port, len(secret)) + secret)
    code = (
        "import sys; from pathlib import Path; from streamgauge.errors import EnvironmentProblem\n"
        "from streamgauge.jvm.spark import connect\n"
        "try: connect(Path(sys.argv[1]))\n"
        "except EnvironmentProblem as problem: print(problem.what)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "connection")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "Spark's JVM does not answer\n"


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
def test_the_intended_moment_in_sql_is_that_of_the_plan(spark: Any, plan: LoadPlan) -> None:
    assert len(plan.segments) <= SQL_SEGMENTS
    offsets = spark.range(plan.records).toDF("n_seq").selectExpr(f"{offset_sql(plan.segments)} as offset_ns").toPandas()
    assert (offsets["offset_ns"].to_numpy() == plan.offsets_ns(np.arange(plan.records))).all()
