"""``streamgauge clean``: ends and removes what killed runs left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.request import ClientConfig, check_transport_address, with_config


def clean(
    server: Annotated[
        str | None,
        typer.Option("--kafka", metavar="HOST:PORT", help="List topics that killed runs left on your broker."),
    ] = None,
    config: ClientConfig = None,
    remove: Annotated[bool, typer.Option("--remove", help="With --kafka: also remove these topics.")] = False,
) -> None:
    """Stop processes and remove directories that killed runs left behind. Active runs are not touched."""
    if server is not None or config is not None:
        _clean_streams(server, config, remove=remove)
        return
    from streamgauge.processes import directory_lock
    from streamgauge.processes.leftovers import survey

    directory_lock.remove_stale()
    leftovers = survey()
    for leftover in leftovers:
        typer.echo(leftover.clean() if leftover.state == "dead" else f"left alone: {leftover.text}")
    if not leftovers:
        typer.echo("nothing to clean")


def _clean_streams(server: str | None, config: Path | None, *, remove: bool) -> None:
    """On the user's own servers. Runs of this machine that are active keep theirs."""
    from streamgauge.processes.leftovers import active_runs

    address = with_config(server, config)
    assert address is not None
    transport = check_transport_address(address).prepare(address, ())
    transport.check_reachable()
    left = transport.left_behind(active_runs())
    for name in left:
        typer.echo(f"{'removed' if remove else 'left behind'}: {name}")
    if remove:
        transport.remove_streams(left)
    elif left:
        typer.echo("--remove removes them; a run of another machine may still use them")
    else:
        typer.echo("nothing to clean")
