"""A supervisor of real processes, with a state directory of its own."""

from __future__ import annotations

import pytest

from streamgauge.processes.supervisor import Supervisor


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    return tmp_path / "logs"


@pytest.fixture
def supervisor(logs, tmp_path):
    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        yield supervisor
