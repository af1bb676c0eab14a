"""The buffer: built ahead, bounded, and cut into slices without loss."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.load.buffer import (
    BLOCK_MAX,
    BLOCK_MIN,
    BLOCKS_AHEAD,
    BURST_AHEAD_MAX,
    RecordBuffer,
    block_size,
    blocks_ahead,
)
from streamgauge.load.share import Share
from streamgauge.model import LoadPlan
from streamgauge.workloads.traffic.data import Traffic


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
    buffer = RecordBuffer(dataset, share_of(records, block))
    sent: dict[str, list[tuple[int, bytes, bytes]]] = {"flow": [], "speed": []}
    first, turn = 0, 0
    while first < records:
        if ahead:
            buffer.add()
        end = first + min(wishes[turn % len(wishes)], buffer.reach(first))
        assert end > first
        slice_ = buffer.cut(end)
        assert sorted(n_seq for part in slice_.values() for n_seq in part.n_seq) == list(range(first, end))
        for stream, part in slice_.items():
            sent[stream] += zip(*part[:3], strict=True)
        first, turn = end, turn + 1
    whole = dataset.build(0, records)
    assert sent == {stream: list(zip(*part[:3], strict=True)) for stream, part in whole.items()}
    assert buffer.reach(records) == 0


def test_no_more_than_a_few_blocks_are_held() -> None:
    buffer = RecordBuffer(Traffic(1, 5), share_of(10**6, 10))
    assert sum(buffer.add() for _ in range(50)) == BLOCKS_AHEAD


@pytest.mark.parametrize(("rate_per_s", "records"), [(1, BLOCK_MIN), (100_000, 1_000), (10**7, BLOCK_MAX)])
def test_a_block_is_about_ten_milliseconds_of_load(rate_per_s: int, records: int) -> None:
    assert block_size(rate_per_s) == records


BURSTS = LoadPlan(400, 0.0, 60.0, 0.0, "periodic-burst", burst_records=38_000, burst_s=0.175, burst_every_s=10.0)
BACKLOG = LoadPlan(400, 30.0, 60.0, 0.0, "single-burst", burst_records=1_800_000, burst_s=300.0)


@pytest.mark.parametrize("of", [1, 3])
def test_a_whole_burst_is_built_before_it_begins(of: int) -> None:
    """Each of several workers holds its part."""
    block = block_size(BURSTS.busiest_per_s)
    buffer = RecordBuffer(Traffic.for_rate(1, 400), Share(BURSTS, 0, of, block))
    built = block * sum(buffer.add() for _ in range(1000))
    (burst, *_) = BURSTS.bursts
    assert burst.records / of <= built < burst.records / of + 2 * block


def test_only_bursts_are_held_whole_up_to_a_limit() -> None:
    assert blocks_ahead(LoadPlan(100_000, 0.0, 60.0, 0.0), 1000) == BLOCKS_AHEAD
    assert blocks_ahead(BACKLOG, block_size(BACKLOG.busiest_per_s)) == 60, "of five minutes, a second"
    huge = LoadPlan(400, 0.0, 60.0, 0.0, "periodic-burst", burst_records=10**8, burst_s=0.5, burst_every_s=10.0)
    assert blocks_ahead(huge, BLOCK_MAX) == BURST_AHEAD_MAX // BLOCK_MAX
