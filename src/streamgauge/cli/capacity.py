"""``streamgauge capacity``: the highest rate that is sustained, found by a search of several runs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.request import takes_request
from streamgauge.cli.usage import whole_number

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request
    from streamgauge.model.capacity import Capacity, CapacityProbe, CapacitySet

_ROW = "{value:>12}  {purpose:<8} {verdict:<14} {p50:>9} {p99:>9} {seconds:>8} {saved:>8}  {reason}"
_HEAD = _ROW.format(
    value="probe",
    purpose="purpose",
    verdict="verdict",
    p50="p50, ms",
    p99="p99, ms",
    seconds="seconds",
    saved="saved",
    reason="",
)


@takes_request
def capacity(
    request: Request,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Rule that decides whether a rate is sustained; `streamgauge list SCENARIO` shows them.",
            show_default="the scenario's",
        ),
    ] = None,
    resolution: Annotated[
        str, typer.Option(metavar="PERCENT", help="How narrow the answer has to be, from 1% to 100%.")
    ] = "10%",
    over: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="Whole number to search; cores, for example, finds the fewest that sustain the scenario's rate.",
        ),
    ] = "rate_per_s",
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            parser=whole_number(1),
            metavar="N",
            help="Number of whole searches, in OUT/1, OUT/2, …; `compare` needs 3.",
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print capacity.json alone on stdout.")] = False,
    metrics_port: MetricsPort = None,
) -> None:
    """Find the highest rate that is sustained. Pass the same --out to resume an interrupted search."""
    from streamgauge.campaigns.capacity import CapacitySearch, exit_code, find_capacity
    from streamgauge.campaigns.capacity_set import find_capacities
    from streamgauge.cli.live import LiveView
    from streamgauge.errors import Interrupted, StreamgaugeError, UsageError
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.report.capacity import write_capacity
    from streamgauge.studies.search_axis import axis_of

    if request.scenario.faults:
        raise UsageError(
            f"--fault {str(request.scenario.faults[0])!r} cannot be used here: a capacity search takes no faults",
            hint="streamgauge run with --rate and --fault",
        )
    request = with_rule(request, rule)
    search = CapacitySearch(request, parse_resolution(resolution), axis_of(over, request.scenario))

    class View(LiveView):
        """The live view of each probe, and a line that stays for every one that has ended."""

        headed = False

        def probe(self, row: CapacityProbe) -> None:
            if not self.headed:
                self.headed = True
                self._console.print(_HEAD, markup=False, soft_wrap=True, style="bold")
            self._console.print(probe_line(row), markup=False, soft_wrap=True)

    try:
        with signals_as_interrupt(), metrics_on(metrics_port) as publish, View(publish) as view:
            result: Capacity | CapacitySet
            if runs > 1:
                result = find_capacities(search, runs, view, view.probe)
            else:
                result = find_capacity(search, view, view.probe)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            "interrupted: everything was stopped", where=request.out, hint="pass the same --out to resume"
        ) from None
    except UsageError:
        # The directory may hold something else, or another search.
        raise
    except StreamgaugeError:
        if (request.out / "capacity.json").is_file():
            write_capacity(request.out)
        raise
    page = write_capacity(request.out)
    typer.echo(_answer(result, page, request.out / "capacity.json"), err=as_json)
    if as_json:
        echo_json(result.as_json())
    raise typer.Exit(exit_code(result))


def parse_resolution(text: str) -> float:
    """``10%`` as 0.1. Raises UsageError outside 1 % to 100 %."""
    from streamgauge.errors import invalid

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if not match or not 1 <= float(match[1]) <= 100:
        raise invalid(f"--resolution {text}", "1% to 100%, such as 10%")
    return float(match[1]) / 100


def probe_line(row: CapacityProbe) -> str:
    return _ROW.format(
        value=f"{row.value:,}",
        purpose=row.purpose,
        verdict=row.verdict + (" (weak)" if row.weak else ""),
        p50=_ms(row.total_p50),
        p99=_ms(row.total_p99),
        seconds=f"{row.seconds:.0f}",
        saved=f"{row.seconds_saved:.0f}",
        reason=row.reason,
    ).rstrip()


def with_rule(request: Request, rule: str | None) -> Request:
    """With another rule than the scenario's; None: with its own. Raises UsageError for a rule that there is not."""
    from streamgauge import registry
    from streamgauge.evaluate.sustained import RULES

    if rule is None:
        return request
    if rule != "none" and rule not in RULES:
        raise registry.unknown("--rule", rule, [*RULES, "none"])
    return replace(request, scenario=replace(request.scenario, sustained=None if rule == "none" else rule))


def _answer(result: Capacity | CapacitySet, page: object, file: object) -> str:
    from streamgauge.model.capacity import CapacitySet
    from streamgauge.report.capacity import bracket, headline

    verdict, sentence = headline(result)
    lines = [f"\n{verdict}: {sentence}"]
    if isinstance(result, CapacitySet):
        lines += [f"  {search.directory}  {bracket(search, result)}" for search in result.searches]
        done = f"{len(result.searches)} searches in {result.seconds:.0f} s"
    else:
        saved = f", {result.seconds_saved:.0f} s of load saved by ending hopeless ones early"
        probes = f"{number} probes" if (number := len(result.probes)) != 1 else "1 probe"
        done = f"{probes} in {result.seconds:.0f} s{saved if result.seconds_saved else ''}"
    if result.note:
        lines.append(f"  {result.note}")
    return "\n".join([*lines, done, f"report   {page}", f"capacity {file}"])


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
