"""The page of a capacity search: the answer first, latency against rate, every probe. That of a set: every search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from streamgauge.model.capacity import NAME, Capacity, CapacityProbe, CapacitySet, SearchRow, read
from streamgauge.report import text
from streamgauge.report.draw import Figure, figure, line, logarithmic
from streamgauge.report.page import as_script_data, csp_hash, packaged
from streamgauge.search_axis import SearchAxis

_STYLES = {"found": "valid", "ceiling": "valid", "missed": "failed", "invalid": "invalid", None: "invalid"}
_PERCENTILES: tuple[tuple[Literal["p50", "p99"], str], ...] = (("p50", "--s1"), ("p99", "--s2"))
_MARKS = {"valid": "✓", "failed": "✕", "invalid": "!"}


def write_capacity(out: Path) -> Path:
    """Write ``report.html`` beside ``capacity.json``, whole or not at all, and return its path."""
    page = render(read(out / NAME))
    target = out / "report.html"
    part = target.with_name(target.name + ".part")
    part.write_text(page, encoding="utf-8")
    part.replace(target)
    return target


def render(capacity: Capacity | CapacitySet) -> str:
    """The whole page. The same search gives the same bytes."""
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    drawn = None if isinstance(capacity, CapacitySet) else latency_against_value(capacity)
    figures = {} if drawn is None else {"latency": drawn}
    scripts = {"plotly_js": get_plotlyjs() if figures else "", "draw_js": packaged("page.js")}
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(number=text.number, plain=text.plain, answer=lambda search: bracket(search, capacity))
    verdict, sentence = headline(capacity)
    style = "failed" if verdict == "FAILED" else _STYLES.get(capacity.outcome, "invalid")
    template = "capacity_set.html.j2" if isinstance(capacity, CapacitySet) else "capacity.html.j2"
    return environment.from_string(packaged(template)).render(
        css=Markup(packaged("page.css")),  # noqa: S704  the package's own files
        **{name: Markup(script) for name, script in scripts.items()},  # noqa: S704  the packages' own files
        script_hashes=[csp_hash(script) for script in scripts.values()],
        figures=figures,
        figures_json=Markup(as_script_data(figures)),  # noqa: S704  escaped there
        capacity=capacity,
        word=verdict,
        sentence=sentence,
        style=style,
        mark=_MARKS[style],
    )


def headline(capacity: Capacity | CapacitySet) -> tuple[str, str]:
    """One word and one sentence, of a search or of a set of them."""
    outcome = capacity.outcome
    if outcome in ("found", "ceiling"):
        return "FOUND", _median(capacity) if isinstance(capacity, CapacitySet) else bracket(capacity, capacity)
    if isinstance(capacity, CapacitySet):
        return _of_unusable_set(capacity)
    if outcome == "missed":
        return "MISSED", f"nothing is sustained, not even {capacity.interval[1]:,} {capacity.unit}"
    if outcome == "invalid":
        return "INVALID", "the measurements cannot be trusted"
    if capacity.note:
        return "FAILED", "the system under test failed"
    return "UNFINISHED", "the search has not come to its end"


def bracket(search: Capacity | SearchRow, capacity: Capacity | CapacitySet) -> str:
    """What a search found, by its file or by its row in that of a set. ``capacity`` says what was searched."""
    best, beyond = search.interval
    if best is None:
        unfinished = "FAILED" if search.note else "not finished"
        return {"missed": "nothing is sustained", "invalid": "INVALID"}.get(search.outcome or "", unfinished)
    if beyond is not None:
        return f"{best:,} {capacity.unit} sustained, {beyond:,} not ({_checked(search)})"
    return f"{_at_least(capacity)} {best:,} {capacity.unit} sustained ({_checked(search)}), the edge was not reached"


def _median(capacity: CapacitySet) -> str:
    """Of a set whose searches all found something."""
    of_edge = "" if capacity.outcome == "found" else f"{_at_least(capacity)} "
    ends = capacity.interval.best
    interval = f", 95 % interval {text.rounded(ends[0])} to {text.rounded(ends[1])}" if ends else ""
    searches = f"median of {len(capacity.searches)} searches{interval}"
    best = text.rounded(capacity.median)
    return f"{of_edge}{best} {capacity.unit} sustained, {searches} ({_checked(capacity)})"


def _of_unusable_set(capacity: CapacitySet) -> tuple[str, str]:
    outcome, listed = capacity.outcome, capacity.searches
    if outcome is None:
        done = sum(search.outcome is not None for search in listed)
        return "UNFINISHED", f"{done} of {capacity.runs} searches have come to their end"
    bad = ", ".join(search.directory for search in listed if search.outcome == outcome)
    if outcome == "missed":
        return "MISSED", f"nothing is sustained in search {bad}"
    return "INVALID", f"the measurements of search {bad} cannot be trusted"


def _at_least(capacity: Capacity | CapacitySet) -> str:
    return "at least" if SearchAxis.of_file(capacity).more_is_harder else "at most"


def _checked(capacity: Capacity | CapacitySet | SearchRow) -> str:
    """Whether the answer was confirmed, and whether the results were checked, where that is known."""
    confirmed, validated = "confirmed" if capacity.confirmed else "not confirmed", capacity.validated
    if validated is None:
        return confirmed
    return f"{confirmed}, {'validated' if validated else 'unvalidated: no reference'}"


def latency_against_value(capacity: Capacity) -> Figure | None:
    """p50 and p99 of every probe that has them, and the zone shaded in which nothing is sustained."""
    shown = [p for p in capacity.probes if p.verdict in ("sustained", "not sustained", "undecided")]
    # Of several probes at one value the last: the repeated one, or the confirming run.
    last = {p.value: p for p in shown if (p.total_p50 or 0) > 0}
    timed = [last[value] for value in sorted(last)]
    if not timed:
        return None
    values = [p.value for p in timed]
    traces = []
    for name, color in _PERCENTILES:
        latencies = [p.total(name) for p in timed]
        symbols = ["circle" if p.verdict == "sustained" else "x" for p in timed]
        trace = line(name, values, latencies, color, "ms")
        traces.append({**trace, "mode": "lines+markers", "marker": {"color": color, "size": 9, "symbol": symbols}})
    unit = capacity.unit
    x_axis = logarithmic(unit, [p.value for p in shown])
    # The searched range is mostly narrower than from one round number to the next.
    ticks = sorted({values[0], values[-1], capacity.interval[0] or values[0]})
    x_axis |= {"tickvals": ticks, "ticktext": [text.number(tick) for tick in ticks]}
    shapes, notes = unsustainable(capacity, shown, x_axis["range"])
    y_axis = logarithmic("total latency (ms)", [v for trace in traces for v in trace["y"]])
    return figure(traces, x_axis, y_axis, shapes=shapes, annotations=notes, hovermode="closest")


def unsustainable(
    capacity: Capacity, shown: Sequence[CapacityProbe], x_range: Sequence[float]
) -> tuple[list[Figure], list[Figure]]:
    """The zone beyond the edge as a shape, and its label; nothing while no probe has failed."""
    failed = [p.value for p in shown if p.verdict != "sustained"]
    beyond = capacity.interval[1]
    if beyond is None and not failed:
        return [], []
    upwards = SearchAxis.of_file(capacity).more_is_harder
    edge = beyond if beyond is not None else min(failed) if upwards else max(failed)
    ends = (edge, 10 ** x_range[1]) if upwards else (10 ** x_range[0], edge)
    zone = {
        "type": "rect",
        "layer": "below",
        "yref": "paper",
        "x0": ends[0],
        "x1": ends[1],
        "y0": 0,
        "y1": 1,
        "fillcolor": "--band",
        "line": {"width": 0},
    }
    note = {
        "xref": "paper",
        "x": 0.99 if upwards else 0.01,
        "xanchor": "right" if upwards else "left",
        "yref": "paper",
        # Below: what is not sustained has its markers above.
        "y": 0.02,
        "yanchor": "bottom",
        "text": "not sustained",
        "showarrow": False,
        "font": {"size": 11, "color": "--muted"},
    }
    return [zone], [note]
