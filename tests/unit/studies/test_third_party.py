"""A study of another package: found through its entry point, planned, resumed and drawn with its own figure."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from written_runs import summary

from streamgauge import registry, report
from streamgauge.campaigns import reproduction_runner
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.reproduction import AttemptResult, reproduce
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.campaigns.search import Answer
from streamgauge.errors import UsageError
from streamgauge.measure.reporter import NullReporter, Reporter
from streamgauge.model import Fault, Verdict
from streamgauge.model.campaign import REPRODUCTION_NAME as NAME
from streamgauge.model.capacity import Capacity
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import scenario as scenarios

MODULE = '''
"""A study of nobody's: does it get slower when it is warm?"""

from streamgauge.search_axis import SearchAxis
from streamgauge.study import Exhibit, Experiment, Mark, Study
from warm_rooms.exhibits import P50, medians

LATENCY = "ospbench/latency"
COLD = Experiment(LATENCY, "cold", {"stage": "parse", "rate_per_s": "300"}, {"room": "cold"})
WARM = Experiment(LATENCY, "warm", {"stage": "parse"}, {"room": "warm"}, faults=("kill echo at 50%",))
DAMP = Experiment(LATENCY, "damp", {"humidity": "90"}, {"room": "damp"})
FEWEST = Experiment(
    "ospbench/throughput", "fewest", {"stage": "parse"}, {"room": "cold"},
    purpose="capacity", axis=SearchAxis("partitions", "less"),
)
SLOWEST = Experiment(
    "ospbench/throughput", "slowest", {"stage": "parse"}, purpose="capacity", axis=SearchAxis("rooms", "less")
)
STUDY = Study(
    "Warm rooms",
    "nowhere, 2026",
    "total",
    (
        Exhibit(
            "Fig. 1", "Median by room", medians, (COLD, WARM, DAMP, FEWEST, SLOWEST),
            (Mark("Old Echo", P50, 7, "ms", "in the middle", {"room": "warm"}),),
        ),
    ),
    engines={"Old Echo": "echo"},
)
'''
EXHIBITS = """
from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot

P50 = "latency.total.p50"


def medians(context: Context) -> list[Panel]:
    (engine,) = context.reproduction.engines
    usable = [result for result in context.results if result.usable and result.purpose == "run"]
    own = [Bar(one.dimensions["room"], one.value(P50), f"{one.value(P50):g} ms") for one in usable]
    series = {engine: BarSeries(engine, own)}
    marks = [(mark.dimensions["room"], mark) for mark in context.marks(P50)]
    drawn = bars(context, series, marks, "median (ms)", "ms")
    return [Panel(plots=[Plot(f"{context.id}-rooms", "Rooms", drawn, "Warm against cold.")])]
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a study whose package is on the path with its metadata, as if installed."""
    site = tmp_path / "site"
    package, metadata = site / "warm_rooms", site / "warm_rooms-1.0.dist-info"
    package.mkdir(parents=True)
    metadata.mkdir()
    (package / "__init__.py").write_text(MODULE)
    (package / "exhibits.py").write_text(EXHIBITS)
    own = resources.files("streamgauge.studies.ospbench").joinpath("latency.toml").read_text(encoding="utf-8")
    (package / "cellar.toml").write_text(re.sub(r'^title = ".*"$', 'title = "In the cellar"', own, flags=re.MULTILINE))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: warm-rooms\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[streamgauge.studies]\nwarm-rooms = warm_rooms\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    registry._points.cache_clear()
    yield "warm-rooms"
    for name in ("warm_rooms", "warm_rooms.exhibits"):
        sys.modules.pop(name, None)
    registry._points.cache_clear()


class Scripted:
    """Runs nothing; each run has the given median."""

    def __init__(self, *medians_ms: float) -> None:
        self._medians_ms = list(medians_ms)
        self.names: list[str] = []

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        directory.mkdir(parents=True)
        self.names.append(planned.experiment.name)
        latency_ms = {"total": {"p50": self._medians_ms.pop(0), "p99": 99.0}}
        return AttemptResult(Verdict.VALID, [], summary=summary(latency_ms=latency_ms))


class Watching(NullReporter):
    def begin(self, title: str, left_s: float) -> None: ...

    def end(self, row: dict[str, Any]) -> None: ...


def test_its_scenarios_are_listed(installed: str) -> None:
    assert installed in registry.names("studies")
    assert f"{installed}/cellar" in scenarios.names()
    assert scenarios.describe(f"{installed}/cellar").title == "In the cellar"


def test_its_experiments_are_planned_with_their_settings_and_faults(installed: str, tmp_path: Path) -> None:
    plans = {planned.experiment.name: planned for planned in plan(ReproductionRequest(installed, tmp_path, ("echo",)))}
    cold, warm = plans["cold"].request, plans["warm"].request
    assert cold is not None
    assert warm is not None
    assert (cold.scenario.load.rate_per_s, warm.scenario.load.rate_per_s) == (300, 400)
    assert warm.scenario.faults == (Fault("kill", "echo", 50.0, "%"),)
    assert (plans["damp"].request, plans["damp"].reason) == (None, "engine echo has no option humidity")
    assert plans["fewest"].request is not None
    assert plans["slowest"].reason == "engine echo has no option rooms"
    with pytest.raises(UsageError, match="the study itself sets rate_per_s"):
        plan(ReproductionRequest(installed, tmp_path, ("echo",), changes={"rate_per_s": "1"}))


def test_its_search_uses_its_own_axis(installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[CapacitySearch] = []

    def find_capacity(search: CapacitySearch, reporter: Reporter) -> Capacity:
        searched.append(search)
        file = CapacityFile.open(search.request.out, search.settings())
        file.finish(Answer("invalid", None, None, confirmed=False, note="the clock stepped"))
        return file.content

    monkeypatch.setattr(reproduction_runner, "find_capacity", find_capacity)
    monkeypatch.setattr(reproduction_runner, "make_ready", lambda requests, say: None)
    content = reproduce(ReproductionRequest(installed, tmp_path / "out", ("echo",), only=("fewest",)), Watching())
    assert {search.axis for search in searched} == {SearchAxis("partitions", "less")}
    (fewest,) = (row for row in content.experiments if row.name == "fewest")
    assert fewest.capacity is not None
    assert (fewest.capacity.over, fewest.capacity.unit) == ("partitions", "partitions")


def test_it_is_drawn_with_its_own_figure(installed: str, tmp_path: Path) -> None:
    campaign = ReproductionRequest(installed, tmp_path / "out", ("echo",), only=("cold", "warm"))
    script = Scripted(3.0, 5.5)
    content = reproduce(campaign, Watching(), script)
    assert script.names == ["cold", "warm"]
    assert [row.dimensions for row in content.experiments][:2] == [{"room": "cold"}, {"room": "warm"}]
    page = (campaign.out / "report.html").read_text()
    drawn = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, flags=re.DOTALL)
    assert drawn is not None
    ours, theirs = json.loads(drawn[1])["exhibit-1-rooms"]["data"]
    assert (ours["name"], ours["x"], ours["y"]) == ("echo", ["cold", "warm"], [3.0, 5.5])
    assert (theirs["name"], theirs["x"], theirs["y"]) == ("paper: Old Echo", ["warm"], [7])
    words = re.sub(r"<[^>]+>", "", page)
    assert "No result: echo · damp: not run (engine echo has no option humidity)" in words
    written = (campaign.out / NAME).read_bytes()
    reproduce(campaign, Watching(), Scripted())
    assert (campaign.out / NAME).read_bytes() == written, "everything was done"
    assert report.write_study(campaign.out, campaign.described()).read_text() == page
