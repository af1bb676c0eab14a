"""A run is repeated from its manifest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from written_runs import write_run

from streamgauge.cli.request import build
from streamgauge.errors import UsageError
from streamgauge.measure import manifest
from streamgauge.measure import plan as plans
from streamgauge.measure.plan import Request
from streamgauge.measure.repeat import request_of
from streamgauge.rundir import RunDir


def begun(request: Request, work_dir: Path) -> RunDir:
    """The run directory of a request, as it is before the load starts."""
    run = RunDir.create(request.out)
    run.write_manifest(manifest.describe(plans.draw(request, "run", work_dir)))
    return run


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "echo", "rate": "200/s", "measured": "5s", "settings": ["delay_ms=250"], "seed": 7},
        {"engine": "echo", "settings": ["shape=steps", "steps_per_s=[100, 200]", "arrivals=poisson", "keys=zipf"]},
        {"engine": "spark", "settings": ["stage=sliding", "spark.x=1e3"], "slo": ["latency.p99 < 2s"]},
        {"engine": "spark", "profile": "paper", "transport_address": "127.0.0.1:9092", "master": "local[2]"},
        {"engine": "command", "program": ["cat", "--an-option", "two words", "--out"]},
        {"engine": "echo", "faults": ["pause  engine for 500ms at 2 s", "kill engine at 33.3 %"]},
    ],
)
def test_a_manifest_gives_the_request_that_wrote_it(options: dict[str, Any], tmp_path: Path) -> None:
    wanted = build("ospbench/latency", **options, out=tmp_path / "run")
    assert request_of(begun(wanted, tmp_path / "work"), tmp_path / "run") == wanted


def test_the_port_of_our_own_broker_is_any_free_one(tmp_path: Path) -> None:
    port = plans.free_port()
    wanted = build("ospbench/latency", engine="echo", settings=[f"broker_port={port}"], out=tmp_path / "run")
    again = request_of(begun(wanted, tmp_path / "work"), tmp_path / "run")
    assert again == replace(wanted, scenario=replace(wanted.scenario, broker_port=0))


def test_a_manifest_of_an_early_version_is_enough(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 10.0)
    request = request_of(run, tmp_path / "again")
    assert (request.out, request.master, request.transport_address) == (tmp_path / "again", "local[*]", None)
    assert request.scenario.load.rate_per_s == run.manifest().scenario.load.rate_per_s
    assert request.scenario.engine_options["alter_every"] == 90
    plans.draw(request, "run", tmp_path / "work")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scenario.profile": 3}, "scenario.profile is 3"),
        ({"scenario.newer": 1}, "unknown: newer"),
        ({"engine.options": {"no_such": 1}}, "no_such"),
        ({"engine.name": "none-such"}, "none-such"),
        ({"engine.options": {"x": "*********(redacted)"}}, "secrets are not in the run directory"),
        ({"engine.name": "command", "engine.options": {}}, "did not keep the program"),
    ],
)
def test_what_cannot_be_repeated(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 10.0, changes=changes)
    with pytest.raises(UsageError) as refused:
        request_of(run, tmp_path / "again")
    assert says in refused.value.message()


def test_a_manifest_without_a_value_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 10.0)
    content = run.manifest().as_json()
    del content["scenario"]["seed"]
    run.manifest_path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="seed: Field required"):
        request_of(run, tmp_path / "again")


def test_a_script_that_was_changed_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "my.py"
    file.write_text("def build(spark, source): ...\n")
    wanted = build("ospbench/latency", script=file, out=tmp_path / "run")
    run = begun(wanted, tmp_path / "work")
    assert request_of(run, tmp_path / "run") == wanted
    file.write_text("def build(spark, source): ... # another\n")
    with pytest.raises(UsageError, match="changed since the run"):
        request_of(run, tmp_path / "run")


def test_an_unchanged_script_or_data_that_was_changed_is_not_run_again(tmp_path: Path) -> None:
    job, data = tmp_path / "my_job.py", tmp_path / "orders.jsonl"
    job.write_text("print('read')\n")
    data.write_text('{"order_id": 1}\n')
    wanted = build(str(job), engine=None, data=[f"orders={data},loop=true"], out=tmp_path / "run")
    run = begun(wanted, tmp_path / "work")
    assert [Path(used.path) for used in run.manifest().files] == [data, job]
    assert request_of(run, tmp_path / "run") == wanted
    for file in (job, data):
        before = file.read_text()
        file.write_text(before * 2)
        with pytest.raises(UsageError, match="changed since the run") as refused:
            request_of(run, tmp_path / "run")
        assert str(file) in refused.value.message()
        file.write_text(before)
    job.unlink()
    with pytest.raises(UsageError, match="a file cannot be read"):
        request_of(run, tmp_path / "run")
