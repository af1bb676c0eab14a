"""Two measurements of the same thing against each other; refused when they cannot be compared."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streamgauge.campaigns.repetition import p50_ms, read_runs
from streamgauge.errors import UsageError
from streamgauge.evaluate import comparison
from streamgauge.model import Verdict
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir, shared_cores

FORMAT = 1
DECIMALS = 4

CHECKED = (
    "scenario.study",
    "scenario.name",
    "scenario.pipeline",
    "scenario.parameters",
    "scenario.dataset",
    "scenario.keys",
    "scenario.generators",
    "scenario.load",
    "scenario.partitions",
    "scenario.out_of_order_ms",
    "scenario.seed",
    "scenario.faults",
    "transport.name",
    "transport.own",
    "transport.topic_settings",
    "machine.system",
    "machine.cpu",
    "machine.cores",
    "shared_cores",
)
"""Keys of the manifest that must agree; one that names an object stands for all keys below it."""
UNCHECKED = ("scenario.load.tail_s",)
"""The tail follows from the engine's trigger, and engines are what one compares."""
ONE_SIDE = ("scenario.job.sha256",)
"""What must agree within a side only: another job in the stage's place is a thing to compare with."""


@dataclass(frozen=True)
class Side:
    """One of the two: its runs with their summaries."""

    path: Path
    runs: Sequence[RunDir]
    summaries: Sequence[Summary]


def compare(a: Path, b: Path, seed: int = comparison.SEED) -> dict[str, Any]:
    """B against A: two runs, capacities, or sets of either.

    Returns ratio, interval, word and every value. Raises UsageError for what cannot be compared: an INVALID, FAILED or
    drifting run, a run against a capacity, manifests that differ in a checked key, and what ``compare_capacities``
    refuses.
    """
    from streamgauge.campaigns.capacity_comparison import compare_capacities, is_capacity  # which builds on this module

    searched = [is_capacity(path) for path in (a, b)]
    if all(searched):
        return compare_capacities(a, b, seed)
    if any(searched):
        raise UsageError("a capacity can only be compared with a capacity", got=f"{a} and {b}")
    return _compare_runs(_read(a), _read(b), seed)


def differences(
    a: Mapping[str, Any], b: Mapping[str, Any], checked: Sequence[str] = CHECKED
) -> dict[str, tuple[Any, Any]]:
    """The checked keys in which two manifests differ, each with both values; null where one lacks the key."""
    left, right = dict(_leaves(a, checked)), dict(_leaves(b, checked))
    keys = dict.fromkeys([*left, *right])
    return {key: (left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key)}


def check_alike(a: RunDir, others: Sequence[RunDir], checked: Sequence[str] = CHECKED, hint: str | None = None) -> None:
    """Raises UsageError naming every differing key with both values."""
    first = _manifest(a)
    for other in others:
        if found := differences(first, _manifest(other), checked):
            raise UsageError(
                "the runs were not measured alike",
                where=f"{a.path} and {other.path}",
                got="; ".join(f"{key}: {left!r} and {right!r}" for key, (left, right) in found.items()),
                expected="the same values on both sides",
                hint=hint,
            )


def _manifest(run: RunDir) -> dict[str, Any]:
    """With every value of the load, also those that an older version did not know and left at what is the default."""
    found = run.manifest()
    manifest, scenario = found.as_json(), found.scenario.as_json()
    load = asdict(found.scenario.load.plan())
    shared = shared_cores(found, run.outcome() if run.outcome_path.is_file() else Outcome.blank())
    return {
        **manifest,
        "shared_cores": shared,
        "scenario": {"keys": "dataset", "generators": 1, "faults": [], **scenario, "load": load},
    }


def _leaves(manifest: Mapping[str, Any], checked: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for key in checked:
        value: Any = manifest
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        yield from _below(key, value)


def _below(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _below(f"{key}.{name}", item)
    elif key not in UNCHECKED:
        yield key, value


def _read(path: Path) -> Side:
    runs = read_runs(path)
    return Side(path, runs, [run.summary() for run in runs])


def _compare_runs(a: Side, b: Side, seed: int) -> dict[str, Any]:
    _refuse_unusable(a, b)
    for side in (a, b):
        check_alike(side.runs[0], side.runs[1:], ONE_SIDE)
    first, *others = [*a.runs, *b.runs]
    check_alike(first, others, hint="run both with the same scenario, load and seed, on one machine")
    every = [*a.summaries, *b.summaries]
    kind = "total" if all(p50_ms(summary, "total") is not None for summary in every) else "latest"
    of_a, of_b = _values(a, kind), _values(b, kind)
    ratio = comparison.ratio(of_a, of_b)
    low, high = comparison.ratio_interval(of_a, of_b, seed)
    word = comparison.word(low, high, min(len(of_a), len(of_b)))
    return {
        "format": FORMAT,
        "measure": f"{kind}_p50_ms",
        "word": word,
        "ratio": round(ratio, DECIMALS),
        "interval": [round(low, DECIMALS), round(high, DECIMALS)],
        "seed": seed,
        "runs_needed": comparison.runs_needed(of_a, of_b, seed) if word == "cannot tell" else None,
        "notes": [*job_notes(a.summaries[0], b.summaries[0]), *_notes(a, b)],
        "a": _described(a, of_a),
        "b": _described(b, of_b),
    }


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


def job_notes(a: Summary, b: Summary) -> list[str]:
    """What differs in what was run, where one of two summaries is of a reader's own job, and what nobody checked."""
    jobs = [summary.job for summary in (a, b)]
    said = []
    if len({job and job.sha256 for job in jobs}) > 1:
        ran = [f"the job {job.name} ({job.sha256[:7]})" if job else "the stage itself" for job in jobs]
        said.append(f"A ran {ran[0]}, B {ran[1]}")
    said += [
        f"{name} is unvalidated: nothing says whether its answers are right"
        for name, summary in (("A", a), ("B", b))
        if summary.validated is False
    ]
    return said


def _notes(*sides: Side) -> list[str]:
    return [
        f"{run.path} is overloaded: its latency depends on how long it ran"
        for side in sides
        for run, summary in zip(side.runs, side.summaries, strict=True)
        if summary.state == "overloaded"
    ]


def _described(side: Side, values: Sequence[float]) -> dict[str, Any]:
    engine = side.summaries[0].engine.as_json()
    return {
        "path": str(side.path),
        "engine": engine,
        "runs": [summary.run for summary in side.summaries],
        "values": list(values),
        "median": statistics.median(values),
    }
