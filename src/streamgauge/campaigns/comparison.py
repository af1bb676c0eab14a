"""Two measurements of the same thing against each other; refused when they cannot be compared."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge import identity
from streamgauge.campaigns.repetition import p50_ms, read_runs
from streamgauge.errors import UsageError
from streamgauge.evaluate import comparison
from streamgauge.identity import Ignored
from streamgauge.model import Verdict
from streamgauge.model.comparison import FORMAT, ComparedRuns, Comparison
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir, shared_cores

DECIMALS = 4

IGNORED: Ignored = {
    "engine": "engines, their versions and their options are what one compares",
    "program": "is the engine",
    "scenario.script": "another script in the workload's place may be compared with it",
    "scenario.load.tail_s": "follows from the engine's trigger",
    "scenario.profile": "only presets values, which are compared themselves",
    "scenario.sustained": "judges what was measured",
    "scenario.slo": "judges what was measured",
}
"""In what the two sides may differ. The runs of one side may not."""


@dataclass(frozen=True)
class Side:
    """One of the two: its runs with their summaries."""

    path: Path
    runs: Sequence[RunDir]
    summaries: Sequence[Summary]


def compare(a: Path, b: Path, seed: int = comparison.SEED) -> Comparison:
    """B against A: two runs, capacities, or sets of either.

    Returns ratio, interval, word and every value. Raises UsageError for what cannot be compared: an INVALID, FAILED or
    drifting run, a run against a capacity, runs that were not measured alike, and what ``compare_capacities`` refuses.
    """
    from streamgauge.campaigns.capacity_comparison import compare_capacities, is_capacity  # which builds on this module

    searched = [is_capacity(path) for path in (a, b)]
    if all(searched):
        return compare_capacities(a, b, seed)
    if any(searched):
        raise UsageError("a capacity can only be compared with a capacity", got=f"{a} and {b}")
    return _compare_runs(_read(a), _read(b), seed)


def check_usable(path: Path) -> None:
    """Raises UsageError if the directory has no runs, or some that cannot be compared with anything."""
    _refuse_unusable(_read(path))


def check_alike(a: RunDir, others: Sequence[RunDir], ignored: Iterable[str] = IGNORED, hint: str | None = None) -> None:
    """Raises UsageError naming everything in which runs differ, with both values, other than what is ``ignored``."""
    first = _identity(a)
    for other in others:
        if differing := identity.differences(first, _identity(other), ignored):
            raise UsageError(
                "the runs were not measured alike",
                where=f"{a.path} and {other.path}",
                got="; ".join(f"{name}: {left!r} and {right!r}" for name, (left, right) in differing.items()),
                expected="the same values on both sides",
                hint=hint,
            )


def _identity(run: RunDir) -> identity.Identity:
    manifest = run.manifest()
    shared = shared_cores(manifest, run.outcome() if run.outcome_path.is_file() else Outcome.blank())
    return identity.of_manifest(manifest, shared)


def _read(path: Path) -> Side:
    runs = read_runs(path)
    return Side(path, runs, [run.summary() for run in runs])


def _compare_runs(a: Side, b: Side, seed: int) -> Comparison:
    _refuse_unusable(a, b)
    for side in (a, b):
        check_alike(side.runs[0], side.runs[1:], ignored=())
    first, *others = [*a.runs, *b.runs]
    check_alike(first, others, hint="run both with the same scenario, load and seed, on one machine")
    every = [*a.summaries, *b.summaries]
    kind = "total" if all(p50_ms(summary, "total") is not None for summary in every) else "latest"
    of_a, of_b = _values(a, kind), _values(b, kind)
    ratio = comparison.ratio(of_a, of_b)
    low, high = comparison.ratio_interval(of_a, of_b, seed)
    word = comparison.word(low, high, min(len(of_a), len(of_b)))
    return Comparison(
        format=FORMAT,
        measure=f"{kind}_p50_ms",
        word=word,
        ratio=round(ratio, DECIMALS),
        interval=(round(low, DECIMALS), round(high, DECIMALS)),
        seed=seed,
        runs_needed=comparison.runs_needed(of_a, of_b, seed) if word == "cannot tell" else None,
        notes=[*script_notes(a.summaries[0], b.summaries[0]), *_notes(a, b)],
        a=_described(a, of_a),
        b=_described(b, of_b),
    )


def _refuse_unusable(*sides: Side) -> None:
    bad = []
    for side in sides:
        for run, summary in zip(side.runs, side.summaries, strict=True):
            if summary.verdict != Verdict.VALID.value:
                bad.append(f"{run.path} is {summary.verdict}")
            elif summary.state == "drifting":
                bad.append(f"{run.path} is drifting")
    if bad:
        raise UsageError(
            "these runs cannot be compared",
            got="; ".join(bad),
            expected="VALID runs that had settled",
            hint="run them again; a drifting run wants a longer --warmup",
        )


def _values(side: Side, kind: str) -> list[float]:
    values = []
    for run, summary in zip(side.runs, side.summaries, strict=True):
        value = p50_ms(summary, kind)
        if value is None:
            raise UsageError(
                "the run has no median latency", where=run.path, got="too few results", hint="a longer --for"
            )
        values.append(value)
    return values


def script_notes(a: Summary, b: Summary) -> list[str]:
    """What differs in what was run, where one of two summaries is of a user's script, and what was not checked."""
    scripts = [summary.script for summary in (a, b)]
    notes = []
    if len({script and script.sha256 for script in scripts}) > 1:
        ran = [f"the script {one.name} ({one.sha256[:7]})" if one else "the workload itself" for one in scripts]
        notes.append(f"A ran {ran[0]}, B {ran[1]}")
    notes += [
        f"{name} is unvalidated: its answers were not checked"
        for name, summary in (("A", a), ("B", b))
        if summary.validated is False
    ]
    return notes


def _notes(*sides: Side) -> list[str]:
    return [
        f"{run.path} is overloaded: its latency depends on how long it ran"
        for side in sides
        for run, summary in zip(side.runs, side.summaries, strict=True)
        if summary.state == "overloaded"
    ]


def _described(side: Side, values: Sequence[float]) -> ComparedRuns:
    return ComparedRuns(
        path=str(side.path),
        engine=side.summaries[0].engine,
        runs=[summary.run for summary in side.summaries],
        values=values,
        median=statistics.median(values),
    )
