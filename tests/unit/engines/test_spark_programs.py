"""Spark's programs, found by workload name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.engines.spark import Spark, programs
from streamgauge.engines.spark.workloads import streambench, traffic
from streamgauge.errors import UsageError

GAMES = """
from streamgauge.codec import Codec, MessageKey
from streamgauge.contracts import Workload
from streamgauge.model import InputStream, ResultKind
from streamgauge.workloads.parameters import Parameters

class Tally(Workload):
    name = "board-games/tally-up"
    title = "tally up: an example"
    kind = ResultKind.RUNNING
    codec = Codec(n_seq=MessageKey())
    inputs = (InputStream("records"),)
    parameters = Parameters
    def dataset(self, parameters, seed, load):
        raise NotImplementedError

def tally_up(spark, job):
    return "the program"
"""
ENTRY_POINTS = """
[streamgauge.workloads]
board-games/tally-up = board_games:Tally
[streamgauge.programs.spark]
board-games/tally-up = board_games:tally_up
another/unregistered = board_games:tally_up
"""


def test_every_workload_has_a_program() -> None:
    assert Spark.traits.workloads == registry.engine_workloads()
    assert Spark.traits.gaps == {}


@pytest.mark.parametrize(
    ("workload", "program"),
    [("streambench/wordcount", streambench.wordcount), ("traffic/sliding", traffic.sliding)],
)
def test_a_program_is_found_by_name(workload: str, program: object) -> None:
    assert programs.find(workload) is program


@pytest.mark.parametrize("name", ["streambench/read", "traffic/_customised", "traffic/STATEFUL", "traffic/", "sliding"])
def test_helpers_and_imports_are_not_programs(name: str) -> None:
    with pytest.raises(UsageError, match="unknown workload"):
        programs.find(name)


def test_limits_name_programs_that_exist() -> None:
    for limit in Spark.traits.limits:
        assert limit.workloads and limit.workloads <= Spark.traits.workloads


@pytest.fixture
def with_games(tmp_path: Path) -> Callable[[str], None]:
    """Runs code in a process where the package is installed."""
    (tmp_path / "board_games.py").write_text(GAMES)
    metadata = tmp_path / "board_games-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: board-games\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)

    def run(code: str) -> None:
        first = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        subprocess.run([sys.executable, "-c", first + code], check=True, timeout=60)

    return run


def test_other_packages_add_programs(with_games: Callable[[str], None]) -> None:
    """The traits list them without importing pyspark or the program; a program without a workload is ignored."""
    with_games("""
from streamgauge.engines.spark import Spark, programs
assert "board-games/tally-up" in Spark.traits.workloads
assert "another/unregistered" not in Spark.traits.workloads
limits = [limit for limit in Spark.traits.limits if "board-games/tally-up" in limit.workloads]
assert [limit.options for limit in limits] == [{"redistribute": True}, {"implementation": "customised"}]
assert not {"pyspark", "board_games"} & set(sys.modules)
assert programs.find("board-games/tally-up")(None, {}) == "the program"
""")


def test_engines_pass_the_checks_when_another_package_adds_a_workload(with_games: Callable[[str], None]) -> None:
    """A workload without a scenario that most engines do not support."""
    with_games("""
from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import look_at_plan
for name in ("echo", "spark"):
    planned = look_at_plan(registry.engine(name))
    assert [check(planned) for check in checks.planned_checks()] == [None] * 4, name
""")


def entry_point(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    points = EntryPoints([EntryPoint(name, value, programs.GROUP)])
    monkeypatch.setattr(programs, "entry_points", lambda **wanted: points.select(**wanted))


@pytest.mark.parametrize("value", ["no_such_module_exists:program", "json:no_such_function"])
def test_a_program_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    entry_point(monkeypatch, "games/tally", value)
    with pytest.raises(UsageError, match="games/tally could not be loaded") as problem:
        programs.find("games/tally")
    assert value in problem.value.message()


def test_other_packages_cannot_replace_built_in_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_point(monkeypatch, "traffic/ingest", "json:loads")
    assert programs.find("traffic/ingest") is traffic.ingest
