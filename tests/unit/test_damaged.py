"""Damaged files: one message that names the file, never a traceback."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner
from written_runs import write_run

from run_files import change
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.repetition import write_set
from streamgauge.campaigns.reproduction_file import ReproductionFile
from streamgauge.campaigns.reproduction_plan import ReproductionRequest
from streamgauge.campaigns.search import Answer
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.evaluate.slices import digest
from streamgauge.evaluate.tally import Tally
from streamgauge.measure.plan import Request
from streamgauge.model.campaign import ExperimentRow
from streamgauge.model.capacity import CapacityProbe
from streamgauge.model.slices import SliceFigures
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies import scenario as scenarios

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"

WHOLE_FILE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda text: b"",
    "truncated": lambda text: text[: len(text) // 2],
    "another JSON type": lambda text: b"[]",
    "a number": lambda text: b"7",
    "no keys": lambda text: b"{}",
    "binary": lambda text: bytes(range(256)) * 4,
    "not UTF-8": lambda text: text[:20] + b"\xff\xfe" + text[20:],
    "deep": lambda text: b"[" * 100_000,
}
FEW = ("text", "missing")
"""Replacements for some values."""
MANY = ("text", -1, [], {}, None, True, 1e999, 10**30, [{"a": 1}], {"a": [1]}, "missing")
"""Replacements for every value."""
NOT_READ = {"jars", "argv", "versions", "scaled", "topic_settings", "packages"}


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page's script is 4 MB and not tested here."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "")
    monkeypatch.chdir(tmp_path)


def run_directory(path: Path) -> Path:
    """The golden run without its records, so that it is evaluated without Spark."""
    shutil.copytree(GOLDEN, path)
    shutil.rmtree(path / "recorded")
    (path / "recorded").mkdir()
    return path


def evaluate(path: Path) -> list[str]:
    return ["evaluate", str(run_directory(path / "run"))]


def report(path: Path) -> list[str]:
    return ["report", str(run_directory(path / "run"))]


def compare(path: Path) -> list[str]:
    write_run(path / "run", 100.0)
    return ["compare", str(path / "run"), str(write_run(path / "other", 100.0).path)]


def compare_sets(path: Path) -> list[str]:
    for side in ("run", "other"):
        for number in (1, 2, 3):
            write_run(path / side / str(number), 100.0 + number)
        write_set(path / side, 3)
    return ["compare", str(path / "run"), str(path / "other")]


def history(path: Path) -> list[str]:
    write_run(path / "runs" / "run", 100.0)
    return ["history", "--in", str(path / "runs"), "--out", str(path / "history.html")]


def capacity(path: Path) -> list[str]:
    out = path / "run"
    scenario = scenarios.resolve("ospbench/throughput", engine="echo", changes={"stage": "parse"})
    file = CapacityFile.open(out, CapacitySearch(Request(scenario, out), 0.1).settings())
    file.set_guess(1000)
    row = {"value": 900, "rate": 900, "purpose": "confirm", "verdict": "sustained", "reason": "", "weak": False}
    row |= {"seconds": 40.0, "seconds_saved": 0.0, "directory": "p", "total_p50": 2.0, "total_p99": None}
    file.add(CapacityProbe.model_validate(row))
    file.finish(Answer("found", 900, 1000, True, ""))
    return ["capacity", "ospbench/throughput", "--engine", "echo", "--set", "stage=parse", "--out", str(out)]


def compare_capacities(path: Path) -> list[str]:
    capacity(path)
    shutil.copytree(path / "run", path / "other")
    return ["compare", str(path / "run"), str(path / "other")]


def reproduce(path: Path) -> list[str]:
    campaign = ReproductionRequest("ospbench", path / "run", ("echo",))
    file = ReproductionFile.open(campaign.out, "ospbench", campaign.described(), campaign.settings())
    summary = json.loads((GOLDEN / "summary.json").read_text())
    attempt = {"run": 1, "directory": "runs/a", "verdict": "VALID", "reasons": [], "p50_ms": {"total": 4.0}}
    one = campaign.described().experiments[0]
    row = {"name": one.name, "scenario": one.scenario, "dimensions": one.dimensions, "purpose": "run"}
    row |= {"engine": "echo", "runs": 1, "state": "done", "reason": "", "attempts": [attempt], "verdict": "VALID"}
    row |= {"directory": "runs/a", "summary": summary, "capacity": None}
    file.lay_out([ExperimentRow.model_validate(row)])
    file.write()
    return ["reproduce", "ospbench", "--engine", "echo", "--out", str(campaign.out), "--dry-run"]


def doctor(path: Path) -> list[str]:
    return ["doctor"]


READERS: list[tuple[Callable[[Path], list[str]], str]] = [
    *((evaluate, f"run/{name}") for name in ("manifest.json", "outcome.json")),
    *((report, f"run/{name}") for name in ("manifest.json", "outcome.json", "summary.json")),
    *((compare, f"run/{name}") for name in ("manifest.json", "summary.json")),
    (compare_sets, "run/set.json"),
    *((compare_sets, f"run/2/{name}") for name in ("manifest.json", "summary.json")),
    *((history, f"runs/run/{name}") for name in ("manifest.json", "outcome.json", "summary.json")),
    (capacity, "run/capacity.json"),
    (compare_capacities, "run/capacity.json"),
    (reproduce, "run/reproduction.json"),
]
each_reader = pytest.mark.parametrize(
    ("command", "file"), READERS, ids=[f"{command.__name__}-{file}" for command, file in READERS]
)


def invoke(words: list[str]) -> BaseException | None:
    """The exception it ends with; None if it succeeded."""
    ended = CliRunner().invoke(app, words).exception
    return None if isinstance(ended, SystemExit) and ended.code in (0, 1, 3, 4, 130) else ended


@each_reader
def test_an_undamaged_file_is_read(command: Callable[[Path], list[str]], file: str, tmp_path: Path) -> None:
    assert invoke(command(tmp_path)) is None
    assert (tmp_path / file).is_file()


@pytest.mark.parametrize("damage", WHOLE_FILE)
@each_reader
def test_a_damaged_file_is_one_message(
    command: Callable[[Path], list[str]], file: str, damage: str, tmp_path: Path
) -> None:
    words, target = command(tmp_path), tmp_path / file
    target.write_bytes(WHOLE_FILE[damage](target.read_bytes()))
    before = {path: path.read_bytes() for path in tmp_path.rglob("summary.json")}
    refused = invoke(words)
    assert isinstance(refused, UsageError), repr(refused)
    assert refused.exit_code == 2
    message = refused.message()
    assert target.name in message or command is history, message
    assert {path: path.read_bytes() for path in tmp_path.rglob("summary.json")} == before, "nothing is overwritten"


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in the content: keys of objects, the first item of lists."""
    items = content.items() if isinstance(content, dict) else list(enumerate(content))[:1]
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def with_change(content: Any, place: tuple[Any, ...], value: Any, *, missing: bool = False) -> Any:
    changed = copy.deepcopy(content)
    target = changed
    for key in place[:-1]:
        target = target[key]
    if missing:
        del target[place[-1]]
    else:
        target[place[-1]] = value
    return changed


@pytest.mark.parametrize("values", [FEW, pytest.param(MANY, marks=pytest.mark.full)], ids=["few", "many"])
@each_reader
def test_a_missing_or_wrong_value_is_refused_or_harmless(
    command: Callable[[Path], list[str]], file: str, values: tuple[Any, ...], tmp_path: Path
) -> None:
    """Any value in any place (in the short test: eight of them) raises nothing but UsageError."""
    words, target = command(tmp_path), tmp_path / file
    content = json.loads(target.read_bytes())
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    failures, refused = [], 0
    every = [place for place in places(content) if not NOT_READ & set(place)]
    for place in every if values is MANY else every[:: max(len(every) // 8, 1)]:
        for value in values:
            changed = with_change(content, place, value, missing=value == "missing")
            target.write_text(json.dumps(changed))
            ended = invoke(words)
            refused += isinstance(ended, UsageError)
            if ended is not None and not isinstance(ended, UsageError):
                failures.append(f"{'.'.join(map(str, place))} = {value!r}: {ended!r}")
            for path, text in kept.items():
                path.write_bytes(text)
    assert not failures, "\n".join(failures)
    assert refused


def with_line(path: Path, number: int, line: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number] = line
    path.write_bytes(b"".join(lines))


LINES = (b"{\n", b"[]\n", b"7\n", b"{}\n", b"\xff\xfe\n", b"\x00\x01\n", b'{"t_ns": "text"}\n', b'{"t_ns": null}\n')


@pytest.mark.parametrize("kind", ["resources", "machine", "clock"])
@pytest.mark.parametrize("command", [evaluate, report])
def test_a_damaged_sample_is_named_with_its_line(
    command: Callable[[Path], list[str]], kind: str, tmp_path: Path
) -> None:
    words = command(tmp_path)
    target = tmp_path / "run" / "samples" / f"{kind}.jsonl"
    text = target.read_bytes()
    for line in LINES:
        target.write_bytes(text)
        with_line(target, 2, line)
        refused = invoke(words)
        assert isinstance(refused, UsageError), (line, refused)
        assert f"{kind}.jsonl is damaged" in refused.message() and "line 3" in refused.message()


def wrong_column(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, table.column_names[0], pa.array([b"x"] * table.num_rows)), path)


def no_column(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.drop_columns([table.column_names[0]]), path)


PARQUET: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "damaged inside": lambda path: path.write_bytes(path.read_bytes()[:4] + bytes(200) + path.read_bytes()[204:]),
    "a column of another type": wrong_column,
    "a column less": no_column,
}


@pytest.mark.parametrize("damage", PARQUET)
@pytest.mark.parametrize("name", ["seconds", "latency"])
def test_damaged_measures_are_refused(name: str, damage: str, tmp_path: Path) -> None:
    words, target = report(tmp_path), tmp_path / "run" / "measures" / f"{name}.parquet"
    PARQUET[damage](target)
    refused = invoke(words)
    assert isinstance(refused, UsageError), refused
    assert f"{name}.parquet is damaged" in refused.message() and "streamgauge evaluate" in refused.message()


@pytest.mark.parametrize("damage", PARQUET)
def test_a_damaged_ledger_is_refused_and_the_summary_kept(damage: str, tmp_path: Path) -> None:
    words, run = evaluate(tmp_path), tmp_path / "run"
    before = (run / "summary.json").read_bytes()
    PARQUET[damage](run / "ledger" / "worker-0.parquet")
    refused = invoke(words)
    assert isinstance(refused, UsageError), refused
    assert "ledger is damaged" in refused.message()
    assert (run / "summary.json").read_bytes() == before


def sliced(path: Path) -> list[str]:
    """The golden run as if it had been evaluated in one slice."""
    words = evaluate(path)
    run = RunDir(path / "run")
    scenario = json.loads(run.manifest_path.read_bytes())["scenario"]
    change(run.manifest_path, scenario={**scenario, "slice_s": 10})
    slice_ = run.slice_(1)
    slice_.carried_path.mkdir(parents=True)
    table = digest.as_counted(pa.table({name: pa.array([1] * 40) for name in digest.COLUMNS}))
    windows = digest.Windows.of(Tally.of(table, quiet=True, outputs=40, running=True), 0, 10, 10)
    counted = ("sent", "appended", "appended_rest_ms", "output", "arrived", "arrived_rest_ms", "done", "done_rest_ms")
    files = {"carried/tally": table, "seconds": windows.seconds, "heatmap": windows.heatmap}
    files["carried/late"] = pa.table({"late_us": [float(us) for us in range(40)], "count": [1] * 40})
    files["counted"] = pa.table({"second": range(16), **{name: range(16) for name in (*counted, "late_max_ns")}})
    for name, content in files.items():
        pq.write_table(content, slice_.path / f"{name}.parquet")
    counts = dict.fromkeys(name for name, field in SliceFigures.model_fields.items() if field.is_required())
    numbers = {name: None if name.endswith("_ms") else 1 for name in counts}
    write_json(slice_.slice_figures_path, {**numbers, "last": True, "gaps_ms": []})
    return words


@pytest.mark.parametrize("damage", [*PARQUET, "missing"])
@pytest.mark.parametrize("name", ["carried/tally", "carried/late", "counted", "seconds", "heatmap"])
def test_a_damaged_file_of_a_slice_is_refused_and_the_summary_kept(name: str, damage: str, tmp_path: Path) -> None:
    words, run = sliced(tmp_path), RunDir(tmp_path / "run")
    assert invoke(words) is None
    before = run.summary_path.read_bytes()
    target = run.slice_(1).path / f"{name}.parquet"
    if damage == "missing":
        target.unlink()
    else:
        PARQUET[damage](target)
    refused = invoke(words)
    assert isinstance(refused, UsageError), repr(refused)
    what = "a file is missing" if damage == "missing" else f"{target.name} is damaged"
    assert refused.message().startswith(what) and str(target) in refused.message()
    assert run.summary_path.read_bytes() == before


@pytest.mark.parametrize("name", ["carried/late", "counted", "seconds"])
def test_rows_without_a_value_are_refused_where_each_row_has_one(name: str, tmp_path: Path) -> None:
    words, run = sliced(tmp_path), RunDir(tmp_path / "run")
    target = run.slice_(1).path / f"{name}.parquet"
    table = pq.read_table(target)
    none = pa.nulls(table.num_rows, table.schema.types[0])
    pq.write_table(table.set_column(0, table.column_names[0], none), target)
    refused = invoke(words)
    assert isinstance(refused, UsageError), repr(refused)
    assert "has rows without a value" in refused.message() and str(target) in refused.message()


@pytest.mark.parametrize("damage", WHOLE_FILE)
def test_a_damaged_calibration_is_reported_as_missing(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path))
    (tmp_path / "calibration.json").write_bytes(WHOLE_FILE[damage](b'{"format": 1, "machines": {"a": {}}}'))
    asked = CliRunner().invoke(app, ["doctor"])
    if damage == "no keys":
        assert asked.exit_code == 0, "of another version"
        return
    assert asked.exit_code == 5
    assert "calibration.json is damaged" in asked.stdout
