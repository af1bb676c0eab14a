"""When a run has fallen quiet."""

from __future__ import annotations

from streamgauge.measure.drain import QuietDetector
from streamgauge.model import QUIET_S


def fed(
    quiet: QuietDetector, until_s: int, *, every_s: int = 1, partitions: tuple[int, ...] = (0,), start_s: int = 0
) -> None:
    """Looks once a second; these partitions move every so many seconds."""
    for second in range(start_s, until_s):
        ends = dict.fromkeys(partitions, (second // every_s + 1) * 10)
        quiet.see(second, ends, lag=None, done=None, judged=True)


def test_five_seconds_at_least() -> None:
    quiet = QuietDetector(QUIET_S)
    fed(quiet, 20)
    assert quiet.quiet_s == 5.0
    assert not quiet.is_quiet(23.9, behind=False)
    assert quiet.is_quiet(24.0, behind=False)
    assert not quiet.is_quiet(100.0, behind=True)


def test_a_shorter_quiet_time_is_that_short_only_where_no_gap_was_seen() -> None:
    """Output at every look a second apart, give or take; then at every second one."""
    quiet = QuietDetector(1.0)
    for second in (0.0, 1.3, 2.0, 3.4, 4.0):
        quiet.see(second, {0: round(10 * second) + 1}, lag=None, done=None, judged=True)
    assert quiet.quiet_s == 1.0
    assert not quiet.is_quiet(4.9, behind=False)
    assert quiet.is_quiet(5.0, behind=False)
    quiet.see(6.0, {0: 100}, lag=None, done=None, judged=True)
    assert quiet.quiet_s == 6.0


def test_three_triggers() -> None:
    assert QuietDetector(QUIET_S, trigger_s=4.0).quiet_s == 12.0


def test_three_times_the_longest_gap_of_any_partition() -> None:
    """Partition 0 moves every second, partition 1 every four."""
    quiet = QuietDetector(QUIET_S)
    for second in range(30):
        quiet.see(second, {0: second, 1: second // 4}, lag=None, done=None, judged=True)
    assert quiet.quiet_s == 12.0


def test_only_what_a_gap_has_beyond_the_pause_of_the_workload_counts() -> None:
    """Windows that end every 10 s, of an engine that once took 3 s longer."""
    quiet = QuietDetector(QUIET_S, pause_s=10.0)
    for second in (0, 10, 20, 33):
        quiet.see(second, {0: second + 1}, lag=None, done=None, judged=True)
    assert quiet.quiet_s == 9.0


def test_gaps_mean_nothing_once_all_results_are_out() -> None:
    quiet = QuietDetector(QUIET_S, trigger_s=2.0)
    fed(quiet, 30, every_s=10)
    assert quiet.quiet_s == 30.0
    quiet.results_are_out = True
    assert quiet.quiet_s == 6.0
    assert quiet.is_quiet(26.0, behind=False)


def test_gaps_of_a_cold_start_do_not_count() -> None:
    quiet = QuietDetector(QUIET_S)
    quiet.see(0, {0: 1}, lag=None, done=None, judged=False)
    quiet.see(20, {0: 2}, lag=None, done=None, judged=False)
    quiet.see(21, {0: 3}, lag=None, done=None, judged=True)
    assert quiet.quiet_s == 5.0


def test_the_longest_wait() -> None:
    """1,000 records a second are taken, and 8,000 wait."""
    quiet = QuietDetector(QUIET_S)
    for second in range(1, 20):
        quiet.see(second, {0: second}, lag=8000, done=1000 * second, judged=True)
    assert quiet.quiet_s == 8.0


def test_an_engine_that_has_stopped_does_not_wait_ever_longer() -> None:
    """It took 1,000 a second for ten seconds, 2,000 waited, and then nothing moves while load goes on arriving."""
    quiet = QuietDetector(QUIET_S)
    for second in range(1, 60):
        done = 1000 * min(second, 10)
        quiet.see(second, {0: done}, lag=2000 + 1000 * max(second - 10, 0), done=done, judged=True)
    assert quiet.quiet_s == 5.0


def test_a_cold_start_does_not_make_a_wait_of_minutes() -> None:
    """Its first looks show hardly any speed: 1, 60, 900 and then 1,000 a second, with 2,000 waiting."""
    quiet = QuietDetector(QUIET_S)
    for second, done in enumerate([1, 60, 900, *range(1900, 60_000, 1000)]):
        quiet.see(second, {0: done}, lag=2000, done=done, judged=True)
    assert quiet.quiet_s == 5.0


def test_silence_before_the_end_of_the_load_does_not_end_the_drain() -> None:
    quiet = QuietDetector(QUIET_S)
    fed(quiet, 60)
    quiet.begin_drain(66.0)
    assert not quiet.is_quiet(66.0, behind=False)
    assert quiet.is_quiet(71.0, behind=False)


def test_without_an_answer_the_silence_begins_anew() -> None:
    quiet = QuietDetector(QUIET_S)
    fed(quiet, 10)
    quiet.unknown()
    assert not quiet.is_quiet(30.0, behind=False)
    quiet.see(30, {0: 100}, lag=None, done=None, judged=True)
    assert not quiet.is_quiet(34.9, behind=False)
    assert quiet.is_quiet(35.0, behind=False)


def test_without_outputs_all_input_must_be_consumed() -> None:
    quiet = QuietDetector(QUIET_S, has_output=False)
    assert not quiet.is_quiet(0.0, behind=True)
    assert quiet.is_quiet(0.0, behind=False)


def test_what_has_only_just_been_consumed_has_its_results_still_to_come() -> None:
    """A slow first batch: nothing comes out for a long time, and then everything is consumed at once."""
    quiet = QuietDetector(2.0)
    for second in range(10):
        quiet.see(second, {0: 0}, lag=2200, done=0, judged=True)
    quiet.see(10, {0: 0}, lag=0, done=2200, judged=True)
    assert not quiet.is_quiet(10.0, behind=False)
    quiet.see(12, {0: 0}, lag=0, done=2200, judged=True)
    assert quiet.is_quiet(12.0, behind=False)
