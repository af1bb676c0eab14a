"""The command that installs a missing Python package, from a clone and from a wheel alike.

Packages are named with the versions that streamgauge's own metadata asks for. An extra (``streamgauge[flink]``) would
be looked for on an index, which does not have streamgauge, and ``.[flink]`` works in a clone only.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires


def install_command(packages: Iterable[str]) -> str:
    """What to type to get these packages into the environment that runs now."""
    wanted = (_with_version(package) for package in sorted({*packages}))
    return " ".join([_pip(), "install", *map(shlex.quote, wanted)])


def _with_version(package: str) -> str:
    """As our metadata has it; the bare name where it does not, as for an engine of another package."""
    try:
        requirements = requires("streamgauge") or []
    except PackageNotFoundError:
        requirements = []
    for requirement in requirements:
        text = requirement.partition(";")[0].strip()
        if re.split(r"[^\w.-]", text, maxsplit=1)[0].lower() == package.lower():
            return text
    return package


def _pip() -> str:
    """``pip`` where that is the one of this environment, else the long form that always is."""
    active = os.environ.get("VIRTUAL_ENV")
    if active is not None and os.path.realpath(active) == os.path.realpath(sys.prefix):
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"
