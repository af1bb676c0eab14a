"""Running results of one slice after the other, judged as in one piece; and by hand."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tallies

from streamgauge.evaluate.slices.carried import Carried, Judged, judge
from streamgauge.evaluate.slices.whole import Whole
from streamgauge.evaluate.tally import MATCHED, MISSING, WRONG
from streamgauge.model.slices import SliceFigures
from streamgauge.rundir import RunDir

Contribution = tuple[str, int, int]
"""Key, record, when it was appended."""
Result = tuple[str | None, int | None, int]
"""Key, n, when it was emitted."""


def contributions(rows: list[Contribution]) -> pa.Table:
    columns: dict[str, Any] = {
        "key": pa.array([row[0] for row in rows], pa.string()),
        "n_seq": pa.array([row[1] for row in rows], pa.int64()),
        "appended_ms": pa.array([row[2] for row in rows], pa.int64()),
        "partition": pa.array([row[1] % 2 for row in rows], pa.int32()),
        "offset": pa.array([row[1] // 2 for row in rows], pa.int64()),
        "intended_ns": pa.array([row[2] * 10**6 for row in rows], pa.int64()),
        "partition_bit": pa.array([1 << row[1] % 2 for row in rows], pa.int64()),
    }
    return pa.table(columns)


def results(rows: list[Result]) -> pa.Table:
    return pa.table(
        {
            "key": pa.array([row[0] for row in rows], pa.string()),
            "n": pa.array([row[1] for row in rows], pa.int64()),
            "emitted_ms": pa.array([row[2] for row in rows], pa.int64()),
            "place": pa.array(range(len(rows)), pa.int64()),
        }
    )


def in_slices(given: list[Contribution], found: list[Result], cuts_ms: list[int]) -> list[Judged]:
    judged: list[Judged] = []
    from_ms = -1
    for until_ms in [*cuts_ms, 10**9]:
        judged.append(
            judge(
                contributions([row for row in given if from_ms <= row[2] < until_ms]),
                results([row for row in found if from_ms <= row[2] < until_ms]),
                judged[-1].carried if judged else Carried.none(),
                last=until_ms == 10**9,
            )
        )
        from_ms = until_ms
    return judged


def decided(judged: list[Judged]) -> Counter[tuple[int, int, int | None]]:
    """Records by fate, append and answer."""
    return Counter(
        row
        for one in judged
        for row in zip(
            *(one.records.column(name).to_pylist() for name in ("fate", "appended_max_ms", "answered_ms")), strict=True
        )
    )


def duplicates(judged: list[Judged]) -> int:
    return sum(one.repeated + int(np.sum(one.records.column("duplicates").to_numpy())) for one in judged)


def outputs(judged: list[Judged]) -> int:
    return sum(one.repeated + int(np.sum(one.records.column("outputs").to_numpy())) for one in judged)


def invented(seed: int) -> tuple[list[Contribution], list[Result]]:
    """Records of up to three words; a count now and then, some lost, some late, one word counted once too often."""
    chance = random.Random(seed)
    given: list[Contribution] = []
    for record in range(200):
        appended_ms = 10 * record + chance.randrange(8)
        given += [(chance.choice("abcd"), record, appended_ms) for _ in range(chance.randint(1, 3))]
    found: list[Result] = []
    counts: Counter[str] = Counter()
    total = Counter(key for key, record, _ in given if record % 50)
    now_ms = 0
    for key, record, appended_ms in sorted(given, key=lambda row: (row[2], row[1] % 2, row[1])):
        if record % 50 == 0:
            continue
        counts[key] += 1
        now_ms = max(now_ms, appended_ms + chance.choice((1, 5, 300)))
        if chance.random() < 0.6 or counts[key] == total[key]:
            ahead = key == "d" and 20 < counts[key] < 40
            found.append((key, counts[key] + ahead, now_ms))
    found += [("a", None, 700), (None, 3, 800), ("nobody", 1, 900), ("b", 10**6, 1000), ("c", 0, 1100)]
    return given, sorted(found, key=lambda row: row[2])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cuts_ms", [[500], [301, 302, 900, 1500], list(range(50, 2500, 50))])
def test_slices_give_what_one_piece_gives(seed: int, cuts_ms: list[int]) -> None:
    given, found = invented(seed)
    whole, sliced = in_slices(given, found, []), in_slices(given, found, cuts_ms)
    assert decided(sliced) == decided(whole)
    assert (duplicates(sliced), outputs(sliced)) == (duplicates(whole), outputs(whole))
    assert len({fate for fate, _, _ in decided(whole)}) > 1, "something is missing or wrong"


def test_a_record_is_answered_when_all_of_its_words_are() -> None:
    """By hand: record 0 has a and b. The count of a comes in the first slice, that of b in the second."""
    given = [("a", 0, 5), ("b", 0, 5), ("a", 1, 7)]
    found: list[Result] = [("a", 1, 8), ("b", 1, 12), ("a", 2, 14)]
    first, second = in_slices(given, found, [10])
    assert first.records.num_rows == 0
    assert first.open_records == 2
    assert decided([second]) == {(MATCHED, 5, 12): 1, (MATCHED, 7, 14): 1}


def test_one_count_answers_all_before_it_at_once() -> None:
    given = [("a", n, n) for n in range(5)]
    (only,) = in_slices(given, [("a", 3, 20), ("a", 5, 30)], [])
    assert decided([only]) == {**{(MATCHED, n, 20): 1 for n in range(3)}, (MATCHED, 3, 30): 1, (MATCHED, 4, 30): 1}


def test_a_count_that_is_ahead_waits_for_its_contribution() -> None:
    first, second = in_slices([("a", 0, 5), ("a", 1, 15)], [("a", 2, 8)], [10])
    assert first.carried.early.num_rows == 1 and first.records.num_rows == 0
    assert decided([second]) == {(MATCHED, 5, 8): 1, (MATCHED, 15, 8): 1}


def test_a_count_of_an_earlier_slice_is_a_duplicate() -> None:
    _, second = in_slices([("a", 0, 5), ("a", 1, 6)], [("a", 1, 7), ("a", 2, 8), ("a", 1, 12), ("a", 2, 13)], [10])
    assert second.repeated == 2


def test_what_a_smaller_last_count_no_longer_counts_is_lost() -> None:
    """The engine began anew after the first slice: 2 of 4 are no longer counted."""
    given = [("a", n, n) for n in range(4)]
    _, second = in_slices(given, [("a", 4, 8), ("a", 1, 12), ("a", 2, 13)], [10])
    assert (second.lost_later, second.wrong_later) == (2, 0)


def test_not_more_records_are_lost_than_there_were() -> None:
    """100 records of three words are answered in the first slice; the engine then loses its state and counts 1."""
    given = [(word, n, n) for n in range(100) for word in "abc"]
    found: list[Result] = [(word, n, at_ms) for n, at_ms in ((100, 150), (1, 250)) for word in "abc"]
    first, second = in_slices(given, found, [200])
    assert (first.records.num_rows, second.lost_later, second.wrong_later) == (100, 297, 0)
    facts, _ = tallies.facts()
    whole = Whole(RunDir(Path("run")), facts, [figures(1), figures(2, lost_later=second.lost_later)], 0)
    vars(whole)["tally"] = tallies.tally(*(tallies.row() for _ in range(100)))
    counted = whole.results()
    assert (counted["expected"], counted["matched"], counted["lost"]) == (100, 0, 100)


def figures(number: int, **changes: int) -> SliceFigures:
    names = ("inputs", "outputs", "appended_measured", "output_measured", "repeated", "sent_measured", "sent_inside")
    counts = dict.fromkeys((*names, "errors", "errors_measured", "took_s"), 0)
    moments = dict.fromkeys(("until_ms", "first_output_ms", "last_output_ms"))
    return SliceFigures(number=number, last=number == 2, gaps_ms=[], **{**counts, **moments, **changes})


def test_a_last_count_that_is_too_large_makes_the_last_record_wrong() -> None:
    """Decided in an earlier slice, or not yet."""
    given = [("a", n, n) for n in range(4)]
    _, second = in_slices(given, [("a", 4, 8), ("a", 9, 12)], [10])
    assert (second.lost_later, second.wrong_later) == (0, 1)
    (only,) = in_slices(given, [("a", 4, 8), ("a", 9, 12)], [])
    assert only.wrong_later == 0
    assert decided([only])[(WRONG, 3, 8)] == 1


def test_a_word_without_any_count_is_missing() -> None:
    _, second = in_slices([("a", 0, 1), ("b", 1, 2)], [("b", 1, 3)], [10])
    assert decided([second]) == {(MISSING, 1, None): 1}


def test_slices_without_anything() -> None:
    judged = in_slices([("a", 0, 15)], [("a", 1, 16)], [5, 10, 20, 30])
    assert [one.records.num_rows for one in judged] == [0, 0, 1, 0, 0]
