"""Which reference rows count, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tallies import row, tally

from streamgauge.evaluate.tally import results


@pytest.mark.parametrize(
    ("running", "expected", "lost", "wrong"),
    [
        pytest.param(False, 2, 0, 0, id="each record has its own result: the tail does not count"),
        pytest.param(True, 4, 1, 1, id="a total that ends too low or wrong counts, wherever it shows"),
    ],
)
def test_the_tail_counts_where_it_shows_what_a_total_left_out(
    running: bool, expected: int, lost: int, wrong: int
) -> None:
    rows = [row(phase="warmup"), row(), *(row(phase="tail", fate=fate) for fate in ("matched", "lost", "wrong"))]
    counted = results(replace(tally(*rows), running=running))
    assert (counted["expected"], counted["matched"]) == (expected, 2)
    assert (counted["lost"], counted["wrong"]) == (lost, wrong)


def test_an_unfinished_total_of_the_tail_is_not_a_loss() -> None:
    counted = results(replace(tally(row(), row(phase="tail", fate="unfinished")), running=True))
    assert (counted["expected"], counted["lost"], counted["unfinished"]) == (1, 0, 0)
