"""The same run several times, each in fresh processes, and their summary.

A *set of repetitions* is a directory with the runs ``1``, ``2``, … (ordinary run directories), ``summary.json`` (that
of the median run, with every run's figures and the interval of the median), ``report.html`` and ``set.json``. An
INVALID run is repeated once; it stays beside the others, as ``3-invalid``, and is listed with its reasons and figures.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from streamgauge import rundir, stored
from streamgauge.evaluate.comparison import SEED, resampled_interval
from streamgauge.measure.evaluation import kept_evaluator
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import Reporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model import Verdict
from streamgauge.model.campaign import SET_FORMAT, SET_NAME, RepetitionSet
from streamgauge.model.summary import MedianInterval, Repetition, Summary
from streamgauge.notices import joined, notice
from streamgauge.processes import directory_lock
from streamgauge.report.page import render
from streamgauge.report.source import read
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

DECIMALS = 3

_WORST_FIRST = (Verdict.INVALID.value, Verdict.FAILED.value, Verdict.VALID.value)
_STATES_WORST_FIRST = ("overloaded", "drifting", None, "steady")


def run_repeated(request: Request, runs: int, reporter: Reporter) -> tuple[Path, Summary]:
    """Run it ``runs`` times below ``request.out``; returns the set's directory and summary.

    Raises UsageError when the directory is not empty or another command is using it. What stops one run (no memory,
    Ctrl-C) stops all; the runs made until then stay.
    """
    (summary,) = run_interleaved([request], runs, reporter)
    return request.out, summary


def run_interleaved(requests: Sequence[Request], runs: int, reporter: Reporter) -> list[Summary]:
    """Each request ``runs`` times, in the order A B, B A, A B, …; returns the summary of each one's set.

    A machine that slows down or warms up over the hours then meets all of them alike.
    """
    with ExitStack() as locks:
        for request in requests:
            locks.enter_context(directory_lock.hold(request.out))
        return _run_interleaved(requests, runs, reporter)


def _run_interleaved(requests: Sequence[Request], runs: int, reporter: Reporter) -> list[Summary]:
    for request in requests:
        check_free(request.out)
    first = requests[0]
    most = max(request.scenario.load.records for request in requests)
    name = f"repetitions-{first.out.name}-{secrets.token_hex(2)}"
    with ExitStack() as evaluators:
        # Only what is measured has to be fresh; an evaluator is idle during a run.
        by_master = {
            master: evaluators.enter_context(kept_evaluator(f"{name}-{number}", first.out / "logs", master, most))
            for number, master in enumerate(dict.fromkeys(request.master for request in requests))
        }
        turns = list(enumerate(requests))
        for number in range(1, runs + 1):
            for position, request in turns if number % 2 else reversed(turns):
                side = f" of {chr(ord('A') + position)}" if len(requests) > 1 else ""
                reporter.phase(f"run {number} of {runs}{side}")
                one = replace(request, out=request.out / str(number))
                run, summary = run_scenario(one, reporter, by_master[one.master])
                if summary.verdict == "INVALID":
                    reporter.warn(notice("invalid-repeated", run=f"run {number}", reasons=joined(summary.reasons)))
                    run.path.rename(_invalid(one.out))
                    run_scenario(one, reporter, by_master[one.master])
    return [write_set(request.out, runs) for request in requests]


def _invalid(run: Path) -> Path:
    """Where the first attempt at a run lies that had to be repeated."""
    return run.with_name(f"{run.name}-invalid")


def write_set(path: Path, runs: int) -> Summary:
    """Put the runs ``1`` … ``runs`` of a directory together; returns the set's summary."""
    run_directories = {str(number): RunDir.open(path / str(number)) for number in range(1, runs + 1)}
    summaries = {name: run.summary() for name, run in run_directories.items()}
    median = median_run(summaries)
    firsts = {name: _invalid(path / name) for name in run_directories if _invalid(path / name).is_dir()}
    discarded = {name: {first.name: RunDir.open(first).summary()} for name, first in firsts.items()}
    summary = summarize(summaries, median, discarded).with_changes(repeated=list(discarded))
    write_json(path / "summary.json", summary.as_json())
    page = render(replace(read(run_directories[median]), summary=summary))
    (path / "report.html").write_text(page, encoding="utf-8")
    write_json(path / SET_NAME, RepetitionSet(format=SET_FORMAT, runs=runs, median=median).as_json())
    return summary


def read_runs(path: Path) -> list[RunDir]:
    """The runs of a set, or the one run that the directory is. Raises UsageError when it is neither."""
    if not (path / SET_NAME).is_file():
        return [RunDir.open(path)]
    stored.read(path / SET_NAME, RepetitionSet, hint="streamgauge run --runs N again, or compare its runs one by one")
    numbers = sorted(int(entry.name) for entry in path.iterdir() if entry.is_dir() and entry.name.isdecimal())
    return [RunDir.open(path / str(number)) for number in numbers]


def median_run(summaries: Mapping[str, Summary]) -> str:
    """By what is measured, the lower middle, among the VALID runs; where there are none, among all.

    That is the throughput where all input was there before the engine, otherwise the median latency.
    """
    usable = [name for name, summary in summaries.items() if summary.valid] or [*summaries]
    rates = {name: summaries[name].processing.get("records_per_s") for name in usable}
    medians = {name: p50_ms(summaries[name]) for name in usable}
    measured = rates if any(rate is not None for rate in rates.values()) else medians
    known = {name: value for name, value in measured.items() if value is not None}
    ordered = sorted(known, key=lambda name: known[name])
    return ordered[(len(ordered) - 1) // 2] if ordered else next(iter(summaries))


def p50_ms(summary: Summary, kind: str | None = None) -> float | None:
    """Median latency: of ``total``, or of ``latest`` where that is unknown."""
    kinds = (kind,) if kind else ("total", "latest")
    values = (summary.percentile_ms(name, "p50") for name in kinds)
    return next((value for value in values if value is not None), None)


def summarize(
    summaries: Mapping[str, Summary], median: str, discarded: Mapping[str, Mapping[str, Summary]] | None = None
) -> Summary:
    """That of the median run, with all runs in it.

    The verdict is the worst of all runs; state and sustained are the worst of the VALID ones, where there are any.
    ``discarded`` are the INVALID attempts that were repeated, of each run by their directory: they are listed only.
    """
    attempts = discarded or {}
    every = list(summaries.values())
    valid = [summary for summary in every if summary.valid]
    totals = [value for summary in valid if (value := p50_ms(summary, "total")) is not None]
    usable = valid or every
    sustained = {summary.sustained for summary in usable}
    return summaries[median].with_changes(
        verdict=min((summary.verdict for summary in every), key=_WORST_FIRST.index),
        state=min((summary.state for summary in usable), key=_STATES_WORST_FIRST.index),
        sustained=False if False in sustained else None if None in sustained else True,
        reasons=[f"run {name}: {reason}" for name, summary in summaries.items() for reason in summary.reasons],
        repetitions=[
            _row(name, summary, [_row(*attempt) for attempt in attempts.get(name, {}).items()])
            for name, summary in summaries.items()
        ],
        interval=MedianInterval(total_p50=_interval(totals), seed=SEED),
        slo=[{"run": name, **slo.as_json()} for name, summary in summaries.items() for slo in summary.slo],
    )


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    if not values:
        return None
    low, high = resampled_interval(values)
    return round(low, DECIMALS), round(high, DECIMALS)


def _row(name: str, summary: Summary, attempts: Sequence[Repetition] | None = None) -> Repetition:
    row = Repetition(
        run=summary.run,
        directory=name,
        verdict=summary.verdict,
        state=summary.state,
        total_p50=summary.percentile_ms("total", "p50"),
        total_p99=summary.percentile_ms("total", "p99"),
        rate_output=summary.rate_per_s.output,
        reasons=summary.reasons,
    )
    return row if attempts is None else row.with_changes(invalid_attempts=attempts)


def check_free(path: Path) -> None:
    """Raises UsageError when several runs cannot be written there."""
    rundir.check_free(path, "directory for the runs")
