"""What is known of an engine's progress, and who says so."""

from __future__ import annotations

from streamgauge.errors import EngineFailed
from streamgauge.measure.outcome import BATCHES_MOST, Progress, never_started
from streamgauge.model import NS_PER_S, LoadPlan
from streamgauge.model.outcome import Outcome


def test_what_is_consumed_is_what_the_engine_says_or_has_committed() -> None:
    progress = Progress()
    assert progress.consumed is None
    progress.committed = 5
    assert progress.consumed == 5
    progress.on_engine_event("engine", {"event": "progress", "consumed": 9})
    assert progress.consumed == 9
    for nonsense in ("many", 7.5, True, -1, 10**400):
        progress.on_engine_event("engine", {"event": "progress", "consumed": nonsense})
        assert progress.consumed == 9
    progress.committed = 12
    assert progress.consumed == 12, "after a restart, the engine reports only what it reads from then on"


def test_what_a_program_reports_wrongly_is_ignored() -> None:
    progress = Progress()
    for reported in (2, -1, "two", None):
        progress.on_engine_event("streams-1", {"event": "assigned", "partitions": reported})
    assert progress.assigned == {"streams-1": 2}
    progress.on_engine_event("engine", {"event": "progress", "consumed": 5, "offsets": {"flow": {"0": 5}}})
    assert progress.reported_offsets == {"flow": {0: 5}}
    for nonsense in (None, [], {"flow": 3}, {"flow": {"zero": 3}}, {"flow": {"0": -1}}):
        progress.on_engine_event("engine", {"event": "progress", "consumed": 6, "offsets": nonsense})
        assert progress.reported_offsets == {"flow": {0: 5}}
    batch = {"event": "batch", "batch": 1, "duration_ms": 10, "rows": 3}
    for changes in (
        *({"batch": -1}, {"duration_ms": "long"}, {"duration_ms": None}, {"rows": 0.5}),
        *({"rows": 10**400}, {"duration_ms": 1.79e308}, {"duration_ms": float("nan")}),
    ):
        progress.on_engine_event("engine", {**batch, **changes})
    assert list(progress.take_batches()) == []
    for number in range(BATCHES_MOST + 5):
        progress.on_engine_event("engine", {**batch, "batch": number})
    taken = list(progress.take_batches())
    assert (len(taken), taken[-1].batch) == (BATCHES_MOST, BATCHES_MOST + 4), "of too many, the latest"


def test_the_moments_of_a_load() -> None:
    outcome = Outcome.blank()
    assert outcome.begin_load(7, LoadPlan(10, warmup_s=1.5, measured_s=4.0, tail_s=2.0)) == 7 + 3 * NS_PER_S // 2
    assert outcome.load_start_ns == 7
    assert outcome.measured_end_ns == 7 + 11 * NS_PER_S // 2
    assert outcome.load_end_ns == 7 + 15 * NS_PER_S // 2


def test_a_process_that_was_not_usable_again() -> None:
    failure = EngineFailed("engine timed out before it was usable", got="still running", log_tail="the end")
    ended = never_started("engine", failure, "engine", "kill engine for 1s at 6s")
    assert (ended.role, ended.group, ended.exit_code, ended.log_tail) == ("engine", "engine", None, "the end")
    assert ended.message == (
        "started again after the fault 'kill engine for 1s at 6s': engine timed out before it was usable, still running"
    )
