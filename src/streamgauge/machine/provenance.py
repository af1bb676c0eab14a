"""Provenance of a run: the date, the version of streamgauge, the installed packages."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import streamgauge
from streamgauge.model.manifest import Git, Provenance

_GIT_TIMEOUT_S = 10.0


def describe() -> Provenance:
    """The manifest's ``provenance``. Never fails."""
    return Provenance(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        git=git_state(Path(streamgauge.__file__).parent),
        packages=packages(),
    )


@cache
def packages() -> dict[str, str]:
    """The version of every installed distribution, by name."""
    packages = {str(one.metadata["Name"]): str(one.version) for one in distributions() if one.metadata["Name"]}
    return dict(sorted(packages.items(), key=lambda item: item[0].lower()))


@cache
def git_state(package: Path) -> Git | None:
    """``commit`` and ``dirty`` of the checkout that the package runs from; None without a checkout or git."""
    # A package installed inside the user's repository is not part of it.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit, changes = _git(package, "rev-parse", "HEAD"), _git(package, "status", "--porcelain", "--", ".")
    if commit is None or changes is None:
        return None
    return Git(commit=commit.strip(), dirty=bool(changes.strip()))


def _git(package: Path, *arguments: str) -> str | None:
    # GIT_DIR and similar variables point to another repository.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(package), *arguments],  # noqa: S607  git from the PATH
            env={**env, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
