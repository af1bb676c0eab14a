"""Several whole searches for the same capacity, and their summary.

``OUT/1``, ``OUT/2``, … are ordinary search directories; ``OUT/capacity.json`` puts them together, ``OUT/report.html``
shows them. One search gives a bracket (best sustained, nearest not sustained), which is not a confidence interval: a
capacity varies from search to search. Its interval comes from several of them.

Each search drains a backlog of its own and shares nothing with the others. The first guess decides which rates are
probed, guess × (1 + resolution)^k, so searches with nearly the same guess would all round the capacity in the same
way, and agree better than they measured. Therefore the guess of search n is raised by a part of one resolution,
another one for each n.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.campaigns.capacity import CapacitySearch, find_capacity
from streamgauge.campaigns.capacity_file import check_resumable, searched
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.evaluate.comparison import RUNS_MIN, SEED, resampled_interval
from streamgauge.measure.reporter import Reporter
from streamgauge.model import capacity as files
from streamgauge.model.capacity import NAME, Capacity, CapacityProbe, CapacitySet, MedianInterval, SearchRow
from streamgauge.processes import directory_lock
from streamgauge.report.capacity import write_capacity
from streamgauge.rundir import check_free

GOLDEN = 0.6180339887498949
"""Multiples of it, without their whole part, lie evenly between 0 and 1 however many there are."""
_WORST_FIRST = (None, "invalid", "missed", "ceiling", "found")


def find_capacities(
    search: CapacitySearch, runs: int, reporter: Reporter, show: Callable[[CapacityProbe], None] = lambda row: None
) -> CapacitySet:
    """``runs`` searches below ``search.request.out``, one after another; returns the set's ``capacity.json``.

    Finished searches are not repeated, and an unfinished one is resumed. Raises UsageError when the directory holds
    anything else or more searches than that, or another command is using it, and whatever stops a single search; what
    was found until then stays.
    """
    with directory_lock.hold(search.request.out):
        return _find_capacities(search, runs, reporter, show)


def _find_capacities(
    search: CapacitySearch, runs: int, reporter: Reporter, show: Callable[[CapacityProbe], None]
) -> CapacitySet:
    out, settings = search.request.out, search.settings()
    _check(out, settings, runs)
    if pending := next((number for number in range(1, runs + 1) if not is_finished(out / str(number))), None):
        _numbered(search, pending).check()
    out.mkdir(parents=True, exist_ok=True)
    content = write_set(out, settings, runs)
    for number in range(1, runs + 1):
        reporter.say(f"search {number} of {runs}")
        one = _numbered(search, number)
        try:
            find_capacity(one, reporter, show)
        except UsageError:
            # Something else may be there.
            raise
        except StreamgaugeError:
            _write_pages(one.request.out, settings, runs)
            raise
        content = _write_pages(one.request.out, settings, runs)
    return content


def _numbered(search: CapacitySearch, number: int) -> CapacitySearch:
    request = replace(search.request, out=search.request.out / str(number))
    return replace(search, request=request, shift=(number - 1) * GOLDEN % 1)


def _check(out: Path, settings: Mapping[str, Any], runs: int) -> None:
    path = out / NAME
    if not path.is_file():
        check_free(out, "directory of the searches", NAME)
        return
    content = files.read(path)
    if isinstance(content, Capacity):
        raise UsageError(
            "the directory holds a single search",
            where=path,
            got=f"--runs {runs}",
            hint="another --out, or the same command without --runs",
        )
    check_resumable(path, content.settings, settings)
    if runs < content.runs:
        raise UsageError(
            "the directory holds more searches",
            where=path,
            got=f"--runs {runs}",
            expected=f"--runs {content.runs} or more",
        )


def _write_pages(search: Path, settings: Mapping[str, Any], runs: int) -> CapacitySet:
    if (search / NAME).is_file():
        write_capacity(search)
    return write_set(search.parent, settings, runs)


def write_set(out: Path, settings: Mapping[str, Any], runs: int) -> CapacitySet:
    """Put the searches ``1`` … ``runs`` of a directory together, as far as they are there; returns the content."""
    paths = {str(number): out / str(number) / NAME for number in range(1, runs + 1)}
    searches = {name: read_search(path) for name, path in paths.items() if path.is_file()}
    content = summarize(settings, runs, searches)
    files.write(out / NAME, content)
    write_capacity(out)
    return content


def read_search(path: Path) -> Capacity:
    stored = files.read(path)
    if isinstance(stored, CapacitySet):
        raise UsageError("a set of searches lies where one search was expected", where=path)
    return stored


def is_finished(directory: Path) -> bool:
    """Whether it holds a search with an answer. Raises UsageError for a damaged file."""
    path = directory / NAME
    return path.is_file() and read_search(path).outcome is not None


def summarize(settings: Mapping[str, Any], runs: int, searches: Mapping[str, Capacity]) -> CapacitySet:
    """The content of a set's file. ``median`` and ``interval`` are of the best sustained values.

    The interval is left out unless every search found its edge: with a lower bound in place of a capacity, or without
    the searches that sustained nothing, it would be wrong.
    """
    rows = [row_of(name, search) for name, search in searches.items()]
    outcomes = {row.outcome for row in rows} | ({None} if len(rows) < runs else set())
    best = [row.interval[0] for row in rows if row.outcome in ("found", "ceiling") and row.interval[0] is not None]
    every_edge = all(row.outcome == "found" for row in rows)
    validated = {row.validated for row in rows}
    return CapacitySet(
        **searched(settings),
        runs=runs,
        outcome=min(outcomes, key=_WORST_FIRST.index),
        median=statistics.median(best) if best else None,
        interval=MedianInterval(
            best=resampled_interval(best) if every_edge and len(best) >= RUNS_MIN else None, seed=SEED
        ),
        confirmed=bool(rows) and all(row.confirmed for row in rows),
        validated=False if False in validated else True if validated == {True} else None,
        note="; ".join(f"search {row.directory}: {row.note}" for row in rows if row.note),
        searches=rows,
        seconds=round(sum(row.seconds for row in rows), 1),
        settings=dict(settings),
    )


def row_of(directory: str, search: Capacity) -> SearchRow:
    return SearchRow(
        directory=directory,
        outcome=search.outcome,
        interval=search.interval,
        confirmed=search.confirmed,
        validated=search.validated,
        note=search.note,
        best_latency_ms=search.best_latency_ms,
        guess=search.guess,
        seconds=search.seconds,
    )
