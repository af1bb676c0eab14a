from hypothesis import given
from hypothesis import strategies as st

from streamgauge.model import NS_PER_S, LoadPlan


def plan(rate: int, measured_s: float = 30.0) -> LoadPlan:
    return LoadPlan(rate_per_s=rate, warmup_s=10.0, measured_s=measured_s, tail_s=0.5)


def test_hand_worked_plan() -> None:
    at_400 = plan(400)
    assert at_400.offset_ns(0) == 0
    assert at_400.offset_ns(1) == 2_500_000
    assert at_400.offset_ns(400) == NS_PER_S
    assert at_400.count_before(0) == 0
    assert at_400.count_before(1) == 1
    assert at_400.count_before(2_500_000) == 1
    assert at_400.count_before(2_500_001) == 2
    assert at_400.records == 16_200


@given(rate=st.integers(1, 10_000_000), elapsed_ns=st.integers(-5, 40 * NS_PER_S))
def test_count_is_the_inverse_of_the_offset(rate: int, elapsed_ns: int) -> None:
    load = plan(rate)
    count = load.count_before(elapsed_ns)
    assert count == 0 or load.offset_ns(count - 1) < elapsed_ns
    assert load.offset_ns(count) >= elapsed_ns or elapsed_ns <= 0
