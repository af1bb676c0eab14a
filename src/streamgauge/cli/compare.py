"""``streamgauge compare A B``: whether B is faster, slower or the same, or that nobody can tell."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.compare_scripts import run_scripts, scripts_of
from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.usage import number_of_runs

if TYPE_CHECKING:
    from rich.console import Console

    from streamgauge.errors import UsageError
    from streamgauge.model.comparison import ComparedRuns, ComparedSearches, Comparison


_COLOURS = {"faster": "green", "slower": "red", "same": "green", "cannot tell": "yellow"}


_OPTIONS = ("--fail-on", "--json", "--run", "--runs", "--out", "--html", "--metrics-port", "--help")


class FailOn(Enum):
    SLOWER = "slower"


def compare(
    context: typer.Context,
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The baseline: a run, a capacity search, or a set of either (--runs N); or a PySpark script, also of "
            "a git revision (my_job.py@main), with the options of run.",
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="What to compare with it.")],
    fail_on: Annotated[FailOn | None, typer.Option(metavar="slower", help="Exit code 1 when B is slower.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison alone on stdout.")] = False,
    again: Annotated[bool, typer.Option("--run", help="Repeat both first, taking turns: A B, B A, …")] = False,
    runs: Annotated[int, typer.Option(parser=number_of_runs, metavar="N", help="Repetitions of each, with --run.")] = 5,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory that --run writes, new or empty.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the comparison as a page, too.")] = None,
    metrics_port: MetricsPort = None,
) -> None:
    """Compare B with A: the ratio of their medians, its interval, and whether B is faster, slower or the same."""
    from streamgauge.campaigns.comparison import compare as judge
    from streamgauge.errors import EXIT_MISSED, UsageError

    scripts = [scripts_of(one) for one in (a, b)]
    if all(scripts):
        directory = out or _fresh_directory()
        sides = run_scripts(scripts, context.args, runs, directory, metrics_port)
    else:
        if context.args or any(scripts):
            raise _not_for_runs(context.args, a, b)
        if out is not None and not again:
            raise UsageError("--out is only used with --run", hint="add --run to repeat both, or leave --out out")
        if metrics_port is not None and not again:
            raise UsageError("--metrics-port is only used with --run: nothing else is measured", hint="add --run")
        sides = Path(a), Path(b)
        if again:
            sides = _run_again(*sides, runs, out or _fresh_directory(), metrics_port)
    comparison = judge(*sides)
    _show(comparison, to_stderr=as_json)
    if html is not None:
        typer.echo(f"page     {_write_page(comparison, *sides, html)}", err=as_json)
    if as_json:
        echo_json(comparison.as_json())
    if fail_on is FailOn.SLOWER and comparison.word == "slower":
        raise typer.Exit(EXIT_MISSED)


def _not_for_runs(options: list[str], a: str, b: str) -> UsageError:
    from streamgauge.errors import UsageError, nearest

    if options and options[0].startswith("-"):
        near = nearest(options[0], _OPTIONS)
        meant = f"; did you mean {near[0]}?" if near else ""
        return UsageError(f"unknown option: {options[0]}{meant}", hint="streamgauge compare --help")
    if options:
        return UsageError(f"unexpected argument: {options[0]}", hint="streamgauge compare --help")
    return UsageError("a script can only be compared with a script", got=f"{a} and {b}")


def _write_page(comparison: Comparison, a: Path, b: Path, target: Path) -> Path:
    from streamgauge.campaigns.capacity_comparison import is_capacity
    from streamgauge.campaigns.repetition import read_runs
    from streamgauge.report.comparison import write_comparison
    from streamgauge.report.source import read

    sides = [[] if is_capacity(path) else [read(run) for run in read_runs(path)] for path in (a, b)]
    return write_comparison(comparison, target, *sides)


def _run_again(a: Path, b: Path, runs: int, out: Path, metrics_port: int | None) -> tuple[Path, Path]:
    """Repeat both from their manifests; returns the two new sets."""
    from streamgauge.campaigns.capacity_comparison import is_capacity
    from streamgauge.campaigns.comparison import IGNORED, check_alike
    from streamgauge.campaigns.repetition import read_runs, run_interleaved
    from streamgauge.cli.live import LiveView
    from streamgauge.errors import UsageError
    from streamgauge.measure.repeat import request_of
    from streamgauge.processes.supervisor import signals_as_interrupt

    if searched := [str(path) for path in (a, b) if is_capacity(path)]:
        raise UsageError(
            "--run does not repeat capacity searches",
            got=" and ".join(searched),
            hint="streamgauge capacity … --runs 3 for each, then compare them without --run",
        )
    old_a, old_b = read_runs(a)[0], read_runs(b)[0]
    # Before hours are spent. Both run on this machine, on streams that are created now.
    check_alike(old_a, [old_b], [*IGNORED, "machine", "shared_cores", "transport.topic_settings"])
    sets = out / "a", out / "b"
    requests = [request_of(run, target) for run, target in zip((old_a, old_b), sets, strict=True)]
    with signals_as_interrupt(), metrics_on(metrics_port) as publish, LiveView(publish) as view:
        run_interleaved(requests, runs, view)
    return sets


def _fresh_directory() -> Path:
    import secrets
    from datetime import datetime

    return Path("runs") / f"compare-{datetime.now().astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _show(comparison: Comparison, *, to_stderr: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False, stderr=to_stderr)
    console.print(
        f"\n[bold {_COLOURS[comparison.word]}]{comparison.word}[/] · "
        f"B : A = {comparison.ratio:.3f}{_interval(comparison)} ({comparison.measure}; above 1: B is worse)",
        soft_wrap=True,
    )
    if comparison.word == "cannot tell":
        console.print(f"  {_what_would_decide(comparison)}", soft_wrap=True)
    for note in comparison.notes:
        console.print(f"  note: {note}", markup=False, soft_wrap=True)
    _show_side(console, "A", comparison.a)
    _show_side(console, "B", comparison.b)


def _interval(comparison: Comparison) -> str:
    low, high = comparison.interval
    if low is None and high is None:
        return ""
    return f", 95 % interval {low:.3f} to {'no upper end known' if high is None else f'{high:.3f}'}"


def _what_would_decide(comparison: Comparison) -> str:
    from streamgauge.model.comparison import ComparedSearches

    if isinstance(comparison.a, ComparedSearches):
        return _searches_that_would_decide(comparison)
    needed, runs = comparison.runs_needed, min(len(comparison.a.values), len(comparison.b.values))
    if needed is None:
        return "no number of runs would tell: too near the limit of 5 %, or too small for stamps of 1 ms"
    return f"with {runs} run{'s' if runs > 1 else ''} a side; about {needed} would tell"


def _searches_that_would_decide(comparison: Comparison) -> str:
    from streamgauge.evaluate.comparison import RUNS_MIN

    of_a, of_b, needed = len(comparison.a.values), len(comparison.b.values), comparison.runs_needed
    if min(of_a, of_b) < RUNS_MIN:
        counts = f"A has {_searches(of_a)} and B has {_searches(of_b)}"
        return f"{counts}; at least {RUNS_MIN} a side are needed: streamgauge capacity … --runs {RUNS_MIN}"
    if needed is None:
        return "no number of searches would tell: too near the limit of 5 %, or the edge was not reached"
    more = f"about {needed} would tell (streamgauge capacity … --runs {needed})"
    return f"with {min(of_a, of_b)} searches a side; {more}, or fewer with a finer --resolution"


def _searches(number: int) -> str:
    return "1 search" if number == 1 else f"{number} searches"


def _show_side(console: Console, name: str, side: ComparedRuns | ComparedSearches) -> None:
    from streamgauge.model.comparison import ComparedSearches
    from streamgauge.report.text import rounded

    engine = "" if side.engine is None else f"{side.engine.name} {side.engine.version}"
    console.print(f"{name}  {engine}  {side.path}", markup=False, soft_wrap=True)
    searched = isinstance(side, ComparedSearches)
    median, *values = (rounded(value) if searched else f"{value:g}" for value in (side.median, *side.values))
    what = ", the best sustained value of each search" if searched else ""
    console.print(f"   median {median} of {'  '.join(values)}{what}", markup=False, soft_wrap=True)
