"""A supervisor of real processes, with its own state directory."""

from __future__ import annotations

import sys
from functools import cache

import pytest
import typer.testing

from streamgauge.processes import supervisor as supervisors
from streamgauge.processes.supervisor import Supervisor

# `CliRunner.invoke` builds all commands each time, which takes longer than most commands.
typer.testing._get_command = cache(typer.testing._get_command)


@pytest.fixture(autouse=True)
def active_environment(monkeypatch):
    """Hints then name `pip`, however the tests were started."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(supervisors, "_LEFTOVER_GRACE_S", 0.2)  # many children here ignore SIGTERM
    return tmp_path / "logs"


@pytest.fixture
def supervisor(logs, tmp_path):
    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        yield supervisor
