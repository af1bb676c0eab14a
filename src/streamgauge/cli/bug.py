"""What a user gets to see of a bug in streamgauge: one message, and the traceback in a file."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import shlex
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from streamgauge import __version__, dirs
from streamgauge.errors import StreamgaugeError
from streamgauge.redaction import redact_arguments


def describe(problem: BaseException, argv: Sequence[str]) -> str:
    """The message for an unexpected exception; writes its traceback to a file that only the user can read."""
    text = next(iter(str(problem).splitlines()), "")
    what = f"internal error: {type(problem).__name__}" + (f": {text}" if text else "")
    try:
        where = _write(_details(problem, argv))
    except OSError as refused:
        trace = "".join(traceback.format_exception(problem))
        return f"{what}\n  the traceback could not be written to a file: {refused}\n{trace}"
    return (
        f"{what}\n  where: the traceback is in {where}\n"
        "  try: run the command again; if it fails again, report the bug and attach that file"
    )


def _details(problem: BaseException, argv: Sequence[str]) -> str:
    command = shlex.join(["streamgauge", *redact_arguments(["streamgauge", *argv[1:]])[1:]])
    about = f"streamgauge {__version__}, Python {platform.python_version()}, {platform.platform()}"
    return f"{about}\n{command}\n\n" + "".join(traceback.format_exception(problem))


def _write(text: str) -> Path:
    """Raises OSError when no directory takes it."""
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}.txt"
    refused = OSError("no directory to write to")
    for directory in _directories():
        path = directory / name
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as problem:
            refused = problem
            continue
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return path
    raise refused


def _directories() -> Iterator[Path]:
    with contextlib.suppress(StreamgaugeError):
        yield dirs.state_dir().absolute() / "bugs"
    with contextlib.suppress(OSError):
        yield Path(tempfile.gettempdir())
