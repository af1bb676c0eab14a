"""When a probe is ended early: on series as engines really show them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.campaigns.referee import ProbeReferee, may_have_lost
from streamgauge.measure.lag import Lag, Lags
from streamgauge.measure.reporter import LoadObservation, ProbeDecision
from streamgauge.measure.results import is_one_to_one
from streamgauge.studies import scenario as scenarios

RATE = 4000


def observation(at_s: float, lag: float, *, rate: float = RATE, warmup_s: float = 10.0) -> LoadObservation:
    appended = round(rate * (at_s + warmup_s))
    done = max(appended - round(lag), 0)
    return LoadObservation(at_s, rate, appended, appended, done, done, 0.0)


def judged(series: Iterable[LoadObservation], referee: ProbeReferee) -> ProbeReferee:
    for look in series:
        if referee.look(look) is not None:
            break
    return referee


def smooth(share: float, seconds: int = 120, start: float = 0.0) -> Iterator[LoadObservation]:
    """An engine that falls behind by a share of the rate, from the start of the warm-up on."""
    return (observation(t, start + share * RATE * (t + 10)) for t in range(-10, seconds))


def micro_batches(
    batch_s: float, growth: float = 0.0, seconds: int = 120, seed: int = 1, jitter: float = 0.3
) -> Iterator[LoadObservation]:
    """The result of a batch comes out at its end: a sawtooth between one batch and two, plus a growth."""
    noise = random.Random(seed)
    ends, at = [-10.0], -10.0
    while at < seconds:
        at += batch_s * noise.uniform(1 - jitter, 1 + jitter)
        ends.append(at)
    for t in range(-10, seconds):
        now = t + noise.uniform(0, 0.05)
        past = [end for end in ends if end <= now]
        # What had arrived when the last finished batch began.
        covered = past[-2] if len(past) > 1 else -10.0
        yield observation(now, (now - covered) * RATE + growth * RATE * (now + 10))


def referee(
    probe_s: float = 30.0, *, least_s: float = 0.0, longest_s: float = 120.0, rule: str | None = None
) -> ProbeReferee:
    return ProbeReferee(True, probe_s, least_s or probe_s, longest_s, rule)


def windowed(rule: str | None = None) -> ProbeReferee:
    return ProbeReferee(False, 30.0, 30.0, 120.0, rule)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0, 3.0])
def test_a_rate_far_above_the_capacity_is_hopeless_within_seconds(share: float) -> None:
    rated = 1 - 1 / (1 + share)
    ended = judged(smooth(rated), referee())
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert "records/s" in ended.decision.reason
    assert ended.decided_s <= (15 if share < 0.5 else 12)
    assert ended.saved_s == pytest.approx(30 - ended.decided_s)


@given(st.floats(0.0, 25.0), st.floats(3.0, 10.0), st.floats(0.05, 0.18))
def test_some_slow_seconds_of_the_machine_are_not_hopeless(begin_s: float, slow_s: float, slowness: float) -> None:
    """As seen at a rate that was sustained: the lag grew for nine seconds by 12 % of the rate, then went down again."""

    def hiccup() -> Iterator[LoadObservation]:
        for t in range(-10, 60):
            behind = min(max(t - begin_s, 0.0), slow_s) * slowness
            made_up = max(t - begin_s - slow_s, 0.0) * slowness
            yield observation(t, RATE * (0.6 + max(behind - made_up, 0.0)))

    ended = judged(hiccup(), referee())
    assert ended.decision in (None, ProbeDecision("enough"))


def test_five_per_cent_too_much_is_found_at_the_probe_s_length() -> None:
    ended = judged(smooth(0.05), referee())
    assert ended.decision is not None
    assert ended.decided_s <= 31


def test_a_steady_engine_is_enough_at_the_probe_s_length() -> None:
    ended = judged(smooth(0.0, start=200.0), referee())
    assert ended.decision == ProbeDecision("enough")
    assert ended.decided_s == 30
    assert ended.saved_s == 0


def test_the_confirming_run_goes_to_its_end() -> None:
    assert judged(smooth(0.0, start=200.0), referee(least_s=120.0)).decision is None


def test_a_hopeless_confirming_run_ends_early_all_the_same() -> None:
    ended = judged(smooth(0.4), referee(least_s=120.0))
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert ended.saved_s == pytest.approx(120 - ended.decided_s)


def test_a_probe_that_failed_by_the_slope_of_its_backlog_is_over() -> None:
    """What the evaluation would find is known: the same rule has looked at the same backlog."""
    ended = judged(smooth(0.02), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert ended.given_up.startswith("overloaded: the backlog grew by 2.0 % of the offered rate")
    assert (ended.decided_s, ended.saved_s, ended.weak) == (30, 0, False)


def test_another_rule_is_the_evaluation_s_to_judge() -> None:
    assert judged(smooth(0.02), referee(rule="ospbench")).decision == ProbeDecision("enough")
    assert judged(smooth(0.02), referee()).decision == ProbeDecision("enough")


@pytest.mark.parametrize(("rule", "of_its_own"), [("ospbench", True), (None, True), ("slope", False)])
def test_at_its_end_too_a_probe_is_given_up_by_the_slope_of_its_backlog_only(
    rule: str | None, of_its_own: bool
) -> None:
    ended = judged(smooth(0.02, seconds=70), ProbeReferee(of_its_own, 30.0, 60.0, 60.0, rule))
    assert ended.decision is None


def test_a_probe_that_is_undecided_at_its_end_is_given_up_by_the_point_estimate() -> None:
    """The backlog swings so widely that its slope, above the limit, has an interval that holds the limit."""

    def swinging(growth: float) -> Iterator[LoadObservation]:
        return (observation(t, RATE * (5 + 2 * math.sin(t / 2) + growth * t)) for t in range(-10, 70))

    ended = judged(swinging(0.015), referee(longest_s=60.0, rule="slope"))
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert ended.given_up.startswith("undecided; by the point estimate the backlog grew by")
    assert (ended.decided_s, ended.saved_s, ended.weak) == (60, 0, True)
    assert judged(swinging(0.0), referee(longest_s=60.0, rule="slope")).decision in (None, ProbeDecision("enough"))


def test_what_comes_after_a_probe_s_end_does_not_count() -> None:
    """No load arrives any more, and the lag goes down."""
    falling = (observation(t, RATE * (t + 10) * 0.02 if t < 60 else 0) for t in range(-10, 70))
    assert judged(falling, referee(least_s=60.0, longest_s=60.0, rule="slope")).given_up


def test_nothing_is_said_in_the_warm_up() -> None:
    assert judged((look for look in smooth(0.9) if look.measured_s < 0), referee()).decision is None


@given(st.floats(0.1, 6.0), st.integers(0, 1000))
def test_micro_batches_that_keep_up_are_never_hopeless(batch_s: float, seed: int) -> None:
    ended = judged(micro_batches(batch_s, seed=seed), referee())
    assert ended.decision in (None, ProbeDecision("enough"))


def commits(every_s: float, growth: float = 0.0, seconds: int = 120, phase: float = 0.0) -> Iterator[LoadObservation]:
    """Positions that move once per commit or checkpoint: how far the engine had read when the last one began."""
    for t in range(-10, seconds):
        committed_s = math.floor((t + phase) / every_s) * every_s - phase
        yield observation(t, (t - committed_s) * RATE + growth * RATE * (committed_s + 10))


@given(st.floats(0.1, 6.0), st.floats(0.0, 6.0))
def test_positions_that_move_once_per_commit_are_never_hopeless(every_s: float, phase: float) -> None:
    """Even where the commits drift slowly through the seconds: the lag that is seen then grows for many looks."""
    assert judged(commits(every_s, phase=phase), windowed()).decision in (None, ProbeDecision("enough"))


@pytest.mark.parametrize("every_s", [0.1, 0.95, 1.0, 1.05, 2.0])
def test_falling_behind_shows_in_positions_that_move_once_per_commit(every_s: float) -> None:
    ended = judged(commits(every_s, growth=0.3), windowed())
    assert ended.decision is not None and ended.decision.action == "hopeless"


@pytest.mark.parametrize(
    ("engine", "changes", "counted"),
    [
        ("echo", {"stage": "ingest"}, True),
        ("command", {"stage": "ingest"}, True),
        ("command", {"stage": "ingest", "delivery": "exactly-once"}, False),
        ("command", {"stage": "join"}, False),
    ],
)
def test_the_marks_of_commits_are_no_results(engine: str, changes: dict[str, str], counted: bool) -> None:
    assert is_one_to_one(scenarios.resolve("ospbench/latency", engine=engine, changes=changes)) is counted


@given(st.floats(8.0, 60.0), st.integers(0, 1000))
def test_a_batch_that_takes_long_is_not_a_trend(batch_s: float, seed: int) -> None:
    """Its records do wait for more than 10 s in the median, which may be said; a trend may not."""
    ended = judged(micro_batches(batch_s, seed=seed), referee())
    assert (
        ended.decision is None or ended.decision.action == "enough" or ended.decision.reason.startswith("records wait")
    )


@pytest.mark.parametrize("batch_s", [0.5, 1.0])
def test_micro_batches_that_fall_behind_are_hopeless(batch_s: float) -> None:
    ended = judged(micro_batches(batch_s, growth=0.3), referee())
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert ended.decided_s < 30


@given(st.floats(2.0, 15.0), st.floats(0.1, 1.0))
def test_an_engine_that_still_warms_up_is_not_hopeless(settles_s: float, slowness: float) -> None:
    """Its lag rises ever more slowly, to as much as five seconds of load, and is worked off later."""

    def warming() -> Iterator[LoadObservation]:
        for t in range(-2, 60):
            rising = slowness * settles_s / 3 * RATE * (1 - math.exp(-(t + 2) / settles_s * 3))
            yield observation(t, max(rising - 0.02 * RATE * max(t, 0), 0.0), warmup_s=2)

    assert judged(warming(), referee()).decision in (None, ProbeDecision("enough"))


def test_an_undecided_probe_goes_on_in_steps() -> None:
    """A slow sawtooth is too wide for 30 s; whatever is called is called at the end of a step."""
    decided = [judged(micro_batches(3.0, seed=seed), referee()) for seed in range(20)]
    assert {round(ended.decided_s) // 30 * 30 for ended in decided} > {30}
    assert all(ended.decided_s % 30 < 1.1 for ended in decided if ended.decision)


def test_without_a_known_lag_nothing_is_called() -> None:
    blind = (LoadObservation(t, RATE, t * RATE, t * RATE, None, 0, 0.0) for t in range(120))
    assert judged(blind, windowed()).decision is None


def test_the_end_of_a_transactional_output_is_no_count() -> None:
    """The marks of its commits make up for what it falls behind; what the engine has consumed shows that."""

    def looked_at(opened_s: float) -> Iterator[LoadObservation]:
        for t in range(120):
            appended, consumed = (t + 10) * RATE, (t + 10) * RATE // 2
            yield LoadObservation(t, RATE, appended, appended, consumed, None if t >= opened_s else appended, 0.0)

    assert judged(looked_at(math.inf), referee()).decision == ProbeDecision("enough")
    ended = judged(looked_at(10), referee())
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert not ended.one_to_one


def test_what_was_consumed_counts_where_a_record_has_no_result_of_its_own() -> None:
    series = (LoadObservation(t, RATE, 0, (t + 10) * RATE, (t + 10) * RATE // 2, 0, 0.0) for t in range(120))
    ended = judged(series, windowed())
    assert ended.decision is not None and ended.decision.action == "hopeless"


def test_a_lag_counts_as_it_was_on_average() -> None:
    """The engine speaks every 1.05 s and is looked at every second: its word is old by ever another part of one."""

    def looked_at(on_average: bool) -> Iterator[LoadObservation]:
        for t in range(40):
            appended, age_s = (t + 10) * RATE, t * 0.05 % 1.05
            consumed = round(appended - (0.5 + age_s) * RATE)
            lags = Lags(by_consumed=Lag(RATE, RATE / 2)) if on_average else Lags()
            yield LoadObservation(t, RATE, appended, appended, consumed, 0, 0.0, lags)

    assert judged(looked_at(True), windowed()).decision == ProbeDecision("enough")
    assert judged(looked_at(False), windowed()).decision is None, "its lag seems to grow and fall"


def waiting(lag_s: float, change_per_s: float) -> Iterator[LoadObservation]:
    """An engine that keeps up, behind a lag worth ``lag_s`` of load that changes by this share of the rate a second."""
    for t in range(-5, 60):
        appended = 10_000 * RATE + t * RATE
        done = round(appended - RATE * (lag_s + change_per_s * t))
        yield LoadObservation(t, RATE, appended, appended, done, done, 0.0)


def test_records_that_wait_too_long_are_seen_after_a_third_of_the_probe() -> None:
    ended = judged(waiting(14.0, 0.0), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "hopeless"
    assert ended.decided_s == 10
    assert "records wait 14.0 s" in ended.decision.reason
    assert ended.decision.latency_ms == pytest.approx(14_000, rel=0.01)


@pytest.mark.parametrize("rule", ["sustainable", "scalability", None])
def test_a_rule_without_a_limit_for_the_latency_lets_records_wait(rule: str | None) -> None:
    """A backlog of the start that is worked off slowly does not grow."""
    assert judged(waiting(14.0, -0.1), referee(rule=rule)).decision == ProbeDecision("enough")


def test_a_lag_that_goes_down_in_time_is_not_too_long() -> None:
    """14 s of load at the start, 10 s of it after a third, and less in the middle."""
    assert judged(waiting(14.0, -0.35), referee(rule="slope")).decision in (None, ProbeDecision("enough"))


def test_a_lag_below_the_limit_is_no_reason() -> None:
    assert judged(waiting(9.0, 0.0), referee(rule="slope")).decision in (None, ProbeDecision("enough"))


def losing(
    share: float, *, consumed: bool = True, overload: float = 0.0, start: float = 0.0
) -> Iterator[LoadObservation]:
    """An engine that keeps up with its input, up to an overload, and publishes no result for a share of it."""
    for t in range(-10, 120):
        appended = (t + 100) * RATE
        consumed_records = round(appended - start - RATE * overload * (t + 10))
        yield LoadObservation(
            t,
            RATE,
            appended,
            appended,
            consumed_records if consumed else None,
            round(consumed_records * (1 - share)),
            0.0,
        )


@pytest.mark.parametrize("share", [0.02, 0.05, 0.3])
def test_missing_results_of_consumed_input_are_checked(share: float) -> None:
    """The lag grows as under overload, but the input was consumed: the results may be lost."""
    ended = judged(losing(share), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "check"
    assert ended.given_up
    assert not may_have_lost(ended._unconsumed, ended._unconsumed, RATE), "nothing is consumed without its result"


def test_a_standing_lag_of_the_input_does_not_hide_loss() -> None:
    ended = judged(losing(0.05, start=8.0 * RATE), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "check"


def test_overload_explains_missing_results() -> None:
    ended = judged(losing(0.01, overload=0.3), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "hopeless"


def test_where_nobody_reports_what_was_consumed_it_is_checked() -> None:
    ended = judged(losing(0.05, consumed=False), referee(rule="slope"))
    assert ended.decision is not None and ended.decision.action == "check"
