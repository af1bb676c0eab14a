"""What a run ends with on the terminal: the verdict first, then a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from streamgauge.cli.layout import echo_json, wrapped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from streamgauge.model.comparison import Comparison
    from streamgauge.model.summary import Durability, FaultFigures, NodeFigures, SloResult, Summary
    from streamgauge.report.expectations import Expectation
    from streamgauge.rundir import RunDir

AsJson = Annotated[bool, typer.Option("--json", help="Print summary.json alone on stdout.")]

_RECOVERY = {
    "outage_s": "outage",
    "gap_before_s": "longest gap before",
    "outage_worst_s": "worst partition",
    "first_output_s": "output again after",
    "latency_back_s": "latency back after",
    "backlog_back_s": "backlog back after",
}
_UNITS = {"_mb_per_s": " MB/s", "_per_s": "/s", "_ms": " ms", "_s": " s", "_percent": " %"}
_COLOURS = {"VALID": "green", "INVALID": "yellow", "FAILED": "red"}


def finish(
    directory: Path,
    summary: Summary,
    as_json: bool,
    *,
    baseline: str | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
) -> NoReturn:
    """After the result was printed: compare it with a baseline, write files, end with the exit code.

    With ``--json``, the summary alone is on stdout. Raises UsageError, after everything was written, for a baseline
    that cannot be compared with.
    """
    from streamgauge.errors import EXIT_MISSED, EXIT_OK, UsageError
    from streamgauge.evaluate.verdict import exit_code
    from streamgauge.report.expectations import expectations_of

    comparison, refused = None, None
    if baseline is not None:
        try:
            comparison = _compared(baseline, directory, summary, to_stderr=as_json)
        except UsageError as problem:
            refused = problem
    checks = expectations_of(summary, comparison, not_compared=refused.what if refused else "")
    if junit is not None:
        _write_junit(junit, directory, summary, checks)
    if markdown is not None:
        _append_markdown(markdown, directory, summary, checks)
    if as_json:
        echo_json(summary.as_json())
    if refused is not None:
        raise refused
    code = exit_code(summary)
    slower = comparison is not None and comparison.word == "slower"
    raise typer.Exit(EXIT_MISSED if code == EXIT_OK and slower else code)


def _compared(baseline: str, directory: Path, summary: Summary, *, to_stderr: bool) -> Comparison | None:
    """What the baseline says, printed; None where there is nothing to compare."""
    from streamgauge.campaigns.baseline import against
    from streamgauge.report.expectations import baseline_words

    if not summary.valid or summary.state == "drifting":
        typer.echo(
            f"baseline not compared: the run is {summary.verdict}, state {summary.state or 'unknown'}", err=to_stderr
        )
        return None
    found = against(baseline, directory)
    if isinstance(found, str):
        typer.echo(f"baseline {found}", err=to_stderr)
        return None
    typer.echo(f"baseline {found.word}: {baseline_words(found)}; A is {found.a.path}", err=to_stderr)
    return found


def _write_junit(target: Path, directory: Path, summary: Summary, checks: Sequence[Expectation]) -> None:
    from streamgauge.report.junit import junit
    from streamgauge.report.layout import write_whole

    suite = f"streamgauge {summary.study}/{summary.scenario} on {summary.engine.name}"
    places = {"run": summary.run, "directory": str(directory), "report": str(directory / "report.html")}
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, junit(suite, checks, places))


def _append_markdown(target: Path, directory: Path, summary: Summary, checks: Sequence[Expectation]) -> None:
    from streamgauge.report.markdown import markdown

    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("a", encoding="utf-8") as file:
        file.write(markdown(summary, checks, str(directory / "report.html")))


def print_result(run: RunDir, summary: Summary, *, to_stderr: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False, stderr=to_stderr)
    verdict = summary.verdict
    shown = "interrupted" if summary.interrupted else verdict
    console.print(
        f"\n[bold {_COLOURS[verdict]}]{shown}[/]",
        *(() if summary.validated is not False else ("· unvalidated: no reference",)),
        *(() if summary.guarantee is None else (f"· {summary.guarantee}",)),
        "·",
        f"state {summary.state or 'unknown'}",
        _sustained(summary),
        soft_wrap=not console.is_terminal,
    )
    for reason in summary.reasons:
        _text(console, "  because ", reason)
    if summary.state_reason:
        _text(console, "  ", summary.state_reason)
    for warning in (text for text in summary.warnings if text != summary.state_reason):
        _text(console, "  warning: ", warning)
    _print_ended(console, run)
    if summary.processing:
        _text(console, _head("throughput"), _throughput(summary))
    console.print(_latencies(summary))
    _text(console, _head("results"), _results(summary.results, checked=summary.validated is not False))
    if not summary.processing:
        _text(console, _head("rate"), _figures(summary.rate_per_s.as_json(), "/s"))
    if summary.generator is not None and not summary.processing:
        limits = ("late_p99_limit_ms", "late_max_limit_ms")
        generator = {key: value for key, value in summary.generator.as_json().items() if key not in limits}
        _text(console, _head("generator"), _figures(generator))
    if summary.burst is not None:
        burst = summary.burst.as_json().items()
        counted = {key: len(value) if key == "bursts" else value for key, value in burst if key != "kind"}
        _text(console, _head("burst"), _figures(counted))
    if len(summary.nodes) > 1:
        _text(console, _head("nodes"), _nodes(summary.nodes))
    for fault in summary.faults:
        _text(console, _head("fault"), _fault(fault))
    if summary.durability is not None:
        _text(console, _head("durability"), _durability(summary.durability))
    for objective in summary.slo:
        _text(console, _head("slo"), _objective(objective))
    if verdict != "VALID":
        console.print(f"[{_COLOURS[verdict]}]Do not use these numbers: {shown}.[/]")
    _text(console, _head("run"), summary.run)
    console.print(f"{_head('report')}{run.report_path}", markup=False, soft_wrap=True)
    console.print(f"{_head('summary')}{run.summary_path}", markup=False, soft_wrap=True)


def _text(console: Console, head: str, text: str) -> None:
    """Print it wrapped on a terminal, and on one line elsewhere."""
    console.print(wrapped(head, text) if console.is_terminal else head + text, markup=False, soft_wrap=True)


def _head(name: str) -> str:
    return f"{name:<11}"


def _print_ended(console: Console, run: RunDir) -> None:
    """Print the log tails of processes that died and, if the engine never became usable, what to do next."""
    outcome = run.outcome()
    for process in (one for one in outcome.ended if one.log_tail):
        console.print(f"  last lines of {run.log(process.role)}:", markup=False, soft_wrap=True)
        console.print("\n".join(f"    {line}" for line in process.log_tail.splitlines()), markup=False, soft_wrap=True)
    started = outcome.engine_start_ns is not None and outcome.engine_ready_ns is None
    if started and any(process.group == "engine" for process in outcome.ended):
        _text(console, "  try: ", "; ".join(_next_steps(run, [one.role for one in outcome.ended])))


def _next_steps(run: RunDir, roles: Sequence[str]) -> list[str]:
    from streamgauge.machine.description import is_busy

    manifest = run.manifest()
    steps = [f"read {run.log(roles[0])}", f"check what {manifest.engine.name} needs: streamgauge doctor"]
    if is_busy(manifest.machine):
        load, cores = manifest.machine.load_at_start, manifest.machine.cores
        busy = f"the machine was busy when the run started (load average {load:g} on {cores:g} cores)"
        steps.append(f"{busy}: stop other programs and run it again")
    return steps


def _sustained(summary: Summary) -> str:
    """Nothing for a run whose answers are wrong: what it kept up with was not the work."""
    if summary.verdict == "FAILED":
        return ""
    return {True: "· sustained", False: "· not sustained", None: ""}[summary.sustained]


def _latencies(summary: Summary) -> Table:
    from rich.table import Table

    from streamgauge.model.latency import LATENCY_NAMES

    columns = ("count", *(("missing",) if _any_missing(summary) else ()), "p50", "p90", "p99", "p999", "max", "mean")
    heads = ("p99.9" if column == "p999" else column for column in columns)
    table = Table("in ms", *heads, box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for kind, name in LATENCY_NAMES.items():
        if kind not in summary.latency_ms:
            continue
        figures = summary.latency(kind)
        table.add_row(name, *(_bounded(figures, column) for column in columns))
    return table


def _any_missing(summary: Summary) -> bool:
    return any(summary.latency(kind).get("missing") for kind in summary.latency_ms)


def _bounded(figures: Mapping[str, Any], name: str) -> str:
    """The figure, or at least how much it is."""
    bound = figures.get(f"{name}_at_least")
    return _number(figures.get(name)) if bound is None else f"≥ {bound:,.0f}"


def _nodes(nodes: Sequence[NodeFigures]) -> str:
    """Which of them read the input, and how much each received from the transport."""
    words = {True: "reads", False: "does not read", None: "may or may not read"}
    return ", ".join(
        f"{node.role} {words[node.reads]}"
        + ("" if node.from_transport_mb is None else f" ({node.from_transport_mb:,.1f} MB)")
        for node in nodes
    )


def _durability(found: Durability) -> str:
    from streamgauge.report.durability import longest_text, percent

    return (
        f"index {percent(found.index)}, {found.gaps:,} outages of {found.unavailable_s:,.1f} s in all, longest time "
        f"without a result {longest_text(found.longest_gap_s)}, failed records {found.failed_records:,}"
    )


def _fault(fault: FaultFigures) -> str:
    """One fault: as it was asked for, and how the run took it."""
    if not fault.took_effect:
        return f"{fault.fault}: did not take effect, {fault.why_not}"
    fields = fault.as_json()
    figures = (
        f"{word} {'unknown' if fields.get(key) is None else f'{fields[key]:,.2f} s'}" for key, word in _RECOVERY.items()
    )
    return f"{fault.asked_and_hit}: {', '.join(figures)}{_again(fault)}"


def _again(fault: FaultFigures) -> str:
    """When a process that was started again was usable, from the moment of the fault."""
    if fault.restarted_s is None or fault.acted_s is None:
        return ""
    if fault.ended_s is None:
        return ", started again but never usable"
    return f", usable again after {fault.ended_s - fault.acted_s:,.2f} s"


def _objective(objective: SloResult) -> str:
    """One SLO: as it was written, what was measured, the limit, and whether it was held."""
    value, at_least, at_most, limit = (
        "none" if number is None else f"{number:,.6g}{objective.unit}"
        for number in (objective.value, objective.at_least, objective.at_most, objective.limit)
    )
    if objective.at_least is not None:
        value = f"at least {at_least}"
    elif objective.at_most is not None:
        value = f"at most {at_most} (too few results for this percentile: use a longer --for)"
    outcome = "held" if objective.passed else "missed"
    run = "" if objective.run is None else f"run {objective.run}: "
    return f"{run}{objective.slo}: {outcome}, value {value}, limit {limit}"


def _throughput(summary: Summary) -> str:
    """Of input that was there before the engine: how fast it was processed, and what may have limited that."""
    from streamgauge.report.text import throughput_words

    found = summary.processing
    records, mb_per_s, seconds, startup_s, generated, served = (
        _number(found.get(name))
        for name in ("records", "mb_per_s", "seconds", "startup_s", "generated_per_s", "served_per_s")
    )
    return (
        f"{throughput_words(summary) or 'unknown'}, {mb_per_s} MB/s: {records} records in {seconds} s, after a "
        f"start-up of {startup_s} s; written at {generated}/s, served to a plain reader at {served}/s"
    )


def _results(results: Mapping[str, Any], *, checked: bool) -> str:
    """The counts; those that are zero in a good run only if they are not zero, and *wrong* only where it is known."""
    always = {"expected", "matched", "lost", *(["wrong"] if checked else [])}
    shown = {key: value for key, value in results.items() if value or key in always}
    return _figures({key: value for key, value in shown.items() if key != "inputs_per_result"})


def _figures(figures: Mapping[str, Any], unit: str = "") -> str:
    """Numbers only, since a newer version may have written other values; units move from names to values."""
    words = []
    for key, value in figures.items():
        if value is not None and not isinstance(value, int | float):
            continue
        name, own_unit = next(
            ((key.removesuffix(end), shown) for end, shown in _UNITS.items() if key.endswith(end)), (key, unit)
        )
        words.append(f"{name.replace('_', ' ')} {_number(value)}{own_unit if value is not None else ''}")
    return ", ".join(words)


def _number(value: Any) -> str:
    """Short enough for a table: decimals only for small values."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if value != int(value) and abs(value) < 100 else f"{value:,.0f}"
