"""The declarations and parameters of StreamBench's programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge.codec import Codec, MessageKey
from streamgauge.contracts import ReferenceWorkload, RunningWorkload, Workload
from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan, ResultKind
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.parsing import parse_changes
from streamgauge.workloads.streambench import programs
from streamgauge.workloads.streambench.data import SearchLog, vocabulary

PROGRAMS: dict[str, tuple[type[Workload], ResultKind, str, dict[str, Any]]] = {
    "identity": (programs.Identity, ResultKind.ONE_TO_ONE, "searchlog", {}),
    "sample": (programs.Sample, ResultKind.FILTER, "searchlog", {"sample_percent": 10}),
    "projection": (programs.Projection, ResultKind.ONE_TO_ONE, "searchlog", {"field": 1}),
    "grep": (programs.Grep, ResultKind.FILTER, "searchlog", {"pattern": "bunlir"}),
    "wordcount": (programs.Wordcount, ResultKind.RUNNING, "searchlog", {"field": 1}),
    "distinctcount": (programs.Distinctcount, ResultKind.RUNNING, "searchlog", {"field": 0}),
    "statistics": (programs.Statistics, ResultKind.RUNNING, "packets", {"field": 1}),
    "sink": (programs.Sink, ResultKind.NONE, "searchlog", {}),
}
LOAD = LoadPlan(1000, 1.0, 2.0, 0.0)
SEARCH = "7\ttwo words\t2006-03-01 00:00:01\t\t\n"


def parameters(program: str, **changes: object) -> dict[str, Any]:
    """Resolved as in a scenario."""
    return PROGRAMS[program][0].parameters.model_validate(changes).model_dump()


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_describes_itself(program: str) -> None:
    workload, kind, dataset, defaults = PROGRAMS[program]
    made = workload()
    assert made.name == f"streambench/{program}"
    assert made.title.startswith(f"{program}: ")
    assert made.kind is kind
    assert [(stream.name, stream.share) for stream in made.inputs] == [("records", 1.0)]
    assert made.outputs == (() if kind is ResultKind.NONE else ("output",))
    assert made.codec == Codec(n_seq=MessageKey())
    assert isinstance(made, RunningWorkload) is (kind is ResultKind.RUNNING)
    assert isinstance(made, ReferenceWorkload) is (kind in (ResultKind.ONE_TO_ONE, ResultKind.FILTER))
    assert parameters(program) == {"seed_file": "", **defaults}
    records = made.dataset(parameters(program), 1, LOAD)
    assert records.name == dataset
    assert records.streams == tuple(stream.name for stream in made.inputs)
    assert made.settles_s(parameters(program)) == 0


@pytest.mark.parametrize(
    ("program", "changes"),
    [
        ("sample", {"sample_percent": 0}),
        ("sample", {"sample_percent": 100}),
        ("sample", {"sample_percent": 1.5}),
        ("projection", {"field": 5}),
        ("projection", {"field": -1}),
        ("wordcount", {"field": "1"}),
        ("distinctcount", {"field": 5}),
        ("statistics", {"field": 17}),
        ("grep", {"pattern": ""}),
        ("grep", {"pattern": "a\tb"}),
        ("grep", {"pattern": "a\n"}),
        ("grep", {"pattern": "\x7f"}),
        ("grep", {"pattern": "\udcff"}),
        ("grep", {"pattern": 7}),
        ("identity", {"field": 1}),
        ("sink", {"seed_file": None}),
    ],
)
def test_unusable_parameters_are_refused(program: str, changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        parameters(program, **changes)


@pytest.mark.parametrize(
    ("typed", "pattern"), [("2006", "2006"), ('"2006"', "2006"), ('" herk"', " herk"), ("true", "true")]
)
def test_a_pattern_is_the_text_that_was_typed(typed: str, pattern: str) -> None:
    changes = parse_changes(["program=grep", f"pattern={typed}"])
    assert scenarios.resolve("streambench/performance", changes=changes).parameters["pattern"] == pattern


def test_a_seed_file_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parameters("sink", seed_file="mine.txt")["seed_file"] == f"{tmp_path}/mine.txt"
    monkeypatch.setenv("HOME", "/home/me")
    assert parameters("sink", seed_file="~/mine.txt")["seed_file"] == "/home/me/mine.txt"


@pytest.mark.parametrize("seed", [1, 77])
def test_about_one_record_in_twenty_contains_the_default_pattern(seed: int) -> None:
    pattern = parameters("grep")["pattern"]
    assert pattern in vocabulary()
    share = sum(pattern.encode() in value for value in SearchLog(seed).values) / 100_000
    assert share == pytest.approx(1 / 20, rel=0.1)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_accepts_a_seed_file_and_reports_a_bad_one(tmp_path: Path, program: str) -> None:
    workload, _, dataset, _ = PROGRAMS[program]
    path = tmp_path / "mine.txt"
    path.write_text(f"{SEARCH}1\tbunlir\t\t\t\n" if dataset == "searchlog" else "1 " * 16 + "1\n")
    settings = parameters(program, seed_file=str(path))
    assert len(workload().dataset(settings, 1, LOAD).values) == path.read_text().count("\n")  # type: ignore[attr-defined]
    path.write_text("1\t2\n")
    with pytest.raises(UsageError, match="wrong number of fields") as caught:
        workload().dataset(settings, 1, LOAD)
    assert caught.value.where == f"{path}, line 1"


def test_a_pattern_that_no_record_contains_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(SEARCH)
    programs.Grep().dataset(parameters("grep", seed_file=str(path), pattern="o w"), 1, LOAD)
    with pytest.raises(UsageError, match="no record contains the pattern") as caught:
        programs.Grep().dataset(parameters("grep", seed_file=str(path), pattern="Two"), 1, LOAD)
    assert caught.value.where == str(path)
    with pytest.raises(UsageError, match="no record contains the pattern") as caught:
        programs.Grep().dataset(parameters("grep", pattern="Two"), 3, LOAD)
    assert caught.value.where == "data set searchlog, seed 3"


def test_a_field_without_words_cannot_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(SEARCH + "8\t\t\t\t  \n")
    programs.Wordcount().dataset(parameters("wordcount", seed_file=str(path)), 1, LOAD)
    for field in (3, 4):
        with pytest.raises(UsageError, match=f"wordcount cannot use field {field}"):
            programs.Wordcount().dataset(parameters("wordcount", seed_file=str(path), field=field), 1, LOAD)


def test_the_load_decides_whether_a_sum_fits() -> None:
    many = LoadPlan(10_000_000, 0.0, 10.0, 0.0)
    with pytest.raises(UsageError, match="over 100,000,000 records"):
        programs.Statistics().dataset(parameters("statistics", field=16), 1, many)
