"""Puts the tables and figures of one run on one HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.report import text
from streamgauge.report.bursts import burst_moments, burst_rows
from streamgauge.report.figures import all_figures
from streamgauge.report.recovery import fault_results, fault_rows
from streamgauge.report.source import Source, read
from streamgauge.report.tables import (
    attempt_rows,
    clock_rows,
    generator_rows,
    headlines,
    latency_rows,
    machine_rows,
    negative_latencies,
    provenance_rows,
    rate_rows,
    resource_rows,
    result_rows,
    when_visible,
)
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from jinja2 import Template


def write_page(run: RunDir) -> Path:
    """See ``report.write``."""
    page = render(read(run))
    target: Path = run.report_path
    part = target.with_name(target.name + ".part")
    part.write_text(page, encoding="utf-8")
    part.replace(target)
    return target


def render(source: Source) -> str:
    """The whole page. The same run gives the same bytes."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    figures = all_figures(source)
    scripts = {"plotly_js": get_plotlyjs() if figures else "", "draw_js": packaged("page.js")}
    return _template().render(
        css=Markup(packaged("page.css")),  # noqa: S704  the package's own files
        **{name: Markup(script) for name, script in scripts.items()},  # noqa: S704  the packages' own files
        script_hashes=[csp_hash(script) for script in scripts.values()],
        figures=figures,
        figures_json=Markup(as_script_data(figures)),  # noqa: S704  escaped there
        **context(source),
    )


@cache
def _template() -> Template:
    """Compiled once: a campaign writes many pages."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.ChainableUndefined,  # a run that died early lacks what others have
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=text.number,
        plain=text.plain,
        argv=text.argv,
        rounded=text.rounded,
        scaled=text.scaled,
    )
    environment.tests["records"] = _is_records
    return environment.from_string(packaged("page.html.j2"))


def context(source: Source) -> dict[str, Any]:
    """What the template says in words and tables."""
    summary, manifest = source.summary, source.manifest.as_json()
    verdict, state = summary.verdict, summary.state
    mark, meaning = text.VERDICTS[verdict]
    unvalidated = summary.validated is False
    if unvalidated and verdict == "VALID":
        meaning = text.UNVALIDATED
    return {
        "manifest": manifest,
        "outcome": source.outcome,
        "summary": summary,
        "scenario": manifest["scenario"],
        "engine": manifest["engine"],
        "transport": manifest["transport"],
        "verdict": {
            "word": verdict,
            "mark": mark,
            "meaning": meaning,
            "note": "unvalidated: no reference" if unvalidated else "",
            "usable": verdict == "VALID",
            "style": verdict.lower(),
        },
        "state": {"word": state or "not judged", "meaning": _meaning_of_state(source)},
        "reasons": [text.plain(reason) for reason in summary.reasons],
        "warnings": [text.plain(warning) for warning in summary.warnings],
        "missing": source.missing,
        "phases": source.phases,
        "headlines": headlines(source),
        "results": result_rows(source),
        "latencies": latency_rows(source),
        "negative_latencies": negative_latencies(source),
        "when_visible": when_visible(source),
        "generator": generator_rows(source),
        "resources": resource_rows(source),
        "machine": machine_rows(source),
        "clock": clock_rows(source),
        "backlog": summary.backlog or {},
        "rates": rate_rows(source),
        "provenance": provenance_rows(source),
        "burst": summary.burst,
        "burst_moments": burst_moments(source),
        "bursts": burst_rows(source),
        "faults": fault_rows(source),
        "fault_results": fault_results(source),
        "slo": [entry.as_json() for entry in summary.slo],
        "repetitions": summary.repetitions,
        "attempts": attempt_rows(source),
    }


def _meaning_of_state(source: Source) -> str:
    return text.plain(source.summary.state_reason or text.STATES.get(source.summary.state or "", ""))


def as_script_data(content: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever strings it holds."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def packaged(name: str) -> str:
    return resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_records(value: Any) -> bool:
    """A list of objects, to be shown as one table."""
    return isinstance(value, Sequence) and bool(value) and all(isinstance(item, Mapping) for item in value)
