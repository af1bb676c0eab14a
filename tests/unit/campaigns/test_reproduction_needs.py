"""An engine that cannot run here is told of before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from test_reproduction import Onlooker

from streamgauge import jars
from streamgauge.campaigns import reproduction_needs
from streamgauge.campaigns.reproduction import reproduce
from streamgauge.campaigns.reproduction_plan import ReproductionRequest
from streamgauge.engines.echo import Echo
from streamgauge.engines.spark import Spark
from streamgauge.errors import EnvironmentProblem
from streamgauge.jars import Artifact

ENGINES = ("echo", "spark")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReproductionRequest:
    monkeypatch.setattr(reproduction_needs, "find_java", lambda: None)
    return ReproductionRequest("stage-latency", tmp_path / "out", engines=ENGINES, only=("*-ingest-*",))


def test_every_missing_package_is_named_with_what_installs_it(
    asked: ReproductionRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, packages=("no-such-package",)))
    monkeypatch.setattr(Spark, "traits", replace(Spark.traits, packages=("nor-this", "pytest")))
    with pytest.raises(EnvironmentProblem) as refused:
        reproduce(asked, Onlooker())
    assert refused.value.exit_code == 5
    assert refused.value.message() == (
        "nothing was run: echo, spark cannot run here\n"
        "  got: echo lacks the Python package no-such-package; spark lacks the Python package nor-this\n"
        "  try: pip install no-such-package nor-this"
    )
    assert not asked.out.exists()


def test_an_engine_that_runs_nothing_of_it_is_not_asked(
    asked: ReproductionRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, workloads=frozenset(), packages=("no-such-package",)))
    monkeypatch.setattr(Spark, "traits", replace(Spark.traits, packages=("nor-this",)))
    with pytest.raises(EnvironmentProblem, match="nothing was run: spark cannot run here"):
        reproduce(asked, Onlooker())


def test_jars_that_cannot_be_had_stop_it_before_the_first_run(
    asked: ReproductionRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = jars.locked("spark")[0]
    wanted: list[str] = []

    def missing(groups: Iterable[str]) -> list[Artifact]:
        wanted.extend(sorted(groups))
        return [artifact]

    def fetch(groups: Iterable[str]) -> None:
        raise EnvironmentProblem("the repository does not answer")

    monkeypatch.setattr(jars, "missing", missing)
    monkeypatch.setattr(jars, "fetch", fetch)
    with pytest.raises(EnvironmentProblem, match="does not answer"):
        reproduce(asked, Onlooker())
    assert wanted == ["kafka", "spark"]
    assert not asked.out.exists()


def test_engines_make_what_they_need_once(asked: ReproductionRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []

    def prepare(engine: Echo | Spark, say: object) -> None:
        prepared.append(engine.name)
        if engine.name == "spark":
            raise EnvironmentProblem("it does not compile")

    monkeypatch.setattr(jars, "missing", lambda groups: [])
    for engine in (Echo, Spark):
        monkeypatch.setattr(engine, "prepare", prepare, raising=False)
    with pytest.raises(EnvironmentProblem, match="does not compile"):
        reproduce(asked, Onlooker())
    assert prepared == ["echo", "spark"]
    assert not asked.out.exists()
