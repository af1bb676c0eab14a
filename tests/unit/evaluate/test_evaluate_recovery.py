"""How faults were taken: worked by hand, and what they do to the verdict."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tallies import START_NS, facts, row, tally
from written_runs import manifest

from run_files import change
from streamgauge.evaluate import evaluation
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import recovery
from streamgauge.evaluate.metrics.clock import Bound
from streamgauge.evaluate.metrics.recovery import Recovery, Seen, longest_gap_after, longest_gap_before, recover
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import FaultFigures
from streamgauge.notices import notice
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"
START_MS = START_NS // NS_PER_MS
MEASURED_S = 20.0
"""Measured from second 1 to second 21; the drain ends at second 27."""


def at(second: float) -> int:
    return START_NS + round(second * NS_PER_S)


def outputs(*spans: tuple[float, float], every_ms: int = 100) -> Any:
    """Moments of outputs, from and to these seconds of the load."""
    return START_MS + np.concatenate([np.arange(1000 * begin, 1000 * end, every_ms) for begin, end in spans]).astype(
        np.int64
    )


def seen(outputs_ms: Any, latencies: dict[int, float | None], backlog: dict[int, int], settled_s: int = 8) -> Seen:
    """50 ms and 10 records in each second, but for the ones that are named."""
    return Seen(
        outputs_ms=outputs_ms,
        latency_kind="total",
        latencies_ms=[latencies.get(second, 50.0) for second in range(27)],
        settled_s=settled_s,
        backlog=[backlog.get(second, 10) for second in range(27)],
    )


def recovered(observed: Seen, fault_s: float, *, first_s: float | None = None, until_s: float = 21.0) -> Recovery:
    moments = facts(measured_s=MEASURED_S)[1]
    return recover(observed, moments, at(fault_s), at(fault_s if first_s is None else first_s), at(until_s))


def test_worked_by_hand() -> None:
    """The example of docs/reference/measurement.md#faults."""
    measured = recovered(
        seen(
            outputs((1, 8.45), (10.5, 26)),
            {8: 2000.0, 9: 1200.0, 10: 400.0, 11: 60.0},
            {8: 300, 9: 1300, 10: 20},
        ),
        8.45,
    )
    assert measured.outage_s == pytest.approx(2.1)
    assert measured.gap_before_s == pytest.approx(0.1)
    assert measured.first_output_s == pytest.approx(2.05)
    assert (measured.latency_limit_ms, measured.backlog_limit) == (50.0, 10.0)
    assert measured.latency_back_s == pytest.approx(3.55)
    assert measured.backlog_back_s == pytest.approx(3.55)


def test_an_outage_counts_until_the_load_ends_whether_output_comes_back_or_not() -> None:
    late = longest_gap_after(np.array([1000, 8000, 30_000]), 8050, 21_000, 12_000)
    never = longest_gap_after(np.array([1000, 8000]), 8050, 21_000, 12_000)
    assert (late.length_ms, late.end_ms) == (4000, 30_000)
    assert (never.length_ms, never.end_ms) == (4000, None)


def test_one_second_inside_is_not_back_yet() -> None:
    latencies: dict[int, float | None] = {8: 900.0, 9: 900.0, 10: 900.0, 12: 51.0, 14: None}
    measured = recovered(seen(outputs((1, 8.45), (10.5, 26)), latencies, {11: 11, 13: 11}), 8.45)
    assert measured.latency_back_s == pytest.approx(15 - 8.45)
    assert measured.backlog_back_s == pytest.approx(15 - 8.45)


def test_a_system_that_does_not_stop() -> None:
    """Micro-batches of half a second: a gap of half a second after the fault is nothing new."""
    measured = recovered(seen(outputs((1, 26), every_ms=500), {}, {}), 8.45)
    assert (measured.outage_s, measured.gap_before_s) == (0.5, 0.5)
    assert measured.first_output_s == pytest.approx(0.05)
    assert (measured.latency_back_s, measured.backlog_back_s) == (0.0, 0.0)


def test_a_part_of_a_system_that_does_not_stop() -> None:
    """Other workers go on, but what the dead one had to do waits: latency and backlog tell, the output does not."""
    late: dict[int, float | None] = {second: 9000.0 - 1000 * (second - 8) for second in range(8, 15)}
    measured = recovered(seen(outputs((1, 26)), late, dict.fromkeys(range(8, 15), 99)), 8.45)
    assert measured.outage_s == pytest.approx(0.1)
    assert measured.latency_back_s == pytest.approx(15 - 8.45)
    assert measured.backlog_back_s == pytest.approx(16 - 8.45)


def test_a_part_that_is_back_within_the_second() -> None:
    measured = recovered(seen(outputs((1, 26)), {8: 900.0}, {}), 8.45)
    assert (measured.latency_back_s, measured.backlog_back_s) == (pytest.approx(9 - 8.45), 0.0)


def test_an_outage_that_begins_a_while_after_the_fault() -> None:
    """The rest of the system worked on until it noticed; what was inside its limits before the outage is not back."""
    measured = recovered(seen(outputs((1, 11.05), (15.5, 26)), {11: 4000.0, 15: 400.0}, {11: 99, 15: 20}), 8.45)
    assert measured.outage_s == pytest.approx(4.5)
    assert measured.first_output_s == pytest.approx(15.5 - 8.45)
    assert measured.latency_back_s == pytest.approx(16 - 8.45)
    assert measured.backlog_back_s == pytest.approx(17 - 8.45)


def test_nothing_came_any_more() -> None:
    measured = recovered(seen(outputs((1, 8.45)), dict.fromkeys(range(8, 27)), dict.fromkeys(range(8, 27), 500)), 8.45)
    assert measured.outage_s == pytest.approx(22 - 8.4), "nothing is due after the load"
    assert (measured.first_output_s, measured.latency_back_s, measured.backlog_back_s) == (None, None, None)


def test_the_quiet_time_after_the_load_is_no_outage() -> None:
    """The last output is due just before the load ends; then the run waits for five seconds to be sure."""
    measured = recovered(seen(outputs((1, 21.95), every_ms=1000), {}, {}), 8.45)
    assert (measured.outage_s, measured.gap_before_s) == (1.0, 1.0)
    assert measured.first_output_s == pytest.approx(0.55)
    assert (measured.latency_back_s, measured.backlog_back_s) == (0.0, 0.0)


def test_output_that_comes_back_too_late_to_be_inside_again() -> None:
    measured = recovered(seen(outputs((1, 8.45), (19.5, 26)), dict.fromkeys(range(8, 20), 900.0), {}), 8.45)
    assert measured.first_output_s == pytest.approx(19.5 - 8.45)
    assert measured.latency_back_s is None


def test_too_little_before_the_fault_to_compare_with() -> None:
    measured = recovered(seen(outputs((1, 5.05), (7.0, 26)), {}, {}), 5.05)
    assert measured.outage_s == pytest.approx(2.0)
    assert (measured.latency_limit_ms, measured.latency_back_s) == (None, None)
    assert (measured.backlog_limit, measured.backlog_back_s) == (None, None)


def test_each_fault_answers_until_the_next_one_and_all_are_measured_by_the_time_before_the_first() -> None:
    observed = seen(outputs((1, 8.45), (10.0, 14.05), (14.5, 26)), {8: 900.0, 9: 900.0, 14: 80.0}, {})
    first, second = recovered(observed, 8.45, until_s=14.05), recovered(observed, 14.05, first_s=8.45)
    assert (first.outage_s, second.outage_s) == (pytest.approx(1.6), pytest.approx(0.5))
    assert (first.gap_before_s, second.gap_before_s) == (pytest.approx(0.1), pytest.approx(0.1))
    assert (first.latency_limit_ms, second.latency_limit_ms) == (50.0, 50.0)
    assert first.latency_back_s == pytest.approx(10 - 8.45)
    assert second.latency_back_s == pytest.approx(15 - 14.05)


def of_partitions(*partitions_ms: Any) -> Seen:
    together = np.unique(np.concatenate(partitions_ms))
    return dataclasses.replace(seen(together, {}, {}), partitions_ms=partitions_ms)


def test_the_output_of_one_partition_does_not_hide_the_outage_of_another() -> None:
    """The example of docs/reference/measurement.md#faults with four partitions."""
    measured = recovered(
        of_partitions(
            outputs((1, 26)),
            outputs((1, 8.45), (10.5, 26)),
            outputs((1, 8.45)),
            outputs((1, 1.1)),
        ),
        8.45,
    )
    assert (measured.outage_s, measured.gap_before_s) == (pytest.approx(0.1), pytest.approx(0.1))
    assert measured.first_output_s == pytest.approx(0.05)
    # The third is silent from 8.4 s to the end of the load at 22 s; the fourth has one output before the fault.
    assert (measured.outage_worst_s, measured.gap_before_worst_s) == (pytest.approx(13.6), pytest.approx(0.1))
    assert (measured.partitions, measured.partitions_judged) == (4, 3)
    assert (measured.partitions_affected, measured.partitions_silent) == (2, 1)


def test_a_partition_is_measured_by_its_own_gaps() -> None:
    """One output in three seconds before and after the fault is no outage, although it is the longest gap of all."""
    measured = recovered(of_partitions(outputs((1, 26), every_ms=3000), outputs((1, 8.45), (10.5, 26))), 8.45)
    assert (measured.partitions_affected, measured.partitions_silent) == (1, 0)
    assert (measured.outage_worst_s, measured.gap_before_worst_s) == (pytest.approx(2.1), pytest.approx(0.1))
    unhurt = recovered(of_partitions(outputs((1, 26), every_ms=3000), outputs((1, 26))), 8.45)
    assert (unhurt.partitions_affected, unhurt.outage_worst_s) == (0, pytest.approx(3.0))


def test_the_quiet_time_of_the_drain_is_no_outage() -> None:
    """The load ends at 22 s, the last output comes before; five quiet seconds follow, after a fault without effect."""
    measured = recovered(of_partitions(outputs((1, 21.95)), outputs((1, 21.95))), 8.45)
    assert (measured.partitions_affected, measured.partitions_silent) == (0, 0)


def test_partitions_without_output_before_the_fault_are_not_judged() -> None:
    measured = recovered(of_partitions(outputs((9, 26)), outputs((9, 9))), 8.45)
    assert (measured.partitions, measured.partitions_judged, measured.partitions_affected) == (2, 0, 0)
    assert (measured.outage_worst_s, measured.gap_before_worst_s) == (None, None)


def test_a_warning_names_the_partitions_that_stay_silent() -> None:
    part = silent(first_output_s=0.05, partitions=4, partitions_silent=1)
    assert recovery.silent_warnings(
        [part, silent(partitions=4, partitions_silent=4), silent(partitions_silent=None)]
    ) == ["1 of 4 output partitions produced no output any more after the fault 'kill engine at 5s'"]


def test_gaps() -> None:
    moments = np.array([100, 200, 500, 600, 1600])
    assert longest_gap_before(moments, 100, 600) == 300
    assert longest_gap_before(moments, 100, 150) is None
    gap = longest_gap_after(moments, 250.0, 1000.0, 9000.0)
    assert (gap.begin_ms, gap.end_ms, gap.length_ms) == (600, 1600, 1000)
    spanning = longest_gap_after(moments, 250.0, 550.0, 9000.0)
    assert (spanning.begin_ms, spanning.end_ms) == (200, 500)
    last = longest_gap_after(moments, 250.0, 2000.0, 9000.0)
    assert (last.begin_ms, last.end_ms, last.length_ms) == (1600, None, 7400)
    nothing = longest_gap_after(moments[:0], 250.0, 2000.0, 9000.0)
    assert (nothing.begin_ms, nothing.end_ms, nothing.length_ms) == (250, None, 8750)
    too_late = longest_gap_after(moments, 250.0, 100.0, 9000.0)
    assert (too_late.begin_ms, too_late.end_ms) == (200, 500)


@given(
    st.sets(st.integers(1000, 20_000), min_size=2, max_size=60).map(sorted),
    st.integers(1000, 20_000),
)
def test_an_outage_is_no_shorter_than_the_gap_that_spans_the_fault(moments: list[int], fault_ms: int) -> None:
    outputs_ms = np.array(moments)
    gap = longest_gap_after(outputs_ms, fault_ms, 21_000, 27_000)
    later = outputs_ms[outputs_ms > fault_ms]
    following = later[0] if len(later) else 27_000
    earlier = outputs_ms[outputs_ms <= fault_ms]
    assert gap.length_ms >= following - (earlier[-1] if len(earlier) else fault_ms)
    assert gap.end_ms is None or gap.end_ms > fault_ms


def record(**changes: Any) -> dict[str, Any]:
    return {
        "fault": "pause engine for 2s at 5s",
        "verb": "pause",
        "role": "engine",
        "planned_ns": at(6.0),
        "acted_ns": at(6.001),
        "ended_ns": at(8.003),
        "took_effect": True,
        "why_not": None,
    } | changes


def with_faults(*records: dict[str, Any]) -> Facts:
    processes = [{"role": role, "group": role} for role in ("broker", "engine", "load")]
    return dataclasses.replace(
        facts(measured_s=MEASURED_S)[0],
        outcome=Outcome.blank().with_changes(faults=records),
        manifest=manifest(processes=processes),
    )


def test_results_that_the_first_fault_delayed_are_no_former_ones() -> None:
    """Of second 5 one result was answered in second 8, after the fault in second 6."""
    with_fault = with_faults(record())
    assert with_fault.moments is not None
    rows = [row(second=second, answered=second, total=10 * second) for second in range(1, 8)]
    rows.append(row(second=5, answered=8, total=3000))
    of = Seen.of(with_fault, with_fault.moments, tally(*rows), "total", [outputs((1, 26))], np.zeros(27, np.int64))
    assert of.settled_s == 5
    assert of.latencies_ms[:8] == [None, 10, 20, 30, 40, pytest.approx(50 + 0.99 * 2950), 60, 70]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, []),
        ({"acted_ns": at(7.0)}, []),
        ({"acted_ns": at(7.3)}, ["the fault 'pause engine for 2s at 5s' acted 1.3 s late; the limit is 1 s"]),
        (
            {"took_effect": False, "acted_ns": None, "why_not": "engine was not running"},
            ["the fault 'pause engine for 2s at 5s' did not take effect: engine was not running"],
        ),
        ({"verb": "pause", "role": "broker"}, []),
        ({"verb": "kill"}, []),
        (
            {"verb": "kill", "role": "broker", "fault": "kill broker at 5s"},
            [
                "the fault 'kill broker at 5s' killed a process that is not under test: nothing can be measured "
                "without it"
            ],
        ),
        ({"verb": "kill", "role": "broker", "restarted_ns": at(7.0)}, []),
        ({"verb": "kill", "role": "driver", "restarted_ns": at(7.0)}, []),
        ({"verb": "cut"}, []),
        (
            {"verb": "cut", "role": "load", "fault": "cut load from broker for 2s at 5s"},
            ["the fault 'cut load from broker for 2s at 5s' kept the load from the broker: its records arrived late"],
        ),
    ],
)
def test_what_makes_a_run_invalid(changes: dict[str, Any], reasons: list[str]) -> None:
    assert recovery.reasons(with_faults(record(**changes))) == reasons


@pytest.mark.parametrize("why_not", ["the run was over before its moment", "taskmanager-1 was not running"])
def test_a_system_that_an_earlier_fault_ended_left_nothing_to_act_on(why_not: str) -> None:
    """That it did not survive is the finding: FAILED."""
    pending = record(fault="kill load at 9s", took_effect=False, acted_ns=None, ended_ns=None, why_not=why_not)
    ended = [{"role": "jobmanager", "group": "engine", "exit_code": 137, "log_tail": ""}]
    both = with_faults(record(), pending)
    fatal = dataclasses.replace(both, outcome=both.outcome.with_changes(ended=ended))
    assert recovery.reasons(fatal) == []
    assert recovery.reasons(both) == [f"the fault 'kill load at 9s' did not take effect: {why_not}"]
    alone = dataclasses.replace(fatal, outcome=fatal.outcome.with_changes(faults=[pending]))
    assert len(recovery.reasons(alone)) == 1, "it ended by itself"


def test_a_fault_without_effect_has_no_figures() -> None:
    with_two = with_faults(record(), record(took_effect=False, acted_ns=None, ended_ns=None, why_not="it was gone"))
    of = seen(outputs((1, 6), (8.1, 26)), {}, {})
    first, second = recovery.measure(with_two, with_two.moments, of)
    assert (first.planned_s, first.acted_s, first.ended_s) == (5.0, 5.001, 7.003)
    assert first.outage_s == 2.2 and first.latency == "total"
    assert second.why_not == "it was gone" and second.outage_s is None and second.acted_s is None


@pytest.mark.parametrize("ahead_ms", [0.0, 3000.0, -3000.0])
def test_an_outage_is_the_same_by_a_clock_that_differs(ahead_ms: float) -> None:
    """The broker stamped the results, the fault has its moment by this machine's clock."""
    with_fault = with_faults(record())
    stamped = outputs((1, 6), (8.1, 26)) + round(ahead_ms)
    rows = tally(*(row(second=second, answered=second, total=10) for second in range(1, 6)))
    figures: Any = SimpleNamespace(
        stamps=SimpleNamespace(output_moments_ms=[stamped]),
        transport_bound=Bound(ahead_ms - 0.5, ahead_ms + 0.5),
        tally=rows,
        kind="total",
        backlog=np.zeros(27, np.int64),
    )
    seen_by_own_clock = evaluation._recovery(with_fault, figures, None)
    (only,) = recovery.measure(with_fault, with_fault.moments, seen_by_own_clock)
    assert (only.outage_s, only.first_output_s) == (2.2, 2.099)


def test_a_fault_ends_when_its_process_is_usable_again() -> None:
    killed = with_faults(record(verb="kill", number=1, restarted_ns=at(7.0), ended_ns=at(9.5)))
    (only,) = recovery.measure(killed, killed.moments, seen(outputs((1, 6), (9.6, 26)), {}, {}))
    assert (only.number, only.acted_s, only.restarted_s, only.ended_s) == (1, 5.001, 6.0, 8.5)
    assert (only.outage_s, only.first_output_s) == (3.7, 3.599)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({}, "nothing lost, nothing duplicated"),
        ({"lost": 603}, "603 of 6,000 results lost, nothing duplicated"),
        ({"duplicates": 1200}, "nothing lost, 1,200 duplicates"),
        (
            {"lost": 1, "duplicates": 2, "unfinished": 3},
            "1 of 6,000 results lost, 2 duplicates, 3 unfinished",
        ),
        ({"wrong": 301, "unexpected": 14}, "nothing lost, 301 wrong, 14 unexpected"),
        ({"unfinished": 3}, "nothing duplicated, 3 unfinished"),
    ],
)
def test_which_guarantee_held(counts: Mapping[str, int], sentence: str) -> None:
    none = dict.fromkeys(("lost", "duplicates", "unfinished", "wrong", "unexpected"), 0)
    results = {"expected": 6000, **none, **counts}
    assert recovery.guarantee(with_faults(record()), results) == sentence
    assert recovery.guarantee(with_faults(), results) is None
    assert recovery.guarantee(with_faults(record(took_effect=False, acted_ns=None)), results) is None
    assert recovery.guarantee(with_faults(record()), {**results, "expected": 0}) is None


def test_a_run_whose_load_never_started() -> None:
    unstarted = with_faults(record(planned_ns=None, acted_ns=None, ended_ns=None, took_effect=False, why_not="over"))
    (only,) = recovery.measure(unstarted, None, None)
    assert (only.planned_s, only.outage_s, only.took_effect) == (None, None, False)


def test_without_faults_nothing_is_said() -> None:
    nothing = with_faults()
    assert (recovery.reasons(nothing), recovery.warnings(nothing)) == ([], [])
    assert recovery.measure(nothing, nothing.moments, None) == []


@pytest.fixture
def golden(tmp_path: Path) -> RunDir:
    shutil.copytree(GOLDEN, tmp_path / "run")
    return RunDir.open(tmp_path / "run")


def drifting() -> Any:
    """The golden run has 8 s from second 2 on; each second is slower than the one before."""
    rows = [
        row(second=second, part=(second - 2) * 20 // 8, appended=second, answered=second, total=100 + 8 * second)
        for second in range(2, 10)
    ]
    return tally(*rows)


def test_the_summary_of_a_run_without_faults_does_not_speak_of_them(golden: RunDir) -> None:
    summary = evaluation._evaluate(golden, Facts.read(golden), drifting(), recorded=True)
    assert summary.state == "drifting"
    assert not {"faults", "guarantee"} & summary.as_json().keys()


def test_a_run_with_faults_is_not_called_drifting(golden: RunDir) -> None:
    moments = Facts.read(golden).moments
    assert moments is not None
    begin_ns = moments.measured_start_ns
    acted = record(planned_ns=begin_ns + NS_PER_S, acted_ns=begin_ns + NS_PER_S, ended_ns=begin_ns + 2 * NS_PER_S)
    change(golden.outcome_path, faults=[acted])
    summary = evaluation._evaluate(golden, Facts.read(golden), drifting(), recorded=True)
    assert (summary.verdict, summary.state) == ("VALID", "steady")
    assert any("drift is not checked" in warning for warning in summary.warnings)
    assert not any("--warmup" in warning for warning in summary.warnings)
    (only,) = summary.faults
    assert summary.guarantee == "nothing lost, nothing duplicated"
    assert (only.acted_s, only.ended_s) == (1.0, 2.0)
    assert only.outage_s > 0
    assert (only.partitions, only.partitions_judged) == (2, 2)
    assert only.outage_worst_s >= only.outage_s
    again = evaluation._evaluate(golden, Facts.read(golden), drifting(), recorded=True)
    assert again == summary


def test_a_fault_without_effect_spoils_the_run(golden: RunDir) -> None:
    change(golden.outcome_path, faults=[record(took_effect=False, acted_ns=None, why_not="gone")])
    summary = evaluation._evaluate(golden, Facts.read(golden), drifting(), recorded=True)
    assert summary.verdict == "INVALID"
    assert summary.reasons == ["the fault 'pause engine for 2s at 5s' did not take effect: gone"]


def silent(**changes: Any) -> FaultFigures:
    """What the summary says of a fault after which nothing came out."""
    plain = {"fault": "kill engine at 5s", "verb": "kill", "role": "engine", "took_effect": True, "why_not": None}
    return FaultFigures.model_validate({**plain, "acted_s": 5.0, "latency": "total", "first_output_s": None, **changes})


def test_a_system_that_stays_silent_has_failed() -> None:
    """It neither died nor lost anything for certain: its results are unfinished."""
    assert recovery.failures([silent()], 70) == [
        "no output after the fault 'kill engine at 5s': 70 results are unfinished"
    ]
    assert recovery.failures([silent(), silent(acted_s=9.0, first_output_s=0.3)], 70) == []
    assert recovery.failures([silent(acted_s=9.0), silent(first_output_s=0.3)], 70) != []
    assert recovery.failures([silent()], 0) == []
    assert recovery.failures([silent(took_effect=False, acted_s=None)], 70) == []
    assert recovery.failures([silent(latency=None)], 70) == [], "nothing was recorded: that is told otherwise"
    assert recovery.failures([silent(latency=None, acted_s=None)] * 2, 70) == [], "an interrupted run has no moments"
    assert recovery.failures([], 70) == []


@pytest.mark.parametrize(("gap_before_s", "warned"), [(None, True), (0.4, False)])
def test_a_fault_before_any_output_has_nothing_to_be_compared_with(gap_before_s: float | None, warned: bool) -> None:
    measured: Any = [SimpleNamespace(outage_s=3.0, gap_before_s=gap_before_s)]
    assert recovery.baseline_warnings(measured) == ([notice("no-output-before-fault")] if warned else [])
    assert recovery.baseline_warnings([]) == []
