"""A run in Markdown, for the summary of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.summary import Summary
from streamgauge.report.expectations import Expectation
from streamgauge.report.text import bounded, number, rounded

_MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️", "skipped": "➖"}
_COLUMNS = ("p50", "p90", "p99", "p999", "max", "mean")
_WARNINGS_MOST = 5


def markdown(summary: Summary, expectations: Sequence[Expectation], report: str = "") -> str:
    """The verdict first, then every expectation, latencies, rates and warnings."""
    mark = "❌" if any(one.is_red for one in expectations) else "✅"
    about = f"{summary.study}/{summary.scenario} on {summary.engine.name} {summary.engine.version}".strip()
    lines = [f"### {mark} {summary.verdict} · {_text(about)}", "", "| expected | | |", "|---|---|---|"]
    for one in expectations:
        lines.append(f"| {_text(one.name)} | {_MARKS[one.outcome]} {one.outcome} | {_text(one.message)} |")
    known = {kind: figures for kind in LATENCY_NAMES if (figures := summary.latency(kind)).get("count")}
    if known:
        lines += ["", f"| latency, ms | {' | '.join(_COLUMNS)} |", f"|---|{'---:|' * len(_COLUMNS)}"]
        for kind, figures in known.items():
            cells = " | ".join(bounded(figures, name, rounded) for name in _COLUMNS)
            lines.append(f"| {LATENCY_NAMES[kind]} | {cells} |")
    rates = summary.rate_per_s
    lines += ["", f"Offered {number(rates.offered)}/s, output {number(rates.output)}/s."]
    warnings = list(summary.warnings)
    if warnings:
        lines += ["", "<details><summary>Warnings</summary>", ""]
        lines += [f"- {_text(warning)}" for warning in warnings[:_WARNINGS_MOST]]
        if len(warnings) > _WARNINGS_MOST:
            lines.append(f"- and {len(warnings) - _WARNINGS_MOST} more in the report")
        lines += ["", "</details>"]
    if report:
        lines += ["", f"Report: `{report}`"]
    return "\n".join(lines) + "\n\n"


def _text(text: str) -> str:
    """Of somebody's program, perhaps: neither a cell nor HTML ends in it."""
    for char, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "\\`"), ("\n", " ")):
        text = text.replace(char, shown)
    return text
