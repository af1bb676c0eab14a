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
from streamgauge.notices import Notice, notice

LOSSLESS = ("exactly-once", "at-least-once")
WITHOUT_DUPLICATES = ("exactly-once", "at-most-once")


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    reasons: Sequence[Notice]


def decide(invalid: Sequence[Notice], failed: Sequence[Notice]) -> Decision:
    """INVALID takes precedence over FAILED; the reasons of both are kept, in that order."""
    verdict = Verdict.INVALID if invalid else Verdict.FAILED if failed else Verdict.VALID
    return Decision(verdict, [*invalid, *failed])


def failures(
    results: Mapping[str, int],
    delivery: str,
    ended: Sequence[EndedProcess],
    recounted: int = 0,
    unexpected_recounted: int = 0,
) -> list[Notice]:
    """What the system under test did wrong, measured by the guarantee that it claims.

    ``recounted``, ``unexpected_recounted``: how many of the wrong results, and of the unexpected ones, came after a
    fault, of an engine that may count an input twice then.
    """
    why = [_end_of(process) for process in ended]
    if unexplained := results["wrong"] - recounted:
        of_them = f", {unexplained} of them before the first fault" if recounted else ""
        why.append(notice("wrong-results", wrong=results["wrong"], expected=results["expected"], detail=of_them))
    if (unexpected := results["unexpected"] - unexpected_recounted) > 0:
        why.append(notice("unexpected-results", count=unexpected))
    if results["lost"] and delivery in LOSSLESS:
        why.append(notice("lost-results", lost=results["lost"], expected=results["expected"], delivery=delivery))
    if results["duplicates"] and delivery in WITHOUT_DUPLICATES:
        why.append(notice("duplicates", count=results["duplicates"], delivery=delivery))
    return why


def silence(
    facts: Facts, results: Mapping[str, int], last_output_ms: float | None, unconsumed_s: float | None = None
) -> list[Notice]:
    """Why a system whose processes still run has FAILED: it fell silent before all results were out.

    Silent: no output for longer than the quiet time of the run, up to the end of the drain. A workload without output
    has ``unconsumed_s`` in its place: how long nothing was consumed.
    """
    moments, quiet_s = facts.moments, facts.quiet_s
    if moments is None or facts.outcome.drain is None or not results["unfinished"]:
        return []
    since_ns = moments.load_start_ns if last_output_ms is None else last_output_ms * NS_PER_MS
    silent_s = (moments.drain_end_ns - since_ns) / NS_PER_S
    what = "no output"
    if unconsumed_s is not None:
        silent_s, what = unconsumed_s, "no input was consumed"
    if silent_s <= quiet_s:
        return []
    return [
        notice(
            "fell-silent",
            what=what,
            silent_s=silent_s,
            quiet_s=quiet_s,
            unfinished=results["unfinished"],
            expected=results["expected"],
        )
    ]


def unfinished_warning(results: Mapping[str, int]) -> Notice:
    return notice("unfinished", unfinished=results["unfinished"], expected=results["expected"])


def recounting_warnings(results: Mapping[str, int], recounted: int) -> list[Notice]:
    if not recounted:
        return []
    return [notice("recounted", recounted=recounted, expected=results["expected"])]


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


def _end_of(process: EndedProcess) -> Notice:
    """How a process ended, with the message of its event ``failed``, if it had one."""
    role, code, message = process.role, process.exit_code, process.message
    if process.watches and message is not None:
        return notice("engine-reported", message=message)
    suffix = "" if message is None else f": {message}"
    if code is None:
        return notice("engine-not-usable", role=role, message=suffix)
    return notice("engine-died", role=role, code=code, message=suffix)
