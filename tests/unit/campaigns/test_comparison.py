"""What may be compared, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from written_runs import GOLDEN, write_run

from streamgauge import identity
from streamgauge.campaigns.comparison import IGNORED, compare
from streamgauge.campaigns.repetition import write_set
from streamgauge.errors import UsageError
from streamgauge.model.comparison import Comparison
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json


def write_repetitions(path: Path, values_ms: Sequence[float], **look: Any) -> Path:
    for number, value in enumerate(values_ms, start=1):
        write_run(path / str(number), value, **look)
    write_set(path, len(values_ms))
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_repetitions(tmp_path / "a", (252, 253, 253, 254, 253))


def test_a_tenth_slower(base: Path, tmp_path: Path) -> None:
    comparison = compare(base, write_repetitions(tmp_path / "b", (278, 277, 278, 279, 278)))
    assert comparison.word == "slower"
    assert comparison.ratio == pytest.approx(278 / 253, abs=1e-4)
    low, high = comparison.interval
    assert low <= 1.1 <= high
    assert comparison.a.values == [252, 253, 253, 254, 253]
    assert comparison.b.median == 278
    assert comparison.runs_needed is None
    assert Comparison.model_validate_json(json.dumps(comparison.as_json())) == comparison


def test_the_other_way_round_is_faster(base: Path, tmp_path: Path) -> None:
    assert compare(write_repetitions(tmp_path / "b", (278, 277, 278, 279, 278)), base).word == "faster"


def test_equal_sets_are_the_same(base: Path, tmp_path: Path) -> None:
    assert compare(base, write_repetitions(tmp_path / "b", (253, 254, 252, 253, 253))).word == "same"


def test_single_runs_never_tell(tmp_path: Path) -> None:
    comparison = compare(write_run(tmp_path / "a", 100.0).path, write_run(tmp_path / "b", 300.0).path)
    assert (comparison.word, comparison.ratio, comparison.runs_needed) == ("cannot tell", 3.0, 3)


def test_the_latest_latency_on_both_sides_where_one_lacks_the_total(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", 100.0, latency_ms={"total": {"p50": 100.0}, "latest": {"p50": 80.0}})
    b = write_run(tmp_path / "b", None, latency_ms={"total": {"p50": None}, "latest": {"p50": 90.0}})
    comparison = compare(a.path, b.path)
    assert comparison.measure == "latest_p50_ms"
    assert (comparison.a.values, comparison.b.values) == ([80.0], [90.0])


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
    comparison = compare(base, write_run(tmp_path / "b", 900.0, state="overloaded").path)
    assert "overloaded" in comparison.notes[0]


def test_every_differing_key_is_named_with_both_values(base: Path, tmp_path: Path) -> None:
    changes = {"scenario.load.rate_per_s": 41, "scenario.seed": 12, "machine.cpu": "Other", "scenario.partitions": 3}
    with pytest.raises(UsageError) as refused:
        compare(base, write_run(tmp_path / "b", 253.0, changes=changes).path)
    message = refused.value.message()
    for words in (
        "scenario.load.rate_per_s: 40 and 41",
        "scenario.seed: 11 and 12",
        "machine.cpu: 'AMD EPYC' and 'Other'",
        "scenario.partitions: 2 and 3",
    ):
        assert words in message
    assert refused.value.exit_code == 2


CHECKED = [
    name
    for name in identity.ignoring(identity.of_manifest(RunDir(GOLDEN).manifest()), IGNORED)
    if not name.startswith(("scenario.load.", "transport.topic_settings."))
]


def test_what_is_checked() -> None:
    assert {"scenario.seed", "scenario.workload", "scenario.drain_deadline_s", "machine.cpu", "transport.own"} <= {
        *CHECKED
    }
    assert not any(name.startswith(("engine.", "scenario.script", "scenario.title")) for name in CHECKED)


@pytest.mark.parametrize("key", [*CHECKED, "transport.topic_settings"])
def test_each_checked_key_counts(base: Path, tmp_path: Path, key: str) -> None:
    other = write_run(tmp_path / "b", 253.0)
    if key == "shared_cores":
        other.write_outcome(other.outcome().model_copy(update={"shared_cores": False}))
    else:
        manifest = other.manifest().as_json()
        *parts, last = key.split(".")
        section = reduce(lambda place, part: place[part], parts, manifest)
        section[last] = "another"
        write_json(other.manifest_path, manifest)
    with pytest.raises(UsageError, match=key):
        compare(base, other.path)


def test_the_runs_of_one_side_are_of_one_engine(base: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    write_run(mixed / "1", 253.0)
    write_run(mixed / "2", 253.0, changes={"engine.options": {"delay_ms": 5.0}})
    write_set(mixed, 2)
    with pytest.raises(UsageError, match=r"engine.options.delay_ms: 0.0 and 5.0"):
        compare(base, mixed)


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
    assert compare(base, write_run(tmp_path / "b", 253.0, changes=changes).path).word == "cannot tell"


def test_what_is_neither(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run directory"):
        compare(base, tmp_path / "nothing")


def test_another_script_in_the_stages_place_is_compared_and_named(tmp_path: Path) -> None:
    mine = {"name": "my.py", "sha256": "1a2b3c4" + "0" * 57, "reference": None}
    a = write_run(tmp_path / "a", 10.0)
    b = write_run(tmp_path / "b", 12.0, script=mine, validated=False)
    comparison = compare(a.path, b.path)
    assert comparison.notes == [
        "A ran the workload itself, B the script my.py (1a2b3c4)",
        "B is unvalidated: its answers were not checked",
    ]
    assert compare(b.path, b.path).notes[0].startswith("A is unvalidated")
