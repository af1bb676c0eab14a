"""What may be compared, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from written_runs import write_run

from streamgauge.errors import UsageError
from streamgauge.lab.comparison import CHECKED, compare
from streamgauge.lab.repetition import write_set


def write_repetitions(path: Path, values_ms: Sequence[float], **look: Any) -> Path:
    for number, value in enumerate(values_ms, start=1):
        write_run(path / str(number), value, **look)
    write_set(path, len(values_ms))
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_repetitions(tmp_path / "a", (252, 253, 253, 254, 253))


def test_a_tenth_slower(base: Path, tmp_path: Path) -> None:
    found = compare(base, write_repetitions(tmp_path / "b", (278, 277, 278, 279, 278)))
    assert found["word"] == "slower"
    assert found["ratio"] == pytest.approx(278 / 253, abs=1e-4)
    low, high = found["interval"]
    assert low <= 1.1 <= high
    assert found["a"]["values"] == [252, 253, 253, 254, 253]
    assert found["b"]["median"] == 278
    assert found["runs_needed"] is None
    assert json.loads(json.dumps(found)) == found


def test_the_other_way_round_is_faster(base: Path, tmp_path: Path) -> None:
    assert compare(write_repetitions(tmp_path / "b", (278, 277, 278, 279, 278)), base)["word"] == "faster"


def test_equal_sets_are_the_same(base: Path, tmp_path: Path) -> None:
    assert compare(base, write_repetitions(tmp_path / "b", (253, 254, 252, 253, 253)))["word"] == "same"


def test_single_runs_never_tell(tmp_path: Path) -> None:
    found = compare(write_run(tmp_path / "a", 100.0).path, write_run(tmp_path / "b", 300.0).path)
    assert (found["word"], found["ratio"], found["runs_needed"]) == ("cannot tell", 3.0, 3)


def test_the_latest_latency_on_both_sides_where_one_lacks_the_total(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", 100.0, latency_ms={"total": {"p50": 100.0}, "latest": {"p50": 80.0}})
    b = write_run(tmp_path / "b", None, latency_ms={"total": {"p50": None}, "latest": {"p50": 90.0}})
    found = compare(a.path, b.path)
    assert found["measure"] == "latest_p50_ms"
    assert (found["a"]["values"], found["b"]["values"]) == ([80.0], [90.0])


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ({"verdict": "INVALID"}, "INVALID"),
        ({"verdict": "FAILED"}, "FAILED"),
        ({"state": "drifting"}, "drifting"),
    ],
)
def test_unusable_runs_are_refused_by_name(base: Path, tmp_path: Path, look: dict[str, str], says: str) -> None:
    bad = write_run(tmp_path / "bad", 253.0, **look)
    for pair in ((base, bad.path), (bad.path, base)):
        with pytest.raises(UsageError, match=says) as refused:
            compare(*pair)
        assert str(bad.path) in refused.value.message()


def test_overload_is_noted(base: Path, tmp_path: Path) -> None:
    found = compare(base, write_run(tmp_path / "b", 900.0, state="overloaded").path)
    assert "overloaded" in found["notes"][0]


def test_every_differing_key_is_named_with_both_values(base: Path, tmp_path: Path) -> None:
    changes = {"scenario.load.rate_per_s": 41, "scenario.seed": 12, "machine.cpu": "Other", "scenario.partitions": 3}
    with pytest.raises(UsageError) as refused:
        compare(base, write_run(tmp_path / "b", 253.0, changes=changes).path)
    said = refused.value.message()
    for words in (
        "scenario.load.rate_per_s: 40 and 41",
        "scenario.seed: 11 and 12",
        "machine.cpu: 'AMD EPYC' and 'Other'",
        "scenario.partitions: 2 and 3",
    ):
        assert words in said
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("key", [key for key in CHECKED if key not in ("scenario.load", "scenario.parameters")])
def test_each_checked_key_counts(base: Path, tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError, match=key):
        compare(base, write_run(tmp_path / "b", 253.0, changes={key: "another"}).path)


@pytest.mark.parametrize(
    "changes",
    [
        {"engine.name": "another", "engine.version": "9", "engine.options": {}},
        {"scenario.load.tail_s": 9.5},
        {"machine.load_at_start": 7.0, "machine.kernel": "7"},
        {"scenario.load.shape": "constant", "scenario.keys": "dataset", "scenario.generators": 1},
    ],
)
def test_what_may_differ(base: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    assert compare(base, write_run(tmp_path / "b", 253.0, changes=changes).path)["word"] == "cannot tell"


def write_capacity(path: Path, interval: list[float | None], **more: Any) -> Path:
    write_run(path / "probes" / "1", 10.0, changes={"scenario.load.rate_per_s": round(interval[0] or 1)})
    found = {"format": 1, "interval": interval, "unit": "records/s", "rule": "slope", "probes": [], **more}
    (path / "capacity.json").write_text(json.dumps(found))
    return path


def test_capacities(tmp_path: Path) -> None:
    a = write_capacity(tmp_path / "a", [1000, 1100])
    found = compare(a, write_capacity(tmp_path / "b", [800, 880]))
    assert (found["word"], found["ratio"]) == ("slower", 1.25)
    assert found["interval"] == [round(1000 / 880, 4), 1.375]
    assert found["b"]["interval"] == [800, 880]
    assert compare(a, write_capacity(tmp_path / "c", [1050, 1150]))["word"] == "cannot tell"
    open_end = compare(write_capacity(tmp_path / "d", [1000, None]), a)
    assert (open_end["word"], open_end["interval"][1]) == ("cannot tell", None)


@pytest.mark.parametrize(
    ("interval", "more", "says"),
    [
        ([1000, 1100], {"rule": "ospbench"}, "'slope' and 'ospbench'"),
        ([1000, 1100], {"unit": "cores"}, "'records/s' and 'cores'"),
        ([1000, 1100], {"slo": ["latency.p99 < 1s"]}, "slo: None and .'latency.p99 < 1s'."),
        ([1000, 1100], {"settings": {"arrivals": "poisson"}}, "arrivals: None and 'poisson'"),
        ([1000, 1100], {"verdict": "INVALID"}, "INVALID"),
        ([None, 100], {}, "no rate was sustained"),
        ([1000], {}, "cannot be read"),
    ],
)
def test_capacities_that_are_refused(tmp_path: Path, interval: list[Any], more: dict[str, Any], says: str) -> None:
    a = write_capacity(tmp_path / "a", [1000, 1100])
    with pytest.raises(UsageError, match=says):
        compare(a, write_capacity(tmp_path / "b", interval, **more))


def test_the_least_of_a_resource(tmp_path: Path) -> None:
    """A needs one core, and nothing is below; B needs four."""
    cores = {"unit": "cores", "over": "cores", "settings": {"rate_per_s": 20_000}}
    a = write_capacity(tmp_path / "a", [1, None], **cores)
    found = compare(a, write_capacity(tmp_path / "b", [4, 3], **cores))
    assert (found["word"], found["ratio"], found["interval"]) == ("slower", 4.0, [3.0, None])
    other_rate = {**cores, "settings": {"rate_per_s": 1_000}}
    with pytest.raises(UsageError, match="rate_per_s: 20000 and 1000"):
        compare(a, write_capacity(tmp_path / "c", [4, 3], **other_rate))


def test_a_probe_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    a = write_capacity(tmp_path / "a", [1000, 1100])
    cut_off = a / "probes" / "00-drain"
    cut_off.mkdir()
    (cut_off / "manifest.json").write_bytes((a / "probes" / "1" / "manifest.json").read_bytes())
    assert compare(a, a)["ratio"] == 1.0


def test_a_run_is_no_capacity(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only be compared with a capacity"):
        compare(base, write_capacity(tmp_path / "b", [1000, 1100]))


def test_what_is_neither(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run directory"):
        compare(base, tmp_path / "nothing")


def test_another_job_in_the_stages_place_is_compared_and_named(tmp_path: Path) -> None:
    mine = {"name": "my.py", "sha256": "1a2b3c4" + "0" * 57, "reference": None}
    a = write_run(tmp_path / "a", 10.0)
    b = write_run(tmp_path / "b", 12.0, job=mine, validated=False)
    found = compare(a.path, b.path)
    assert found["notes"] == [
        "A ran the stage itself, B the job my.py (1a2b3c4)",
        "B is unvalidated: nothing says whether its answers are right",
    ]
    assert compare(b.path, b.path)["notes"][0].startswith("A is unvalidated")
