"""Which results count as matched, wrong, lost, unfinished or duplicate, on hand-made run directories."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sliced import LOAD, START_MS, SlicedRun
from synthetic import Output, SyntheticRun, counts, message

from run_files import change, content
from streamgauge.evaluate import evaluate
from streamgauge.evaluate.match import compare, judge
from streamgauge.model import NS_PER_MS, LoadPlan
from streamgauge.rundir import RunDir


def test_every_way_to_be_wrong(judged: Any) -> None:
    """Each record below has one fate; the others are correct."""
    run = SyntheticRun(delivery="exactly-once")
    run.without(11, 13, 14, 15, 16, 17, 18)
    wrong = [message(n, amount=8) for n in range(40)]
    run.outputs += [
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
        Output(20, 30, message(99_999)),  # a key that is not in the input, twice, and no key at all
        Output(20, 31, message(99_999)),
        Output(20, 32, "no JSON"),
    ]
    summary = judged(run)
    assert summary["results"] == counts(
        expected=30, matched=26, wrong=3, lost=1, duplicates=2, intermediate=4, unexpected=3
    )
    assert summary["verdict"] == "FAILED"
    assert summary["reasons"] == [
        "3 of 30 results are wrong",
        "3 results should not have been produced",
        "1 of 30 results were lost; the engine claims exactly-once",
        "2 results were produced twice; the engine claims exactly-once",
    ]
    # 16 of the 20 measured records matched; 14 at its first right output.
    total_ms = summary["latency_ms"]["total"]
    assert (total_ms["count"], total_ms["missing"]) == (16, 1)
    # Record 11, due at 1.1 s, had no result when the drain ended at 10 s.
    assert (total_ms["max"], total_ms["max_at_least"]) == (None, 8900.0)


def test_right_wrong_right_is_counted(judged: Any) -> None:
    """Each record below has its outputs in this order; the others are correct."""
    run = SyntheticRun()
    run.without(*range(11, 18))
    wrong = [message(n, amount=8) for n in range(40)]
    run.outputs += [
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
    summary = judged(run)
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
    run = SyntheticRun(fault_s=fault_s, recounts_after_failure=declared)
    for n in (22, 25):
        run.outputs[n] = Output(n, 20 + n, message(n, amount=8))
    summary = judged(run)
    assert summary["results"] == counts(expected=30, matched=28, wrong=2)
    assert (summary["verdict"], summary["reasons"]) == (verdict, reasons)
    assert any("wrong after a fault" in warning for warning in summary["warnings"]) == (
        declared and fault_s is not None
    )


def counted_twice(run: SlicedRun, from_s: float, records: int = 1) -> None:
    """From then on, every count of "red" has so many records twice. It is in 131 records."""
    from_ms = START_MS + 1000 * from_s
    run.results = [
        replace(one, n=one.n + records)
        if one.word == "red" and one.n is not None and one.emitted_ms >= from_ms
        else one
        for one in run.results
    ]


def and_another(word: str, n: int | None, at_s: float) -> Callable[[SlicedRun], None]:
    def changed(run: SlicedRun) -> None:
        counted_twice(run, 7.5)
        run.add(word, n, at_s)

    return changed


def written(made: SlicedRun, path: Path) -> RunDir:
    """To be evaluated whole."""
    run = made._create(path, slice_s=0)
    for name, table in made._tables().items():
        run.recorded(name).mkdir()
        pq.write_table(table, run.recorded(name) / "part-0.parquet")
    made._write_ledger(run.ledger(0), range(LOAD.records))
    return run


WRONG, UNEXPECTED = "1 of 481 results are wrong", "1 results should not have been produced"


@pytest.mark.parametrize(
    ("changed", "fault_s", "declared", "reasons"),
    [
        pytest.param(lambda run: counted_twice(run, 7.5), 7.0, True, [], id="after the fault"),
        pytest.param(
            lambda run: counted_twice(run, 7.5),
            7.0,
            False,
            [WRONG, UNEXPECTED],
            id="not declared",
            marks=pytest.mark.full,
        ),
        pytest.param(
            lambda run: counted_twice(run, 7.5),
            None,
            True,
            [WRONG, UNEXPECTED],
            id="without a fault",
            marks=pytest.mark.full,
        ),
        pytest.param(
            lambda run: counted_twice(run, 7.5),
            17.0,
            True,
            [WRONG, UNEXPECTED],
            id="before the fault",
            marks=pytest.mark.full,
        ),
        pytest.param(
            # The results are at most 400 ms late, which is three or four records with this word.
            lambda run: counted_twice(run, 5.0, records=9),
            7.0,
            True,
            [WRONG, UNEXPECTED.replace("1", "9")],
            id="more than had arrived before the fault",
        ),
        pytest.param(
            and_another("red", 132, 5.0), 7.0, True, [WRONG, UNEXPECTED.replace("1", "2")], id="too high before it, too"
        ),
        pytest.param(and_another("red", 132, 8.0), 7.0, True, [], id="too high twice", marks=pytest.mark.full),
        pytest.param(and_another("nobody", 1, 8.0), 7.0, True, [UNEXPECTED], id="a key that no record has"),
        pytest.param(and_another("red", None, 8.0), 7.0, True, [UNEXPECTED], id="no number"),
        pytest.param(and_another("red", 10**6, 8.0), 7.0, True, [UNEXPECTED], id="more than repetitions give"),
        pytest.param(
            and_another("blue", 200, 8.0), 7.0, True, [UNEXPECTED], id="a key that ends right", marks=pytest.mark.full
        ),
    ],
)
def test_a_total_that_counts_an_input_twice_after_a_fault(
    spark: Any,
    tmp_path: Path,
    changed: Callable[[SlicedRun], None],
    fault_s: float | None,
    declared: bool,
    reasons: list[str],
) -> None:
    made = SlicedRun.of(words=1)
    changed(made)
    run = written(made, tmp_path / "run")
    engine = content(run.manifest_path)["engine"]
    change(run.manifest_path, engine=engine | {"delivery": "at-least-once", "recounts_after_failure": declared})
    if fault_s is not None:
        moments = dict.fromkeys(("planned_ns", "acted_ns", "ended_ns"), (START_MS + round(1000 * fault_s)) * NS_PER_MS)
        fault = {"fault": "pause engine for 1s", "verb": "pause", "role": "engine", "took_effect": True}
        change(run.outcome_path, faults=[{**fault, **moments, "why_not": None}])
    summary = evaluate(spark, run)
    assert summary.results["wrong"] == 1 and summary.results["unexpected"]
    assert (summary.verdict, summary.reasons) == ("FAILED" if reasons else "VALID", reasons)
    assert any("wrong after a fault" in text for text in summary.warnings) == (WRONG not in reasons)


@pytest.mark.parametrize(
    ("delivery", "verdict"),
    [("at-least-once", "VALID"), ("at-most-once", "FAILED"), ("exactly-once", "FAILED")],
)
def test_duplicates_fail_only_against_the_guarantee(judged: Any, delivery: str, verdict: str) -> None:
    run = SyntheticRun(delivery=delivery)
    run.outputs.append(Output(12, 90, message(12)))
    summary = judged(run)
    assert (summary["results"]["duplicates"], summary["verdict"]) == (1, verdict)


def test_rows_of_the_tail_are_neither_expected_nor_unexpected(judged: Any) -> None:
    run = SyntheticRun(delivery="exactly-once")
    run.without(30, 35)
    run.outputs.append(Output(36, 90, message(36)))
    summary = judged(run)
    assert summary["results"] == counts(expected=30, matched=30)
    assert summary["verdict"] == "VALID"


def test_missing_rows_are_lost_after_a_quiet_drain_else_unfinished(judged: Any) -> None:
    run = SyntheticRun(drain="deadline", drain_s=1.0)
    run.without(*range(25, 40))
    summary = judged(run)
    assert summary["results"] == counts(expected=30, matched=25, unfinished=5)
    assert summary["verdict"] == "VALID"
    # Unfinished rows and the tail, which has no results, are the backlog.
    assert summary["backlog"]["end"] == 15


def test_rows_overtaken_by_ten_seconds_are_lost(judged: Any) -> None:
    run = SyntheticRun(load=LoadPlan(10, 1.0, 12.0, 1.0), drain="deadline", drain_s=2.0)
    run.without(0, 10, 19, 20, *range(120, 140))
    # The last published row is 119, at 11.9 s: 19 is 10.0 s older, 20 only 9.9 s.
    summary = judged(run)
    assert summary["results"] == counts(expected=130, matched=116, lost=3, unfinished=11)
    assert summary["reasons"] == ["3 of 130 results were lost; the engine claims at-least-once"]
    # Not the lost ones: 20, 120–129 and the tail.
    assert summary["backlog"]["end"] == 21


def test_a_slow_partition_is_not_loss(judged: Any) -> None:
    """From record 12 on the topic flow (even records) has no results, while speed continues to the end."""
    run = SyntheticRun(load=LoadPlan(10, 1.0, 12.0, 1.0), drain="deadline", drain_s=2.0, sustained="slope")
    run.without(*range(12, 140, 2))
    summary = judged(run)
    assert summary["results"] == counts(expected=130, matched=71, unfinished=59)
    assert (summary["verdict"], summary["state"], summary["sustained"]) == ("VALID", "overloaded", False)
    assert summary["state_reason"].startswith("not sustained: 45.4 % of the expected results are missing")
    assert any("59 of 130 results were not out when the drain ended" in text for text in summary["warnings"])


def test_parse_compares_fields_not_bytes(judged: Any) -> None:
    run = SyntheticRun(pipeline="ospbench/parse")
    run.outputs = []
    for n in run.inputs:
        fields = json.loads(message(n))
        if n == 12:  # the amount under the other name: the right value in the wrong field
            fields["flow" if "speed" in fields else "speed"] = fields.pop("speed" if "speed" in fields else "flow")
        if n == 13:
            del fields["lane"]
        if n == 14:
            fields["flow"], fields["speed"] = fields.get("flow"), fields.get("speed")
        run.outputs.append(Output(n, 30, json.dumps(dict(sorted(fields.items())))))
    summary = judged(run)
    assert summary["results"] == counts(expected=30, matched=28, wrong=2)


def test_the_same_key_twice_in_the_reference_is_invalid(judged: Any) -> None:
    run = SyntheticRun()
    run.inputs.append(12)
    summary = judged(run)
    assert summary["verdict"] == "INVALID"
    assert summary["reasons"] == ["1 keys of the reference answer are not unique"]


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
    """A mean of speeds that cancel out is 0 in one order of summation and 1e-16 in another."""
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
