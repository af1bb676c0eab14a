"""When the drain of a backlog has shown enough, and whether its results are checked."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from streamgauge.campaigns.referee import DrainReferee
from streamgauge.measure.reporter import LoadObservation, ProbeDecision
from streamgauge.measure.results import is_missing

RATE = 4000


def drained(per_s: Iterable[float], backlog: int = 1_000_000) -> DrainReferee:
    watching = DrainReferee(one_to_one=True, watch_s=12.0, give_up_s=60.0)
    done = 0.0
    for t, speed in enumerate(per_s):
        done = min(done + speed, backlog)
        if watching.look(LoadObservation(t, 400, backlog, backlog, None, round(done), 0.0)) is not None:
            break
    return watching


def test_the_drain_s_rate_leaves_out_the_slow_start() -> None:
    rate_per_s = drained([0, 0, *[1000] * 5, *[5000] * 30]).rate_per_s()
    assert rate_per_s == pytest.approx(5000, rel=0.02)


def test_the_drain_of_long_batches_is_seen_in_steps() -> None:
    """100,000 records every five seconds, behind a first batch of ten."""
    batches = [0] * 10 + [100_000, *[0] * 4] * 6
    watching = DrainReferee(one_to_one=False, watch_s=30.0, give_up_s=60.0)
    done = 0
    for t, consumed in enumerate(batches):
        done += consumed
        if watching.look(LoadObservation(t, 4000, 3_000_000, 3_000_000, done, 0, 0.0)) is not None:
            break
    assert watching.rate_per_s() == pytest.approx(20_000)


def test_the_drain_ends_when_enough_was_seen_or_the_backlog_is_gone() -> None:
    assert len(drained([5000] * 100)._points) == 13
    assert len(drained([5000] * 100, backlog=20_000)._points) == 4


def test_a_drain_in_which_nothing_came_out_gives_no_rate() -> None:
    watching = drained([0] * 59)
    assert watching.rate_per_s() is None
    assert watching.look(LoadObservation(60, 400, 1000, 1000, None, 0, 0.0)) is not None


def drain_losing(
    share: float, per_s: int, backlog: int, *, known: bool = True
) -> tuple[DrainReferee, ProbeDecision | None]:
    watching = DrainReferee(one_to_one=True, watch_s=12.0, give_up_s=60.0)
    decision, t = None, 0
    while decision is None and t < 60:
        appended = backlog + 400 * t
        consumed = min(per_s * t, appended)
        decision = watching.look(
            LoadObservation(t, 400, appended, appended, consumed if known else None, round(consumed * (1 - share)), 0.0)
        )
        t += 1
    return watching, decision


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.05])
def test_a_drain_that_ended_is_checked_for_missing_results(share: float, known: bool) -> None:
    watching, decision = drain_losing(share, 50_000, 300_000, known=known)
    assert decision is not None and decision.action == "check"
    # In its last second it was done before the next look.
    assert 20_000 < (watching.rate_per_s() or 0) < 51_000, "not the speed of the load behind it"


@pytest.mark.parametrize(("share", "word"), [(0.0, "hopeless"), (0.05, "check")])
def test_a_drain_that_goes_on_is_checked_where_results_do_not_follow(share: float, word: str) -> None:
    _, decision = drain_losing(share, 50_000, 3_000_000)
    assert decision is not None and decision.action == word


def test_a_drain_slower_than_the_load_has_a_rate() -> None:
    watching, decision = drain_losing(0.0, 300, 300_000)
    assert decision is not None and decision.action == "hopeless"
    assert watching.rate_per_s() == pytest.approx(300)


@pytest.mark.parametrize(
    ("consumed", "output", "quiet", "missing"),
    [
        (1000, 999, True, True),
        (1000, 1000, True, False),
        (None, 999, True, True),
        # At the deadline: what was not consumed is overload.
        (None, 999, False, False),
        (999, 999, False, False),
        (1000, 999, False, True),
        # Of a system that reports more than once.
        (1000, 1001, True, False),
    ],
)
def test_what_is_missing_after_the_drain(consumed: int | None, output: int, quiet: bool, missing: bool) -> None:
    assert is_missing(1000, consumed, output, quiet=quiet) is missing


def test_nothing_is_checked_where_marks_of_transactions_count_as_output() -> None:
    """Half-way through the drain a transaction is seen: from then on what was consumed tells."""
    watching, decision, t = DrainReferee(one_to_one=True, watch_s=12.0, give_up_s=60.0), None, 0
    while decision is None and t < 60:
        consumed = min(50_000 * t, 300_000)
        decision = watching.look(
            LoadObservation(t, 400, 300_000, 300_000, consumed, consumed + 100 if t < 3 else None, 0.0)
        )
        t += 1
    assert decision is not None and decision.action == "hopeless"


@pytest.mark.parametrize(("backlog", "word", "seconds"), [(900_000, "check", 22), (3_000_000, "hopeless", 14)])
def test_a_drain_that_is_nearly_done_goes_on_to_its_end(backlog: int, word: str, seconds: int) -> None:
    """After 12 s of watching a third is left, or four fifths. Three looks show that nothing more comes."""
    watching, decision = drain_losing(0.001, 50_000, backlog)
    assert decision is not None and decision.action == word
    assert watching._points[-1].at_s == pytest.approx(seconds, abs=1)
