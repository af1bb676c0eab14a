"""``--metrics-port``: live metrics of the runs of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from streamgauge.measure.snapshot import Publish

PORT_MOST = 65535
EXPECTED = f"a port from 1 to {PORT_MOST}, or 0 for any free one"


def port_number(text: str | int) -> int:
    """A parser for an option, which raises typer.BadParameter."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= PORT_MOST:
        raise typer.BadParameter(f"{text}: expected {EXPECTED}")
    return number


MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        parser=port_number,
        metavar="PORT",
        help="Serve live metrics for Prometheus on this port of 127.0.0.1 until the command ends; 0: any free port.",
    ),
]


@contextmanager
def metrics_on(port: int | None) -> Iterator[Publish]:
    """Serves what is published, and prints where; None: nothing is served. Raises PortTaken, and UsageError."""
    from streamgauge.errors import invalid
    from streamgauge.measure.snapshot import publish_nowhere

    if port is None:
        yield publish_nowhere
        return
    if not 0 <= port <= PORT_MOST:
        raise invalid(f"metrics_port {port}", EXPECTED)
    from streamgauge.measure.metrics_server import MetricsServer

    with MetricsServer(port) as server:
        typer.echo(f"metrics  {server.url}", err=True)
        yield server.publish
