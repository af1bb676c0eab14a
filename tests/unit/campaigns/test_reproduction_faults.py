"""Faults of a study's experiments that an engine does not allow for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.campaigns.reproduction_plan import ReproductionRequest, plan
from streamgauge.study import OnEngine


def test_an_engine_that_refuses_a_fault_is_a_stated_gap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = registry.study("streambench").STUDY
    on = {"kafka-streams": OnEngine(), "flink": OnEngine({"taskmanagers": "2"})}
    kept = replace(study.experiments[0], faults=("kill non-recipient at 5s",), engines=on)
    only = replace(study.exhibits[0], experiments=(kept,))
    monkeypatch.setattr(registry.study("streambench"), "STUDY", replace(study, exhibits=(only,)))
    engines = ("kafka-streams", "flink")
    refused, planned = plan(ReproductionRequest(study="streambench", engines=engines, out=tmp_path / "out"))
    assert refused.request is None
    assert "works only on the partitions that it reads itself" in str(refused.reason)
    assert planned.request is not None
    assert [str(fault) for fault in planned.request.scenario.faults] == ["kill non-recipient at 5s"]
