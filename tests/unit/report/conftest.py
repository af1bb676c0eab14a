from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_run

from streamgauge.rundir import RunDir


@pytest.fixture
def valid(tmp_path: Path) -> RunDir:
    return synthetic_run.write_valid(tmp_path / "valid")


@pytest.fixture
def invalid(tmp_path: Path) -> RunDir:
    return synthetic_run.write_invalid(tmp_path / "invalid")


@pytest.fixture
def failed(tmp_path: Path) -> RunDir:
    return synthetic_run.write_failed(tmp_path / "failed")


@pytest.fixture
def preloaded(tmp_path: Path) -> RunDir:
    return synthetic_run.write_preloaded(tmp_path / "preloaded")
