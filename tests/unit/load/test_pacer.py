"""The pacer: every record once, none early, and all late ones caught up after a stall."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.load.pacer import MAX_SLICE, SLICE_NS, Pacer
from streamgauge.load.share import Share
from streamgauge.model import NS_PER_S, LoadPlan

START_NS = 1_700_000_000 * NS_PER_S


class Clock:
    """Advances only when set."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def plan_of(rate_per_s: int, seconds: float) -> LoadPlan:
    return LoadPlan(rate_per_s, warmup_s=0.0, measured_s=seconds, tail_s=0.0)


def alone(plan: LoadPlan) -> Share:
    return Share(plan, index=0, of=1, block=100)


def walk(pacer: Pacer, clock: Clock, delays_ns: list[int]) -> list[tuple[int, range]]:
    """Take every slice; each wait oversleeps, and each hand-over takes, the next of the delays, then none."""
    records = []
    delays = iter(delays_ns)
    while not pacer.done:
        if idle_ns := pacer.idle_ns():
            clock.now_ns += idle_ns + next(delays, 0)
        slice_ = pacer.take()
        if slice_:
            records.append((clock.now_ns, slice_))
            clock.now_ns += next(delays, 0)
    return records


plans = st.builds(plan_of, st.integers(1, 20_000), st.floats(0.01, 0.5))
delays = st.lists(st.integers(0, 2_000_000) | st.integers(0, NS_PER_S), max_size=200)


@settings(deadline=None)
@given(plans, delays, st.integers(-NS_PER_S, NS_PER_S))
def test_every_record_leaves_once_in_order_and_none_early(plan: LoadPlan, delays_ns: list[int], begins_ns: int) -> None:
    clock = Clock(START_NS + begins_ns)
    slices = walk(Pacer(alone(plan), START_NS, clock), clock, delays_ns)
    assert [n for _, slice_ in slices for n in slice_] == list(range(plan.records))
    for now_ns, slice_ in slices:
        assert now_ns >= START_NS + plan.offset_ns(slice_[-1])
        assert len(slice_) <= MAX_SLICE


@settings(deadline=None)
@given(plans, delays)
def test_after_a_stall_all_late_records_are_sent_before_any_wait(plan: LoadPlan, delays_ns: list[int]) -> None:
    clock = Clock(START_NS)
    pacer = Pacer(alone(plan), START_NS, clock)
    stalls = iter(delays_ns)
    while not pacer.done:
        clock.now_ns += pacer.idle_ns() + next(stalls, 0)
        owed = min(plan.records, plan.count_before(clock.now_ns - START_NS + 1))
        while pacer.taken_records < owed:
            assert pacer.idle_ns() == 0
            assert pacer.take()


@settings(deadline=None)
@given(plans)
def test_without_a_stall_records_wait_at_most_one_slice(plan: LoadPlan) -> None:
    clock = Clock(START_NS)
    slices = walk(Pacer(alone(plan), START_NS, clock), clock, [])
    for now_ns, slice_ in slices:
        assert now_ns - (START_NS + plan.offset_ns(slice_[0])) <= SLICE_NS
    for (before_ns, _), (after_ns, slice_) in pairwise(slices):
        assert after_ns - before_ns <= max(SLICE_NS, START_NS + plan.offset_ns(slice_[0]) - before_ns)


def test_oversleeping_does_not_shift_the_grid() -> None:
    clock = Clock(START_NS)
    slices = walk(Pacer(alone(plan_of(100_000, 1.0)), START_NS, clock), clock, [60_000] * 5_000)
    assert len(slices) >= 999


def test_a_rare_record_leaves_when_it_is_due() -> None:
    clock = Clock(START_NS)
    plan = plan_of(400, 1.0)
    for now_ns, slice_ in walk(Pacer(alone(plan), START_NS, clock), clock, []):
        assert len(slice_) == 1
        assert now_ns == START_NS + plan.offset_ns(slice_[0])


def test_nothing_leaves_before_the_start() -> None:
    clock = Clock(START_NS - 1)
    pacer = Pacer(alone(plan_of(1_000_000, 1.0)), START_NS, clock)
    assert not pacer.take()
    clock.now_ns = START_NS
    assert pacer.take() == range(1)


def test_a_caller_may_take_less_than_is_due() -> None:
    clock = Clock(START_NS + NS_PER_S)
    pacer = Pacer(alone(plan_of(1_000, 1.0)), START_NS, clock)
    assert pacer.take(limit=10) == range(10)
    assert pacer.idle_ns() == 0
    assert pacer.take(limit=5) == range(10, 15)


@settings(deadline=None)
@given(plans, st.integers(-NS_PER_S, NS_PER_S), st.integers(0, 300))
def test_a_plan_that_is_cut_off_drops_the_later_records(plan: LoadPlan, end_ns: int, already_taken: int) -> None:
    clock = Clock(START_NS + NS_PER_S)
    pacer = Pacer(alone(plan), START_NS, clock)
    already = len(pacer.take(limit=already_taken))
    pacer.end_at(START_NS + end_ns)
    walk(pacer, clock, [])
    assert pacer.taken_records == max(already, plan.count_before(end_ns))
