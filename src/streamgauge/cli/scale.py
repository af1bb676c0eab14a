"""``streamgauge scale``: how a capacity grows with an option of the engine, by one search for each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.capacity import From, Over, Resolution, Rule, Smallest, To, search_of
from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.request import IN_A_SEARCH, build, takes_request

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request
    from streamgauge.model.scale import Scale


def _with_settings(**given: Any) -> tuple[Request, Mapping[str, str]]:
    """As ``build``, and the options of ``--set`` as the user typed them, by key."""
    from streamgauge.studies.parsing import parse_setting

    return build(**given), {one.key: one.typed for one in map(parse_setting, given["settings"] or ())}


@partial(takes_request, make=_with_settings, other=IN_A_SEARCH)
def scale(
    asked: tuple[Request, Mapping[str, str]],
    against: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=V1,V2,…",
            help="Option of the engine and its values, such as instances=1,2,4: one search for each.",
        ),
    ],
    rule: Rule = None,
    resolution: Resolution = "10%",
    over: Over = "rate_per_s",
    least: From = None,
    most: To = None,
    smallest: Smallest = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print scale.json alone on stdout.")] = False,
    metrics_port: MetricsPort = None,
) -> None:
    """Find how the capacity grows with an option of the engine, by one search for each of its values.

    Pass the same --out to resume interrupted searches, or to add values.
    """
    from streamgauge.campaigns.scale import ScaleSearch, exit_code, find_scale, parse_against
    from streamgauge.cli.search_view import SearchView
    from streamgauge.errors import Interrupted, UsageError
    from streamgauge.model.scale import NAME
    from streamgauge.processes.supervisor import signals_as_interrupt

    request, typed = asked
    if len(against) > 1:
        raise UsageError(
            f"{' and '.join(f'--against {one}' for one in against)} conflict: a scale has one option",
            hint="one command for each, with another --out",
        )
    key, values = parse_against(against[0], request.scenario.engine)
    if key in typed:
        raise UsageError(
            f"{typed[key]} and --against {against[0]} conflict: both set {key}", hint="use only one of them"
        )
    search = search_of(request, rule, resolution, over, least, most, smallest)
    campaign = ScaleSearch(search, key, values)
    try:
        with signals_as_interrupt(), metrics_on(metrics_port) as publish, SearchView(publish) as view:
            content = find_scale(campaign, view, view.probe)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            "interrupted: everything was stopped", where=request.out, hint=f"pass --out {request.out} to resume"
        ) from None
    typer.echo(_answer(content), err=as_json)
    typer.echo(f"report   {request.out / 'report.html'}\nscale    {request.out / NAME}", err=as_json)
    if as_json:
        echo_json(content.as_json())
    raise typer.Exit(exit_code(content))


def _answer(content: Scale) -> str:
    from streamgauge.model.scale import typed_value
    from streamgauge.report.capacity import bracket
    from streamgauge.report.scale import efficiency_words, headline, limit_words

    word, sentence = headline(content)
    lines = [f"\n{word}: {sentence}"]
    for point in content.points:
        efficiency, limit = efficiency_words(point), limit_words(point)
        found = bracket(point, content)
        lines.append(
            f"  {content.against} {typed_value(point.value)}: {found}; efficiency {efficiency}; limit: {limit}"
        )
    lines += [f"  {note}" for note in content.notes]
    return "\n".join([*lines, f"{len(content.points)} searches in {content.seconds:.0f} s"])
