"""``streamgauge``: registers the commands, turns errors into one message and an exit code."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from streamgauge import __version__
from streamgauge.cli.calibrate import calibrate
from streamgauge.cli.capacity import capacity
from streamgauge.cli.check import check_app
from streamgauge.cli.clean import clean
from streamgauge.cli.compare import compare
from streamgauge.cli.doctor import doctor
from streamgauge.cli.evaluate import evaluate
from streamgauge.cli.fetch import fetch
from streamgauge.cli.history import history
from streamgauge.cli.list import list_everything
from streamgauge.cli.lock import lock
from streamgauge.cli.plan import plan
from streamgauge.cli.report import report
from streamgauge.cli.reproduce import reproduce
from streamgauge.cli.run import run
from streamgauge.errors import EnvironmentProblem, StreamgaugeError, UsageError

app = typer.Typer(
    name="streamgauge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO),
    *(errno.EACCES, errno.EPERM, errno.ENAMETOOLONG),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
}
"""What the machine refuses: a message, no traceback."""
_PATH = {errno.EISDIR, errno.ENOTDIR, errno.EEXIST}
"""What a path that the user named cannot be."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"streamgauge {__version__}")
        raise typer.Exit


@app.callback()
def streamgauge(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Measure stream-processing systems from outside, and check every answer.

    Start with: streamgauge run ospbench/latency
    """


app.command()(doctor)
app.command("list")(list_everything)
app.command()(plan)
app.command()(run)
app.command()(capacity)
app.command()(reproduce)
app.command()(evaluate)
app.command()(report)
app.command()(compare)
app.command()(history)
app.command()(calibrate)
app.add_typer(check_app, name="check")
app.command()(fetch)
app.command()(clean)
app.command(hidden=True)(lock)


def main() -> None:
    """Run the command line. Every way to fail has its exit code (docs/reference/exit-codes.md)."""
    try:
        app(standalone_mode=True)
    except StreamgaugeError as problem:
        _fail(problem)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as problem:
        if problem.errno in _PATH:
            _fail(UsageError("the path cannot be used", where=problem.filename, got=str(problem.strerror)))
        if problem.errno not in _MACHINE:
            raise
        hint = "free some space, or another --out" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else None
        _fail(EnvironmentProblem(str(problem.strerror), where=problem.filename, hint=hint))


def _fail(problem: StreamgaugeError) -> None:
    typer.echo(f"streamgauge: {problem.message()}", err=True)
    sys.exit(problem.exit_code)
