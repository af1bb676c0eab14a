"""The stock: prepared ahead, bounded, and cut into slices without loss."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.datasets.traffic import Traffic
from streamgauge.load.share import Share
from streamgauge.load.stock import BLOCK_MAX, BLOCK_MIN, BLOCKS_AHEAD, Stock, block_size
from streamgauge.model import LoadPlan


def share_of(records: int, block: int, index: int = 0, of: int = 1) -> Share:
    return Share(LoadPlan(1, 0.0, float(records), 0.0), index, of, block)


@settings(deadline=None)
@given(
    records=st.integers(0, 300),
    block=st.integers(1, 60),
    wishes=st.lists(st.integers(1, 80), min_size=1),
    ahead=st.booleans(),
)
def test_every_record_leaves_once_in_order(records: int, block: int, wishes: list[int], ahead: bool) -> None:
    dataset = Traffic(1, 5)
    stock = Stock(dataset, share_of(records, block))
    taken: dict[str, list[tuple[int, bytes, bytes]]] = {"flow": [], "speed": []}
    first, turn = 0, 0
    while first < records:
        if ahead:
            stock.add()
        end = first + min(wishes[turn % len(wishes)], stock.reach(first))
        assert end > first
        slice_ = stock.cut(end)
        assert sorted(n_seq for part in slice_.values() for n_seq in part.n_seq) == list(range(first, end))
        for stream, part in slice_.items():
            taken[stream] += zip(*part, strict=True)
        first, turn = end, turn + 1
    whole = dataset.build(0, records)
    assert taken == {stream: list(zip(*part, strict=True)) for stream, part in whole.items()}
    assert stock.reach(records) == 0


def test_no_more_than_a_few_blocks_are_held() -> None:
    stock = Stock(Traffic(1, 5), share_of(10**6, 10))
    assert sum(stock.add() for _ in range(50)) == BLOCKS_AHEAD


@pytest.mark.parametrize(("rate_per_s", "records"), [(1, BLOCK_MIN), (100_000, 1_000), (10**7, BLOCK_MAX)])
def test_a_block_is_about_ten_milliseconds_of_load(rate_per_s: int, records: int) -> None:
    assert block_size(rate_per_s) == records
