"""What a run ends with on the terminal: the verdict first, then a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.layout import echo_json

if TYPE_CHECKING:
    from rich.table import Table

    from streamgauge.model.summary import FaultFigures, SloResult, Summary
    from streamgauge.rundir import RunDir

AsJson = Annotated[bool, typer.Option("--json", help="Print summary.json alone on stdout.")]

_RECOVERY = {
    "outage_s": "outage",
    "gap_before_s": "longest gap before",
    "outage_worst_s": "worst partition",
    "first_output_s": "output after",
    "latency_back_s": "latency back after",
    "backlog_back_s": "backlog back after",
}
_COLOURS = {"VALID": "green", "INVALID": "yellow", "FAILED": "red"}


def finish(run: RunDir, summary: Summary, as_json: bool) -> None:
    """Print verdict and figures, with ``--json`` on stderr and the summary alone on stdout; end with its exit code."""
    from streamgauge.evaluate.verdict import exit_code

    print_result(run, summary, to_stderr=as_json)
    if as_json:
        echo_json(summary.as_json())
    raise typer.Exit(exit_code(summary))


def print_result(run: RunDir, summary: Summary, *, to_stderr: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False, stderr=to_stderr)
    verdict = summary.verdict
    console.print(
        f"\n[bold {_COLOURS[verdict]}]{verdict}[/]",
        *(() if summary.validated is not False else ("· unvalidated: no reference",)),
        "·",
        f"state {summary.state or 'unknown'}",
        _sustained(summary),
    )
    if summary.state_reason:
        console.print(f"  {summary.state_reason}", markup=False, soft_wrap=True)
    for reason in summary.reasons:
        console.print(f"  because {reason}", markup=False, soft_wrap=True)
    for warning in (text for text in summary.warnings if text != summary.state_reason):
        console.print(f"  warning: {warning}", markup=False, soft_wrap=True)
    for process in (one for one in run.outcome().ended if one.log_tail):
        console.print(f"  last lines of {run.log(process.role)}:", markup=False, soft_wrap=True)
        console.print("\n".join(f"    {line}" for line in process.log_tail.splitlines()), markup=False, soft_wrap=True)
    console.print(_latencies(summary))
    console.print(_line("results", summary.results), soft_wrap=True)
    if summary.processing:
        console.print(_line("throughput", summary.processing), soft_wrap=True)
    else:
        console.print(_line("rate/s", summary.rate_per_s.as_json()), soft_wrap=True)
    if summary.generator is not None:
        console.print(_line("generator", summary.generator.as_json()), soft_wrap=True)
    if summary.burst is not None:
        burst = summary.burst.as_json().items()
        shown = {key: len(value) if key == "bursts" else value for key, value in burst if key != "kind"}
        console.print(_line("burst", shown), soft_wrap=True)
    for fault in summary.faults:
        console.print(_fault(fault), markup=False, soft_wrap=True)
    for objective in summary.slo:
        console.print(_objective(objective), markup=False, soft_wrap=True)
    if verdict != "VALID":
        console.print(f"[{_COLOURS[verdict]}]These numbers are not to be used: {verdict}.[/]")
    console.print(f"report   {run.report_path}", markup=False, soft_wrap=True)
    console.print(f"summary  {run.summary_path}", markup=False, soft_wrap=True)


def _sustained(summary: Summary) -> str:
    """Nothing for a run whose answers are wrong: what it kept up with was not the work."""
    if summary.verdict == "FAILED":
        return ""
    return {True: "· sustained", False: "· not sustained", None: ""}[summary.sustained]


def _latencies(summary: Summary) -> Table:
    from rich.table import Table

    columns = ("count", *(("missing",) if _any_missing(summary) else ()), "p50", "p90", "p99", "p999", "max", "mean")
    table = Table("latency, ms", *columns, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for kind in ("total", "latest", "average"):
        figures = summary.latency(kind)
        table.add_row(kind, *(_bounded(figures, column) for column in columns))
    return table


def _any_missing(summary: Summary) -> bool:
    return any(summary.latency(kind).get("missing") for kind in summary.latency_ms)


def _bounded(figures: Mapping[str, Any], name: str) -> str:
    """The figure, or at least how much it is."""
    bound = figures.get(f"{name}_at_least")
    return _number(figures.get(name)) if bound is None else f"≥ {bound:,.0f}"


def _fault(fault: FaultFigures) -> str:
    """One fault: as it was asked for, and how the run took it."""
    if not fault.took_effect:
        return f"{'fault':<11}{fault.fault}: did not take effect, {fault.why_not}"
    fields = fault.as_json()
    figures = (
        f"{word} {'–' if fields.get(key) is None else f'{fields[key]:,.2f} s'}" for key, word in _RECOVERY.items()
    )
    return f"{'fault':<11}{fault.fault}: {', '.join(figures)}"


def _objective(objective: SloResult) -> str:
    """One SLO: as it was written, what was measured, the limit, and whether it was held."""
    value, at_least, limit = (
        "none" if number is None else f"{number:,.6g}{objective.unit}"
        for number in (objective.value, objective.at_least, objective.limit)
    )
    value = value if objective.at_least is None else f"at least {at_least}"
    outcome = "held" if objective.passed else "missed"
    return f"{'slo':<11}{objective.slo}: {outcome}, value {value}, limit {limit}"


def _line(name: str, figures: Mapping[str, Any]) -> str:
    """Only numbers: a newer version may have written other values."""
    shown = {key: value for key, value in figures.items() if value is None or isinstance(value, int | float)}
    return f"{name:<11}" + "  ".join(f"{key} {_number(value)}" for key, value in shown.items())


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if isinstance(value, float) and value != int(value) else f"{value:,.0f}"
