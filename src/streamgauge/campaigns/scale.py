"""How a capacity grows with an option of the engine: one search for each value of the option, and what they show.

``OUT/OPTION-VALUE`` are ordinary search directories; ``OUT/scale.json`` puts them together after each of them, and
``OUT/report.html`` shows them. A search begins where the smaller values lead to expect its edge, so that no further
backlog is drained. Only searches in which the engine was the limit count for the line through the points: a ceiling of
the generator or the transport is only a bound of the capacity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.campaigns.capacity import CapacitySearch, Show, find_capacity, searched
from streamgauge.campaigns.capacity_file import check_resumable
from streamgauge.campaigns.capacity_file import searched as shared_fields
from streamgauge.campaigns.capacity_set import is_finished, read_search, row_of
from streamgauge.campaigns.search import four_digits, limited_by
from streamgauge.errors import EXIT_MISSED, EXIT_OK, EngineFailed, InvalidMeasurement, StreamgaugeError, UsageError
from streamgauge.measure.reporter import Reporter
from streamgauge.model import scale as files
from streamgauge.model.capacity import NAME as CAPACITY_NAME
from streamgauge.model.capacity import Capacity
from streamgauge.model.scale import ENGINE, NAME, RANGE, Regression, Scale, ScalePoint, typed_value
from streamgauge.notices import Notice, notice
from streamgauge.processes import directory_lock, memory_limit
from streamgauge.regression import fit
from streamgauge.report.capacity import write_capacity
from streamgauge.report.scale import write_scale
from streamgauge.rundir import check_free
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import fields
from streamgauge.studies.search_axis import number_of, with_changes

DECIMALS = 6
MEMORY_LIMIT = "instance_memory_mb"
"""The option of engines whose instances can have a limit."""


@dataclass(frozen=True)
class ScaleSearch:
    """A search, and the option of the engine whose values it is made for, from the smallest to the largest."""

    search: CapacitySearch
    against: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raises UsageError for anything that a search at one of the values would refuse."""
        if self.against == self.search.axis.name:
            raise UsageError(f"--over and --against are both {self.against}", expected="two different values")
        scenarios = [self.at(value).request.scenario for value in self.values]
        members = [registry.engine(one.engine).group_members(one.engine_options) for one in scenarios]
        for value, count, scenario in zip(self.values, members, scenarios, strict=True):
            if count > scenario.partitions:
                raise UsageError(
                    f"--against {self.against}={typed_value(value)}: {count} members of the consumer group share "
                    f"{scenario.partitions} partitions, so {count - scenario.partitions} would have no work",
                    expected="at least as many partitions as members",
                    hint=f"--set partitions={max(members)}",
                )

    @property
    def out(self) -> Path:
        return self.search.request.out

    def at(self, value: float, guess: float | None = None) -> CapacitySearch:
        """The search at a value of the option."""
        request = self.search.request
        typed = {self.against: f"--against {self.against}={typed_value(value)}"}
        scenario = with_changes(request.scenario, {self.against: typed_value(value)}, typed)
        request = replace(request, scenario=scenario, out=self.out / self.directory(value))
        return replace(self.search, request=request, guess=guess)

    def directory(self, value: float) -> str:
        return f"{self.against}-{typed_value(value)}"

    def settings(self) -> dict[str, Any]:
        """Everything that must be the same to resume the searches; values may be added."""
        settings = self.search.settings()
        options = {name: value for name, value in settings["options"].items() if name != self.against}
        return {"against": self.against, **settings, "options": options}


def parse_against(text: str, engine_name: str) -> tuple[str, tuple[float, ...]]:
    """``KEY=1,2,4`` with a number of the engine's options. Raises UsageError."""
    key, equals, listed = (part.strip() for part in text.partition("="))
    typed = f"--against {text}"
    options = registry.engine(engine_name).options.model_fields
    numbers = {name: field for name, field in options.items() if fields.is_number(field)}
    if not equals or not key or not listed:
        raise UsageError(f"invalid {typed}: expected KEY=VALUE,VALUE,…", hint="--against instances=1,2,4")
    if key not in numbers:
        raise registry.unknown(f"--against for engine {engine_name}", key, list(numbers))
    values = [number_of(key, numbers[key], part.strip(), f"{typed} ({part.strip()!r})") for part in listed.split(",")]
    if len({*values}) != len(values) or len(values) < 2:
        raise UsageError(f"invalid {typed}: expected at least two values, each once", hint=f"--against {key}=1,2,4")
    return key, tuple(sorted(values))


def find_scale(campaign: ScaleSearch, reporter: Reporter, show: Show = lambda row: None) -> Scale:
    """One search for each value, below ``OUT``; returns the content of ``scale.json``.

    Finished searches are not repeated, and an unfinished one is resumed. Where the system under test fails, the other
    values are still searched. Raises UsageError when the directory holds anything else or more values, or another
    command is using it, whatever would refuse a search at one of the values, before the first one begins, and whatever
    else stops a single search; what was found until then stays.
    """
    with directory_lock.hold(campaign.out):
        _check(campaign)
        _check_pending(campaign)
        campaign.out.mkdir(parents=True, exist_ok=True)
        content, axis = write_points(campaign), campaign.search.axis
        for value in campaign.values:
            reporter.say(f"{campaign.against} {typed_value(value)}")
            search = campaign.at(value, predicted([p for p in content.points if p.value < value], value, axis))
            try:
                find_capacity(search, reporter, show)
            except EngineFailed as failure:
                reporter.warn(notice("scale-failed", at=f"{campaign.against} {typed_value(value)}", why=failure.what))
            except UsageError:
                # Something else may be there.
                raise
            except StreamgaugeError:
                _write_pages(campaign, search.request.out)
                raise
            content = _write_pages(campaign, search.request.out)
        return content


def predicted(smaller: Sequence[ScalePoint], value: float, axis: SearchAxis) -> float | None:
    """Where to begin, from what was found at smaller values of the option; None where nothing was.

    The last two show by which power of the option the capacity grows; of one alone, in proportion is assumed. Where
    the last is a ceiling of the load, no more than that can be sent.
    """
    known = [(point.value, point.best) for point in smaller if point.best is not None]
    if not known:
        return None
    (last, best), power = known[-1], 1.0 if axis.more_is_harder else -1.0
    if len(known) > 1:
        before, best_before = known[-2]
        power = math.log(best / best_before) / math.log(last / before)
    if any(point.value == last and not point.is_edge for point in smaller):
        power = 0.0
    guess = best * (value / last) ** min(max(power, -1.0), 1.0)
    return max(round(guess), 1) if axis.whole else four_digits(guess)


def _check(campaign: ScaleSearch) -> None:
    path = campaign.out / NAME
    if not path.is_file():
        check_free(campaign.out, "directory of the searches", NAME)
        return
    content = files.read(path)
    check_resumable(path, content.settings, campaign.settings())
    if left_out := [value for value in content.values if value not in campaign.values]:
        raise UsageError(
            f"the directory holds more values of {content.against}",
            where=path,
            got=f"--against {_listed(campaign.against, campaign.values)}",
            expected=f"{', '.join(map(typed_value, left_out))} as well",
            hint=f"--against {_listed(content.against, sorted({*campaign.values, *content.values}))}",
        )


def _check_pending(campaign: ScaleSearch) -> None:
    """Raises what would refuse a search at one of the values, before hours were spent on those before it."""
    for value in campaign.values:
        search = campaign.at(value)
        if is_finished(search.request.out):
            continue
        try:
            search.check()
        except StreamgaugeError as problem:
            raise problem.about(f"--against {campaign.against}={typed_value(value)}") from None


def _listed(against: str, values: Sequence[float]) -> str:
    return f"{against}={','.join(map(typed_value, values))}"


def _write_pages(campaign: ScaleSearch, search: Path) -> Scale:
    if (search / CAPACITY_NAME).is_file():
        write_capacity(search)
    return write_points(campaign)


def write_points(campaign: ScaleSearch) -> Scale:
    """Put the searches together, as far as they are there; returns the content."""
    paths = {value: campaign.out / campaign.directory(value) / CAPACITY_NAME for value in campaign.values}
    searches = {value: read_search(path) for value, path in paths.items() if path.is_file()}
    content = summarize(campaign, searches)
    files.write(campaign.out / NAME, content)
    write_scale(campaign.out)
    return content


def summarize(campaign: ScaleSearch, searches: Mapping[float, Capacity]) -> Scale:
    """The content of ``scale.json``."""
    settings, axis = campaign.settings(), campaign.search.axis
    points: list[ScalePoint] = []
    for value, search in searches.items():
        row = row_of(campaign.directory(value), search).as_json()
        points.append(ScalePoint(**row, value=value, limited_by=limit_of(search), efficiency=None))
    points = [
        point.with_changes(efficiency=efficiency(point, points[0], axis))
        if point.best is not None and points[0].value == campaign.values[0]
        else point
        for point in points
    ]
    ended = [point for point in points if point.outcome is not None or point.failed]
    return Scale(
        **{**shared_fields(settings), "format": files.FORMAT},
        against=campaign.against,
        values=campaign.values,
        state="finished" if len(ended) == len(campaign.values) else "unfinished",
        points=points,
        regression=regression(points),
        notes=_notes(points, searches, campaign),
        seconds=round(sum(point.seconds for point in points), 1),
        settings=settings,
    )


def limit_of(search: Capacity) -> str | None:
    """What kept the search from a harder value: the engine, the generator, the transport's server, or the range."""
    if search.outcome == "missed" or search.is_edge:
        return ENGINE
    if search.outcome is None:
        return None
    return limited_by(searched(search.probes)) or RANGE


def efficiency(point: ScalePoint, first: ScalePoint, axis: SearchAxis) -> float | None:
    """What each unit of the option adds, against the first point; None where the first is only a bound."""
    if point.best is None or first.best is None or not first.is_edge:
        return None
    gained = point.best / first.best if axis.more_is_harder else first.best / point.best
    return round(gained / (point.value / first.value), DECIMALS)


def regression(points: Sequence[ScalePoint]) -> Regression | None:
    """The line through the points at which the engine was the limit."""
    line = fit([(point.value, point.best) for point in points if point.is_edge and point.best is not None])
    if line is None:
        return None
    return Regression(
        points=line.points,
        slope=round(line.slope, DECIMALS),
        intercept=round(line.intercept, DECIMALS),
        slope_interval=_rounded(line.slope_interval),
        intercept_interval=_rounded(line.intercept_interval),
        r_squared=round(line.r_squared, DECIMALS),
    )


def _rounded(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if ends is None else (round(ends[0], DECIMALS), round(ends[1], DECIMALS))


def _notes(points: Sequence[ScalePoint], searches: Mapping[float, Capacity], campaign: ScaleSearch) -> Sequence[Notice]:
    """What has to be known beside the numbers."""
    notes = [note for point in points if (note := _note(point, campaign))]
    if any(probe.rule for search in searches.values() for probe in search.probes):
        notes.append(notice("lag-in-steps"))
    if campaign.search.request.scenario.engine_options.get(MEMORY_LIMIT) and memory_limit.parent() is None:
        notes.append(notice("no-memory-limit", role=ENGINE, why=memory_limit.WHY_NOT))
    return notes


def _note(point: ScalePoint, campaign: ScaleSearch) -> Notice | None:
    """Where the engine was not the limit, or failed."""
    at = f"{campaign.against} {typed_value(point.value)}"
    if point.failed:
        return notice("scale-failed", at=at, why=point.note)
    if point.limited_by in (None, ENGINE) or point.best is None:
        return None
    axis = campaign.search.axis
    bound = f"at {'least' if axis.more_is_harder else 'most'} {point.best:,} {axis.unit}"
    if point.limited_by == RANGE:
        return notice("scale-range", at=at, bound=bound)
    return notice("scale-limited", at=at, limit=point.limited_by, bound=bound)


def exit_code(content: Scale) -> int:
    """What the command that made this file ends with (docs/reference/exit-codes.md)."""
    if any(point.outcome == "invalid" for point in content.points):
        return InvalidMeasurement.exit_code
    if any(point.failed for point in content.points):
        return EngineFailed.exit_code
    return EXIT_MISSED if any(point.outcome == "missed" for point in content.points) else EXIT_OK
