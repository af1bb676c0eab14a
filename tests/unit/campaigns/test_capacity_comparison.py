"""Capacities against each other: what their searches allow to say, and which are refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from written_runs import write_run

from streamgauge.campaigns.capacity_set import write_set
from streamgauge.campaigns.comparison import compare
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.model.comparison import Comparison

SETTINGS = {
    "scenario": "ospbench/throughput",
    "engine": "echo",
    "rule": "slope",
    "slo": [],
    "resolution": 0.1,
    "over": "rate_per_s",
    "stage": "parse",
    "profile": "laptop",
    "arrivals": "even",
    "rate_per_s": 400,
    "script": None,
}
CORES = {"unit": "cores", "over": "cores"}


def write_search(path: Path, interval: Sequence[float | None], **more: Any) -> Path:
    settings = {**SETTINGS, **more.pop("settings", {}), **{key: more[key] for key in ("over", "rule") if key in more}}
    rate = round(interval[0] or 1)
    write_run(path / "probes" / "1", 10.0, changes={"scenario.load.rate_per_s": rate}, **more.pop("summary", {}))
    content = {
        "format": 1,
        **{key: settings[key] for key in ("scenario", "engine", "rule", "slo", "resolution", "over")},
        "unit": "records/s",
        "outcome": "found" if len(interval) < 2 or interval[1] else "ceiling",
        "interval": interval,
        "confirmed": True,
        "validated": True,
        "note": "",
        "best_latency_ms": None,
        "guess": 1,
        "seconds": 100.0,
        "probes": [],
        "seconds_saved": 0.0,
        "settings": settings,
        **more,
    }
    (path / "capacity.json").write_text(json.dumps(content))
    return path


def write_searches(path: Path, best: Sequence[float], *, beyond: bool = True, **more: Any) -> Path:
    """A set of searches, each with a bracket of 10 %."""
    for number, value in enumerate(best, start=1):
        write_search(path / str(number), [value, 1.1 * value if beyond else None], **more)
    write_set(path, {**SETTINGS, **{key: more[key] for key in ("over",) if key in more}}, len(best))
    return path


def test_three_searches_a_side_tell(tmp_path: Path) -> None:
    """B sustains less: above 1 is worse, so the rates are turned round. The brackets play no part."""
    a = write_searches(tmp_path / "a", (1000, 1020, 990))
    b = write_searches(tmp_path / "b", (800, 790, 810))
    comparison = compare(a, b)
    assert (comparison.word, comparison.ratio) == ("slower", 1.25)
    assert comparison.interval == (round(990 / 810, 4), round(1020 / 790, 4))
    assert (comparison.a.values, comparison.a.median) == ([1000, 1020, 990], 1000)
    assert comparison.b.brackets[0] == (800, pytest.approx(880))
    assert comparison.seed == 1
    assert list(comparison.as_json()["a"]) == ["path", "engine", "searches", "values", "median", "brackets"]
    assert compare(b, a).word == "faster"
    assert compare(a, a).word == "same"
    assert Comparison.model_validate_json(json.dumps(comparison.as_json())) == comparison


@pytest.mark.parametrize(("of_a", "of_b"), [(1, 1), (2, 2), (1, 3), (5, 2)])
def test_fewer_than_three_searches_never_tell(tmp_path: Path, of_a: int, of_b: int) -> None:
    a = write_searches(tmp_path / "a", [1000] * of_a)
    b = write_searches(tmp_path / "b", [100] * of_b)
    comparison = compare(a, b)
    assert (comparison.word, comparison.ratio, comparison.runs_needed) == ("cannot tell", 10.0, 3)
    assert comparison.interval == (None, None), "a bracket is not a 95 % interval"


def test_a_single_search_is_one_search(tmp_path: Path) -> None:
    a, b = (write_search(tmp_path / name, [value, 1.1 * value]) for name, value in (("a", 1000), ("b", 500)))
    asked = CliRunner().invoke(app, ["compare", str(a), str(b)])
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.strip().startswith("cannot tell · B : A = 2.000 (capacity, records/s; above 1: B is worse)")
    assert "95 %" not in asked.stdout
    needed = "at least 3 a side are needed: streamgauge capacity … --runs 3"
    assert f"A has 1 search and B has 1 search; {needed}" in asked.stdout


def test_what_a_set_prints(tmp_path: Path) -> None:
    a, b = write_searches(tmp_path / "a", (1000, 1020, 990)), write_searches(tmp_path / "b", (980, 900, 1100))
    asked = CliRunner().invoke(app, ["compare", str(a), str(b)])
    assert "cannot tell · B : A = 1.020, 95 % interval 0.900 to 1.133" in asked.stdout
    assert "median 1,000 of 1,000  1,020  990, the best sustained value of each search" in asked.stdout
    assert "with 3 searches a side; about" in asked.stdout
    assert "or fewer with a finer --resolution" in asked.stdout


def test_what_lies_beyond_a_ceiling_is_not_known(tmp_path: Path) -> None:
    """A sustains at least so much: B is slower all the same; that it is faster, nobody can say."""
    a = write_searches(tmp_path / "a", (1000, 1000, 1000), beyond=False)
    slower = compare(a, write_searches(tmp_path / "b", (500, 500, 500)))
    assert (slower.word, slower.interval) == ("slower", (2.0, None))
    assert "may lie beyond 1,000" in slower.notes[0]
    faster = compare(a, write_searches(tmp_path / "c", (2000, 2000, 2000)))
    assert (faster.word, faster.interval, faster.runs_needed) == ("cannot tell", (0.5, None), None)


def test_the_least_of_a_resource_is_a_cost(tmp_path: Path) -> None:
    a, b = (write_searches(tmp_path / name, cores, **CORES) for name, cores in (("a", (1, 1, 1)), ("b", (4, 4, 4))))
    comparison = compare(a, b)
    assert (comparison.word, comparison.ratio, comparison.interval) == ("slower", 4.0, (4.0, 4.0))
    other = write_searches(tmp_path / "c", (4, 4, 4), **CORES, settings={"rate_per_s": 1_000})
    with pytest.raises(UsageError, match="rate_per_s: 400 and 1000"):
        compare(a, other)


def test_the_start_of_a_search_does_not_matter_and_other_parameters_do(tmp_path: Path) -> None:
    def searched(name: str, **parameters: int) -> Path:
        axis = {"unit": "bound_ms", "over": "bound_ms", "harder": "more"}
        return write_search(tmp_path / name, [900, 1000], **axis, settings={"parameters": parameters})

    a = searched("a", bound_ms=500, late_ms=1)
    assert compare(a, searched("b", bound_ms=700, late_ms=1)).ratio == 1.0
    with pytest.raises(UsageError, match="late_ms: 1 and 2"):
        compare(a, searched("c", bound_ms=500, late_ms=2))


def test_scripts_may_differ_and_data_may_not(tmp_path: Path) -> None:
    def searched(name: str, **files: str) -> Path:
        sums = {key: {f"{key}.txt": checksum} for key, checksum in files.items()}
        return write_search(tmp_path / name, [900, 1000], settings=sums)

    a = searched("a", files="1", program_files="1")
    assert compare(a, searched("b", files="1", program_files="2")).ratio == 1.0
    with pytest.raises(UsageError, match="files: "):
        compare(a, searched("c", files="2", program_files="1"))


@pytest.mark.parametrize(
    ("interval", "more", "says"),
    [
        ([1000, 1100], {"rule": "ospbench"}, "'slope' and 'ospbench'"),
        ([1000, 1100], {"unit": "cores"}, "'records/s' and 'cores'"),
        ([1000, 1100], {"settings": {"slo": ["latency.p99 < 1s"]}}, "slo: .. and .'latency.p99 < 1s'."),
        ([1000, 1100], {"settings": {"arrivals": "poisson"}}, "arrivals: 'even' and 'poisson'"),
        ([1000, 1050], {"settings": {"resolution": 0.05}}, "resolution: 0.1 and 0.05"),
        ([None, None], {"outcome": "invalid", "note": "INVALID, twice"}, "b: INVALID: INVALID, twice"),
        ([None, None], {"outcome": None}, "b: unfinished"),
        ([None, None], {"outcome": None, "note": "9 results were lost"}, "b: FAILED: 9 results were lost"),
        ([None, 100], {"outcome": "missed"}, "b: nothing was sustained"),
        ([1000, 1100], {"confirmed": False, "note": "900: not sustained"}, "b: unconfirmed: 900: not sustained"),
        ([1000, 1100], {"validated": False}, "b: unvalidated: the script has no reference"),
        ([1000], {}, "is damaged"),
    ],
)
def test_searches_that_are_refused(tmp_path: Path, interval: list[Any], more: dict[str, Any], says: str) -> None:
    a, b = write_search(tmp_path / "a", [1000, 1100]), write_search(tmp_path / "b", interval, **more)
    with pytest.raises(UsageError, match=says):
        compare(a, b)
    with pytest.raises(UsageError) as refused:
        compare(b, a)
    assert refused.value.exit_code == 2


def test_one_bad_search_refuses_the_set(tmp_path: Path) -> None:
    a = write_searches(tmp_path / "a", (1000, 1000, 1000))
    second = a / "2" / "capacity.json"
    second.write_text(json.dumps({**json.loads(second.read_text()), "confirmed": False}))
    with pytest.raises(UsageError, match="a/2: unconfirmed"):
        compare(a, a)
    second.unlink()
    with pytest.raises(UsageError, match=r"not finished(.|\n)*no search 2"):
        compare(a, a)


@pytest.mark.parametrize(
    ("settings", "summary", "refused"),
    [
        ({"script": None}, {}, False),
        ({"script": "1a2b"}, {"validated": True}, False),
        ({"script": "1a2b"}, {"validated": False}, True),
        ({"script": "1a2b"}, {}, True),
    ],
)
def test_files_of_an_earlier_version_do_not_say_whether_they_are_validated(
    tmp_path: Path, settings: dict[str, Any], summary: dict[str, Any], refused: bool
) -> None:
    old = write_search(tmp_path / "old", [1000, 1100], settings=settings, summary=summary)
    content = json.loads((old / "capacity.json").read_text())
    del content["validated"]
    (old / "capacity.json").write_text(json.dumps(content))
    if not summary:
        probe_summary = json.loads((old / "probes" / "1" / "summary.json").read_text())
        probe_summary.pop("validated", None)
        (old / "probes" / "1" / "summary.json").write_text(json.dumps(probe_summary))
    if refused:
        with pytest.raises(UsageError, match="unvalidated"):
            compare(old, old)
    else:
        assert compare(old, old).ratio == 1.0


def test_a_probe_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    a = write_search(tmp_path / "a", [1000, 1100])
    cut_off = a / "probes" / "00-drain"
    cut_off.mkdir()
    (cut_off / "manifest.json").write_bytes((a / "probes" / "1" / "manifest.json").read_bytes())
    assert compare(a, a).ratio == 1.0


def test_searches_on_another_machine_are_refused(tmp_path: Path) -> None:
    a, b = (write_searches(tmp_path / name, (1000, 1000, 1000)) for name in "ab")
    manifest = b / "3" / "probes" / "1" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["machine"]["cpu"] = "Other"
    manifest.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"machine\.cpu: 'AMD EPYC' and 'Other'"):
        compare(a, b)


def test_a_run_is_no_capacity(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only be compared with a capacity"):
        compare(write_run(tmp_path / "a", 253.0).path, write_search(tmp_path / "b", [1000, 1100]))


def test_searches_are_not_repeated_by_compare(tmp_path: Path) -> None:
    a = write_search(tmp_path / "a", [1000, 1100])
    asked = CliRunner().invoke(app, ["compare", str(a), str(a), "--run", "--out", str(tmp_path / "c")])
    assert isinstance(asked.exception, UsageError)
    assert "capacity … --runs 3" in asked.exception.message()
    assert not (tmp_path / "c").exists()
