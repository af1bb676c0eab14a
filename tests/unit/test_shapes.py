"""Load plans of every shape: number → time and back, exactly."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.shapes import NS_PER_MS, NS_PER_S, LoadPlan

SHAPES: dict[str, dict[str, Any]] = {
    "constant": {},
    "steps": {"steps_per_s": (100, 300, 200)},
    "ramp": {"to_per_s": 1000},
    "single-burst": {"burst_records": 5000, "burst_s": 2.0},
    "periodic-burst": {"burst_records": 700, "burst_s": 0.175, "burst_every_s": 5.0},
    "fluctuating": {"to_per_s": 100},
}


def make(
    shape: str,
    arrivals: str = "even",
    rate: int = 400,
    seed: int = 1,
    measured_s: float = 30.0,
    rising_warmup: bool = False,
) -> LoadPlan:
    values: dict[str, Any] = {"shape": shape, "arrivals": arrivals, "seed": seed, **SHAPES[shape]}
    return LoadPlan(rate, 2.0, measured_s, 0.5, rising_warmup=rising_warmup and "burst" not in shape, **values)


plans = st.builds(
    make,
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(["even", "poisson"]),
    rate=st.integers(1, 3_000),
    seed=st.integers(0, 2**60),
    measured_s=st.floats(1.0, 30.0),
    rising_warmup=st.booleans(),
)


@settings(deadline=None, max_examples=60)
@given(plans, st.lists(st.integers(-5, 35 * NS_PER_S), max_size=30))
def test_counts_and_moments_are_inverses(plan: LoadPlan, moments_ns: list[int]) -> None:
    n_seq = np.arange(plan.records)
    offsets = plan.offsets_ns(n_seq)
    assert (np.diff(offsets) >= 0).all(), "records leave in the order of their numbers"
    assert plan.records == 0 or (offsets[0] >= 0 and offsets[-1] < plan.duration_s * NS_PER_S)
    for moment_ns in moments_ns:
        assert plan.count_before(moment_ns) == int((offsets < moment_ns).sum())
    for n in range(0, plan.records, max(1, plan.records // 50)):
        assert plan.offset_ns(n) == offsets[n]
    assert sum(plan.per_second()) == plan.records


@given(st.sampled_from(sorted(SHAPES)), st.sampled_from(["even", "poisson"]))
def test_a_plan_survives_the_manifest_and_another_process(shape: str, arrivals: str) -> None:
    plan = make(shape, arrivals)
    offsets = plan.offsets_ns(np.arange(50))
    assert LoadPlan.from_json(json.loads(json.dumps(asdict(plan)))) == plan
    assert (pickle.loads(pickle.dumps(plan)).offsets_ns(np.arange(50)) == offsets).all()


def test_a_manifest_of_an_earlier_version_is_a_constant_load() -> None:
    plan = LoadPlan.from_json({"rate_per_s": 7, "warmup_s": 1.0, "measured_s": 2.0, "tail_s": 0.1})
    assert (plan.shape, plan.arrivals, plan.records) == ("constant", "even", 22)


def test_hand_worked_shapes() -> None:
    steps = make("steps").per_second()
    assert (steps[:2], steps[2:12], steps[12:22], steps[22:32]) == ([100] * 2, [100] * 10, [300] * 10, [200] * 10)
    ramp = make("ramp").per_second()
    assert ramp[:3] == [400, 400, 410]
    assert ramp[31] == 990
    burst = make("single-burst").per_second()
    assert burst[:4] == [2500, 2500, 400, 400]
    fluctuating = make("fluctuating").per_second()
    assert (fluctuating[0], fluctuating[11], fluctuating[12], fluctuating[21], fluctuating[22]) == (
        400,
        400,
        100,
        100,
        400,
    )


@pytest.mark.parametrize("shape", ["constant", "steps", "ramp", "fluctuating"])
def test_a_rising_warm_up_does_not_change_the_rest(shape: str) -> None:
    flat = LoadPlan(400, 30.0, 30.0, 0.5, shape=shape, **SHAPES[shape])  # type: ignore[arg-type]
    rising = LoadPlan(400, 30.0, 30.0, 0.5, shape=shape, rising_warmup=True, **SHAPES[shape])  # type: ignore[arg-type]
    seconds, first = rising.per_second(), 100 if shape == "steps" else 400
    assert seconds[24:] == flat.per_second()[24:]
    rises = (first / 48, first * 25 / 48, first * 47 / 48)
    assert (seconds[0], seconds[12], seconds[23]) == pytest.approx(rises, abs=1)


def test_a_periodic_burst_has_its_records_within_its_width() -> None:
    plan = make("periodic-burst")
    for burst in range(1, 6):
        end_ns = burst * 5 * NS_PER_S
        inside = plan.count_before(end_ns) - plan.count_before(end_ns - 175 * NS_PER_MS)
        assert inside == 700 + 70, "the burst plus the base rate"


def test_poisson_arrivals_have_exponential_gaps() -> None:
    plan = make("constant", "poisson", rate=1_000, measured_s=200.0)
    gaps_ns = np.diff(plan.offsets_ns(np.arange(plan.records)))
    assert gaps_ns.mean() == pytest.approx(NS_PER_MS, rel=0.01)
    assert gaps_ns.std() == pytest.approx(NS_PER_MS, rel=0.03), "exponential gaps: as wide as their mean"
    other = make("constant", "poisson", rate=1_000, measured_s=200.0, seed=2)
    assert other.offset_ns(5) != plan.offset_ns(5)


@pytest.mark.parametrize(("rate", "measured_s"), [(100, 600.0), (1_000, 400.0), (20_000, 60.0)])
@pytest.mark.parametrize("shape", ["constant", "ramp"])
def test_the_variance_of_poisson_counts_is_their_mean(shape: str, rate: int, measured_s: float) -> None:
    """The counts of k windows, each with mean m: Σ (count − m)² / m has mean k and variance 2k + Σ 1/m.

    Four standard deviations: one correct process in 16,000 is outside, and the seed is fixed.
    """
    values: dict[str, Any] = {"shape": shape, "to_per_s": 2 * rate} if shape == "ramp" else {}
    plan = LoadPlan(rate, 0.0, measured_s, 0.0, arrivals="poisson", seed=7, **values)
    offsets_ms = plan.offsets_ns(np.arange(plan.records)) // NS_PER_MS
    for window_ms in (1, 10, 100):
        windows = round(measured_s * 1_000 / window_ms)
        counts = np.bincount(offsets_ms // window_ms, minlength=windows)
        middle_s = (np.arange(windows) + 0.5) * window_ms / 1_000
        per_s = rate * (1 + middle_s / measured_s) if shape == "ramp" else np.full(windows, rate)
        means = per_s * window_ms / 1_000
        ratio = float(((counts - means) ** 2 / means).mean())
        deviation = float(np.sqrt(2 * windows + (1 / means).sum())) / windows
        assert ratio == pytest.approx(1.0, abs=4 * deviation), f"in windows of {window_ms} ms"


def test_bursts_keep_their_records_with_poisson_arrivals() -> None:
    for shape in ("single-burst", "periodic-burst"):
        plan = make(shape, "poisson")
        for burst in plan.bursts:
            end_ns = burst.start_ns + burst.length_ns
            numbers = plan.count_before(burst.start_ns), plan.count_before(end_ns)
            assert numbers == (burst.first, burst.first + burst.records)


def test_a_run_of_an_earlier_version_keeps_its_arrivals() -> None:
    """Its records were sent at these times, so its latencies count from them."""
    content = asdict(LoadPlan(1_000, 0.0, 10.0, 0.0, arrivals="poisson", seed=3))
    del content["poisson_blocks"]
    early = LoadPlan.from_json(content)
    assert [early.count_before(round(n * 1.024 * NS_PER_S)) for n in range(1, 10)] == [1024 * n for n in range(1, 10)]
    assert [early.offset_ns(n) for n in (0, 1, 1023, 1024, 9999)] == [
        2_699_866,
        2_787_004,
        1_023_494_062,
        1_025_964_815,
        9_999_000_000,
    ]


def test_any_seed_makes_arrivals() -> None:
    for seed in (0, 2**63, 2**64, 2**70 + 1):
        assert LoadPlan(400, 1.0, 2.0, 0.5, arrivals="poisson", seed=seed).offset_ns(5) > 0


def test_an_unlimited_load_has_no_schedule() -> None:
    plan = LoadPlan(400, 1.0, 2.0, 0.5, shape="unlimited")
    assert not plan.scheduled
    assert plan.records == 1_400
    assert plan.offset_ns(1_399) == 0
    assert (plan.count_before(0), plan.count_before(1)) == (0, 1_400)


def test_a_long_and_fast_plan_does_not_overflow() -> None:
    plan = LoadPlan(1_000_000, 300.0, 1500.0, 1.0)
    last = plan.records - 1
    assert plan.offsets_ns(np.array([last]))[0] == plan.offset_ns(last) == last * 1_000


def test_bursts_and_the_busiest_second() -> None:
    single, periodic = make("single-burst"), make("periodic-burst")
    assert [(burst.start_ns, burst.first, burst.records) for burst in single.bursts] == [(0, 0, 5000)]
    # Every 5 s, at the end of each period, over 0.175 s × 400/s of the base rate.
    assert [burst.start_ns for burst in periodic.bursts] == [round((5 * n - 0.175) * NS_PER_S) for n in range(1, 7)]
    assert {burst.records for burst in periodic.bursts} == {770}
    assert (single.busiest_per_s, periodic.busiest_per_s) == (2500, 1100)
    assert (max(single.per_second()), max(periodic.per_second())) == (2500, 1100)
    for shape in ("constant", "steps", "ramp", "fluctuating"):
        assert (make(shape).bursts, make(shape).busiest_per_s) == ((), 400)


def test_no_records_have_no_moments() -> None:
    """A load whose worker left no ledger."""
    plan = LoadPlan(1000, 1.0, 10.0, 1.0, arrivals="poisson")
    assert plan.offsets_ns(np.zeros(0, np.int64)).tolist() == []
