"""``streamgauge``: registers the commands, turns errors into one message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from streamgauge import __version__, defaults
from streamgauge.cli import usage
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
from streamgauge.cli.scale import scale
from streamgauge.cli.schema import schema
from streamgauge.cli.terminal import detail, set_detail, without_color
from streamgauge.cli.usage import USAGE_ERROR, Commands
from streamgauge.errors import (
    EXIT_BUG,
    EXIT_CLOSED_PIPE,
    EXIT_OK,
    EnvironmentProblem,
    Interrupted,
    StreamgaugeError,
    UsageError,
)

app = typer.Typer(
    name="streamgauge",
    no_args_is_help=True,
    cls=Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_HELP = f"""Measure stream-processing systems from outside, and check every answer.

Start with: streamgauge run {defaults.SCENARIO}
"""
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


@app.callback(help=_HELP)
def streamgauge(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results, warnings and errors only, no progress.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print more: a line of progress every second, whole commands in `plan`, the traceback of a bug.",
        ),
    ] = False,
    no_color: Annotated[
        bool,
        typer.Option("--no-color", callback=without_color, is_eager=True, help="No colors. Also: NO_COLOR=1."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    set_detail(quiet=quiet, verbose=verbose)


app.command()(doctor)
app.command("list")(list_everything)
app.command()(plan)
app.command()(run)
app.command()(capacity)
app.command()(scale)
app.command()(reproduce)
app.command()(evaluate)
app.command()(report)
# Two scripts take the options of run.
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(compare)
app.command()(history)
app.command()(calibrate)
app.add_typer(check_app, name="check")
app.command()(schema)
app.command()(fetch)
app.command()(clean)
app.command(hidden=True)(lock)


def main() -> None:
    """Run the command line. Every way to fail has its exit code (docs/reference/exit-codes.md)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or file in Latin-1 has no dash or arrow: a question mark there, and no failure.
            stream.reconfigure(errors="replace")
    try:
        code = _run()
    except USAGE_ERROR as problem:
        code = _fail_with_usage(problem)
    except StreamgaugeError as problem:
        code = _fail(problem)
    except BrokenPipeError:
        code = EXIT_CLOSED_PIPE
    except MemoryError:
        code = _fail(EnvironmentProblem("out of memory", hint="stop other programs, or use a lower --rate"))
    except OSError as problem:
        code = _fail_with_system(problem)
    except Exception as problem:
        code = _fail_with_bug(problem)
    _give_up_closed_streams()
    sys.exit(code)


def _run() -> int:
    """The exit code of the command, once all that it printed is out."""
    try:
        code = app(prog_name="streamgauge", standalone_mode=False)
    except (SystemExit, typer.Abort) as end:
        # typer and rich turn both into exit code 1, which means that an objective was missed.
        for cause in _causes(end):
            if isinstance(cause, BrokenPipeError | EOFError):
                raise cause from None
        code = end.code if isinstance(end, SystemExit) else Interrupted.exit_code
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return code if isinstance(code, int) else EXIT_OK if code is None else EXIT_BUG


def _causes(problem: BaseException) -> Iterator[BaseException]:
    cause = problem.__cause__ or problem.__context__
    if cause is not None:
        yield cause
        yield from _causes(cause)


def _fail(problem: StreamgaugeError) -> int:
    with contextlib.suppress(BrokenPipeError):
        typer.echo(f"streamgauge: {problem.message()}", err=True)
    return problem.exit_code


def _fail_with_usage(problem: Exception) -> int:
    shown = usage.describe(problem)
    if shown is None:  # no arguments at all: what is missing is help
        with contextlib.suppress(BrokenPipeError):
            usage.print_help(problem)
        return UsageError.exit_code
    return _fail(shown)


def _fail_with_system(problem: OSError) -> int:
    if problem.errno in _PATH:
        return _fail(UsageError("the path cannot be used", where=problem.filename, got=str(problem.strerror)))
    if gone := _removed_directory(problem):
        what = "a directory was removed while it was in use"
        return _fail(EnvironmentProblem(what, where=gone, hint="run the command again, and keep its directories"))
    if problem.errno not in _MACHINE:
        return _fail_with_bug(problem)
    hint = "free some space, or another --out" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else None
    return _fail(EnvironmentProblem(str(problem.strerror), where=problem.filename, hint=hint))


def _removed_directory(problem: OSError) -> Path | None:
    """The directory in which a file could not be written or found because somebody has removed it."""
    if problem.errno != errno.ENOENT or not isinstance(problem.filename, str):
        return None
    parent = Path(problem.filename).absolute().parent
    return None if parent.exists() else parent


def _fail_with_bug(problem: Exception) -> int:
    from streamgauge.cli.bug import describe

    with contextlib.suppress(BrokenPipeError):
        typer.echo(f"streamgauge: {describe(problem, sys.argv)}", err=True)
        if detail.verbose:
            typer.echo("".join(traceback.format_exception(problem)), err=True)
    return EXIT_BUG


def _give_up_closed_streams() -> None:
    """What cannot be printed is dropped here: the interpreter would complain about it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
