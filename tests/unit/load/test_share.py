"""Several workers divide one plan exactly."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.load.buffer import RecordBuffer
from streamgauge.load.share import Share
from streamgauge.model import NS_PER_S, LoadPlan
from streamgauge.workloads.traffic.data import Traffic


@settings(deadline=None)
@given(records=st.integers(1, 2_000), of=st.integers(1, 7), block=st.integers(1, 130))
def test_no_record_is_missing_and_none_is_sent_twice(records: int, of: int, block: int) -> None:
    plan = LoadPlan(records, 0.0, 1.0, 0.0)
    shares = [Share(plan, index, of, block) for index in range(of)]
    numbers = [share.n_seq(own) for share in shares for own in range(share.records)]
    assert sorted(numbers) == list(range(records))


@settings(deadline=None)
@given(of=st.integers(1, 5), block=st.integers(1, 50), elapsed_ns=st.integers(-10, 2 * NS_PER_S))
def test_the_due_records_of_all_workers_add_up(of: int, block: int, elapsed_ns: int) -> None:
    plan = LoadPlan(333, 0.0, 2.0, 0.0)
    shares = [Share(plan, index, of, block) for index in range(of)]
    due = [share.count_before(elapsed_ns) for share in shares]
    assert sum(due) == plan.count_before(elapsed_ns)
    for share, count in zip(shares, due, strict=True):
        assert count == sum(share.offset_ns(own) < elapsed_ns for own in range(share.records))


def test_each_worker_builds_its_own_blocks_only() -> None:
    plan = LoadPlan(1_000, 0.0, 1.0, 0.0)
    dataset, built = Traffic(1, 5), []
    for index in range(3):
        share = Share(plan, index, 3, 60)
        buffer = RecordBuffer(dataset, share)
        own = 0
        while own < share.records:
            first = share.n_seq(own)
            reach = buffer.reach(first)
            assert 0 < reach <= 60
            for part in buffer.cut(first + reach).values():
                built += list(zip(*part[:3], strict=True))
            own += reach
    whole = [record for part in dataset.build(0, 1_000).values() for record in zip(*part[:3], strict=True)]
    assert sorted(built) == sorted(whole)
