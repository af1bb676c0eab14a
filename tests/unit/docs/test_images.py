"""The figure of README.md, from made-up results; the runs themselves are real (`make images`)."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_images", ROOT / "docs" / "images" / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def reproduction(make: ModuleType, tmp_path: Path) -> Any:
    def write(state: str = "steady") -> Path:
        rows = []
        for number, (name, engine) in enumerate(make.EXPERIMENTS, start=1):
            measures = tmp_path / name / engine / "measures"
            measures.mkdir(parents=True)
            columns = {"kind": ["total"] * 100 + ["latest"], "value_ms": [*range(1, 101), 7000], "count": [10] * 101}
            pq.write_table(pa.table(columns), measures / "latency.parquet")
            summary = {
                "verdict": "VALID",
                "state": state,
                "state_reason": "because",
                "engine": {"version": f"{number}.0"},
                "rate_per_s": {"offered": 400.0},
                "results": {"matched": 1000, "expected": 1000},
            }
            directory = str(Path(name) / engine)
            rows.append({"name": name, "engine": engine, "state": "done", "directory": directory, "summary": summary})
        (tmp_path / "reproduction.json").write_text(json.dumps({"experiments": rows}))
        return tmp_path

    return write


def test_the_command_below_the_figure_is_the_one_that_is_run(make: ModuleType) -> None:
    command = shlex.join(["streamgauge", *make.COMMAND, "--out", "runs/systems"])
    assert f"\n$ {command}\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_image_of_the_documentation_is_made_or_drawn_by_hand(make: ModuleType) -> None:
    made = set(re.findall(r'"([\w-]+\.(?:svg|png))"', Path(make.__file__ or "").read_text(encoding="utf-8")))
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    used = {Path(name).name for text in texts for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)}
    assert used == made | {"architecture.svg"}


def test_the_figure_has_every_system(make: ModuleType, reproduction: Any) -> None:
    systems = make.read(reproduction())
    texts = [element.text for element in ElementTree.fromstring(make.figure(systems)).iter() if element.text]
    assert {title for title, _ in make.EXPERIMENTS.values()} <= {*texts}
    assert texts.count("p50 50 · p99 99") == 4


def test_labels_keep_their_distance(make: ModuleType) -> None:
    placed = make._apart({"a": 100.0, "b": 101.0, "c": 349.0, "d": 351.0}, 32.0)
    heights = np.array(list(placed.values()))
    assert (np.diff(heights) >= 32).all() and heights.max() <= make.HEIGHT - make.BOTTOM


def test_the_table_has_the_percentiles(make: ModuleType, reproduction: Any) -> None:
    rows = make.table(make.read(reproduction())).strip().splitlines()
    assert len(rows) == 6
    assert rows[2] == "| Spark Structured Streaming 1.0 | 50 | 99 | 100 | 1,000 of 1,000 right |"


def test_a_run_that_had_not_settled_is_refused(make: ModuleType, reproduction: Any) -> None:
    with pytest.raises(SystemExit, match="VALID, drifting: because"):
        make.read(reproduction("drifting"))
