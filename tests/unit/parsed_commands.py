"""Parses a printed command with the options of `run`, as in a user's shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from typer.main import get_command

from streamgauge.cli.request import takes_request
from streamgauge.measure.plan import Request


def request_of_command(command: str, out: Path) -> Request:
    built: list[Request] = []

    def keep(request: Request) -> None:
        built.append(request)

    parser = typer.Typer(add_completion=False)
    parser.command()(takes_request(keep))
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("streamgauge", "run")
    get_command(parser).main(["--out", str(out), *words], prog_name="streamgauge run", standalone_mode=False)
    (request,) = built
    return request
