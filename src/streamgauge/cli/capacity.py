"""``streamgauge capacity``: the highest rate that is sustained, found by a search of several runs."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.request import IN_A_SEARCH, takes_request
from streamgauge.cli.usage import number_of_runs

if TYPE_CHECKING:
    from streamgauge.campaigns.capacity import CapacitySearch
    from streamgauge.measure.plan import Request
    from streamgauge.model.capacity import Capacity, CapacitySet

Rule = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Rule that decides whether a rate is sustained; `streamgauge list SCENARIO` shows them.",
        show_default="the scenario's",
    ),
]
Resolution = Annotated[str, typer.Option(metavar="PERCENT", help="How narrow the answer has to be, from 1% to 100%.")]
Over = Annotated[
    str,
    typer.Option(
        metavar="KEY",
        help="Number to search: any value of the scenario or option of the engine; cores, for example, finds the "
        "fewest that sustain the scenario's rate.",
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="VALUE", help="Smallest value to try.", show_default="as far as the value goes"),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="VALUE", help="Largest value to try.", show_default="as far as the value goes"),
]
Smallest = Annotated[
    bool | None,
    typer.Option(
        "--smallest/--largest",
        help="Find the smallest or the largest value that is sustained.",
        show_default="as the value declares: the largest, but the smallest of a resource or a period",
    ),
]


@partial(takes_request, other=IN_A_SEARCH)
def capacity(
    request: Request,
    rule: Rule = None,
    resolution: Resolution = "10%",
    over: Over = "rate_per_s",
    least: From = None,
    most: To = None,
    smallest: Smallest = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            parser=number_of_runs,
            metavar="N",
            help="Number of whole searches, in OUT/1, OUT/2, …; `compare` needs 3.",
        ),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print capacity.json alone on stdout.")] = False,
    metrics_port: MetricsPort = None,
) -> None:
    """Find the highest rate that is sustained. Pass the same --out to resume an interrupted search."""
    from streamgauge.campaigns.capacity import exit_code, find_capacity
    from streamgauge.campaigns.capacity_set import find_capacities
    from streamgauge.cli.search_view import SearchView
    from streamgauge.errors import Interrupted, StreamgaugeError, UsageError
    from streamgauge.model.capacity import NAME as CAPACITY_NAME
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.report.capacity import write_capacity

    search = search_of(request, rule, resolution, over, least, most, smallest)
    try:
        with signals_as_interrupt(), metrics_on(metrics_port) as publish, SearchView(publish) as view:
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
        if (request.out / CAPACITY_NAME).is_file():
            write_capacity(request.out)
        raise
    page = write_capacity(request.out)
    typer.echo(_answer(result, page, request.out / CAPACITY_NAME), err=as_json)
    if as_json:
        echo_json(result.as_json())
    raise typer.Exit(exit_code(result))


def search_of(
    request: Request,
    rule: str | None,
    resolution: str,
    over: str,
    least: str | None,
    most: str | None,
    smallest: bool | None,
) -> CapacitySearch:
    """The search that the options describe. Raises UsageError for what cannot be searched."""
    from streamgauge.campaigns.capacity import CapacitySearch
    from streamgauge.errors import UsageError
    from streamgauge.studies.search_axis import axis_of, bound_on

    if request.scenario.faults:
        raise UsageError(
            f"--fault {str(request.scenario.faults[0])!r} cannot be used here: a capacity search takes no faults",
            hint="streamgauge run with --rate and --fault",
        )
    request = with_rule(request, rule)
    scenario = request.scenario
    axis = axis_of(over, scenario, None if smallest is None else "less" if smallest else "more")
    return CapacitySearch(
        request,
        parse_resolution(resolution),
        axis,
        least=None if least is None else bound_on(axis, scenario, least, "--from"),
        most=None if most is None else bound_on(axis, scenario, most, "--to"),
    )


def parse_resolution(text: str) -> float:
    """``10%`` as 0.1. Raises UsageError outside 1 % to 100 %."""
    from streamgauge.errors import invalid

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if not match or not 1 <= float(match[1]) <= 100:
        raise invalid(f"--resolution {text}", "1% to 100%, such as 10%")
    return float(match[1]) / 100


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
