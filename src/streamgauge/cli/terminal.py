"""How much a command prints, as set by the global options."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass
class Detail:
    quiet: bool = False
    """Print results, warnings and errors only, no progress."""
    verbose: bool = False


detail = Detail()


def set_detail(*, quiet: bool, verbose: bool) -> None:
    """Raises UsageError when both are asked for."""
    from streamgauge.errors import UsageError

    if quiet and verbose:
        raise UsageError("--quiet and --verbose conflict", hint="use only one of them")
    detail.quiet, detail.verbose = quiet, verbose


def without_color(wanted: bool) -> None:
    """Set NO_COLOR, which rich and typer respect."""
    if wanted:
        os.environ["NO_COLOR"] = "1"
