"""Which workloads an engine has programs for, by the files in its folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.engines import flink, kafka_streams
from streamgauge.engines.programs import built_in_only_limit, java_workloads, stateless_limit
from streamgauge.errors import Unsupported
from streamgauge.studies import scenario as scenarios

STATEFUL = {"traffic/join", "traffic/tumbling", "traffic/sliding"}
RUNNING = {"streambench/wordcount", "streambench/distinctcount", "streambench/statistics"}

FOLDERS = {
    "flink": Path(flink.__file__).parent / "java" / "streamgauge" / "flink",
    "kafka-streams": Path(kafka_streams.__file__).parent / "java" / "streamgauge" / "kafkastreams",
}


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def test_a_workload_is_found_by_the_name_of_its_class(tmp_path: Path) -> None:
    for name in ("Main", "traffic/Join", "traffic/Windows", "traffic/CustomisedTumbling", "streambench/Join"):
        write(tmp_path / "a" / "b" / f"{name}.java")
    assert java_workloads(tmp_path, "a.b") == {"traffic/join"}
    assert java_workloads(tmp_path, "a.b", "Customised") == {"traffic/tumbling"}
    assert java_workloads(tmp_path, "a") == frozenset()


def test_dashes_are_omitted_from_a_class_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda kind: ("own-family/word-count",))
    write(tmp_path / "a" / "ownfamily" / "Wordcount.java")
    assert java_workloads(tmp_path, "a") == {"own-family/word-count"}


@pytest.mark.parametrize("engine", FOLDERS)
def test_an_engine_runs_what_it_has_a_program_for(engine: str) -> None:
    workloads = registry.engine(engine).traits.workloads
    assert workloads >= STATEFUL | RUNNING | {"traffic/ingest", "streambench/grep", "streambench/sink"}
    assert not workloads & registry.engine(engine).traits.gaps.keys()


@pytest.mark.parametrize("engine", FOLDERS)
def test_every_program_belongs_to_a_workload(engine: str) -> None:
    """A misspelt class would be a silent gap."""
    families = {name.partition("/")[0] for name in registry.names("workloads")}
    programs = {
        path.relative_to(FOLDERS[engine]).as_posix()
        for path in FOLDERS[engine].glob("*/*.java")
        if path.parent.name in families
        and re.search(r"^public final class", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(programs) == len(registry.engine(engine).traits.workloads) + len(STATEFUL), sorted(programs)


def test_only_stateful_workloads_can_be_customised() -> None:
    limit = stateless_limit(["traffic/ingest", "traffic/join", "streambench/sink", "streambench/wordcount"])
    assert limit.workloads == {"traffic/ingest", "streambench/sink"}
    assert limit.applies("traffic/ingest", {"implementation": "customised"})
    assert not limit.applies("traffic/ingest", {"implementation": "built-in"})


def test_a_stateful_workload_without_a_customised_program_is_a_limit() -> None:
    limit = built_in_only_limit(["traffic/ingest", "traffic/join", "streambench/wordcount"], {"traffic/join"})
    assert limit.workloads == {"streambench/wordcount"}


@pytest.mark.parametrize("engine", FOLDERS)
def test_customised_is_refused_where_there_is_no_such_program(engine: str) -> None:
    traits = registry.engine(engine).traits
    customised = {"implementation": "customised"}
    allowed = {name for name in traits.workloads if not any(limit.applies(name, customised) for limit in traits.limits)}
    assert allowed == STATEFUL


@pytest.mark.parametrize("engine", FOLDERS)
@pytest.mark.parametrize(
    ("program", "reason"), [("grep", "stateless"), ("wordcount", "only a built-in implementation")]
)
def test_the_refusal_names_the_reason(engine: str, program: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        scenarios.resolve(
            "streambench/performance", engine=engine, changes={"program": program, "implementation": "customised"}
        )
