"""Whether a run can be trusted, what it proves, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.errors import (
    EXIT_MISSED,
    EXIT_OK,
    EngineFailed,
    Interrupted,
    InvalidMeasurement,
)
from streamgauge.evaluate.facts import Facts
from streamgauge.model import NS_PER_MS, NS_PER_S, Verdict
from streamgauge.model.outcome import EndedProcess
from streamgauge.model.summary import Summary

LOSSLESS = ("exactly-once", "at-least-once")
WITHOUT_DUPLICATES = ("exactly-once", "at-most-once")


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    reasons: Sequence[str]


def decide(invalid: Sequence[str], failed: Sequence[str]) -> Decision:
    """What spoils the measurement comes before what the system under test did wrong; all of it is told."""
    verdict = Verdict.INVALID if invalid else Verdict.FAILED if failed else Verdict.VALID
    return Decision(verdict, [*invalid, *failed])


def failures(results: Mapping[str, int], delivery: str, ended: Sequence[EndedProcess], recounted: int = 0) -> list[str]:
    """What the system under test did wrong, measured by the guarantee that it claims.

    ``recounted``: how many of the wrong results came after a fault, of an engine that may count an input twice then.
    """
    why = [_last_words(process) for process in ended]
    if unexplained := results["wrong"] - recounted:
        of_them = f", {unexplained} of them before the first fault" if recounted else ""
        why.append(f"{results['wrong']} of {results['expected']} results are wrong{of_them}")
    if results["unexpected"]:
        why.append(f"{results['unexpected']} results should not have come out")
    if results["lost"] and delivery in LOSSLESS:
        why.append(f"{results['lost']} of {results['expected']} results were lost; the engine claims {delivery}")
    if results["duplicates"] and delivery in WITHOUT_DUPLICATES:
        why.append(f"{results['duplicates']} results came out twice; the engine claims {delivery}")
    return why


def silence(
    facts: Facts, results: Mapping[str, int], last_output_ms: float | None, unconsumed_s: float | None = None
) -> list[str]:
    """Why a system that lives has failed all the same: it fell silent before its results were out.

    Silent: no output for longer than the quiet time of the run, up to the end of the drain. A workload without output
    has ``unconsumed_s`` in its place: how long nothing was consumed.
    """
    moments, quiet_s = facts.moments, facts.quiet_s
    if moments is None or facts.outcome.drain is None or not results["unfinished"]:
        return []
    since_ns = moments.load_start_ns if last_output_ms is None else last_output_ms * NS_PER_MS
    silent_s = (moments.drain_end_ns - since_ns) / NS_PER_S
    what = "came out"
    if unconsumed_s is not None:
        silent_s, what = unconsumed_s, "was consumed"
    if silent_s <= quiet_s:
        return []
    return [
        f"the system under test fell silent: nothing {what} in the last {silent_s:.1f} s (quiet time {quiet_s:.1f} "
        f"s), and {results['unfinished']} of {results['expected']} results are unfinished"
    ]


def unfinished_warning(results: Mapping[str, int]) -> str:
    return (
        f"{results['unfinished']} of {results['expected']} results were not out when the drain ended; "
        "latencies count them as longer than all others"
    )


def recounting_warnings(results: Mapping[str, int], recounted: int) -> list[str]:
    if not recounted:
        return []
    return [
        f"{recounted} of {results['expected']} results are wrong after a fault: the engine may count an input twice "
        "when it reads it again, which at-least-once delivery allows"
    ]


def exit_code(summary: Summary) -> int:
    """What the command that made this summary ends with."""
    if summary.interrupted:
        return Interrupted.exit_code
    if summary.verdict == Verdict.INVALID.value:
        return InvalidMeasurement.exit_code
    if summary.verdict == Verdict.FAILED.value:
        return EngineFailed.exit_code
    missed = any(not slo.passed for slo in summary.slo)
    # ``sustained`` is null unless the scenario names a rule for it.
    return EXIT_MISSED if missed or summary.sustained is False else EXIT_OK


def _last_words(process: EndedProcess) -> str:
    """How a process ended, and what it said of it: the message of its event ``failed``, if it had one."""
    role, code, message = process.role, process.exit_code, process.message
    suffix = "" if message is None else f": {message}"
    if code is None:
        return f"process {role} did not become usable{suffix}"
    return f"process {role} ended although nobody had asked it to (exit code {code}){suffix}"
