"""A real Prometheus scrapes whole runs: its last values are those of the evaluation, which it knows nothing of."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from driving import STREAMGAUGE, streamgauge
from pyarrow import parquet

from streamgauge.model import NS_PER_S
from streamgauge.processes.ports import free_port
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

PROGRAM = shutil.which("prometheus")
DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana-dashboard.json"
READY_S = 60.0
VALUES = {"rate_per_s": "500", "warmup_s": "2", "measured_s": "5", "quiet_s": "1"}
SHORT = ("run", "ospbench/latency", "-e", "echo", *(f"--set={key}={value}" for key, value in VALUES.items()))

pytestmark = [pytest.mark.full, pytest.mark.engine("echo")]


class Prometheus:
    """Scrapes a port of this machine every second."""

    def __init__(self, directory: Path, scraped_port: int) -> None:
        assert PROGRAM is not None
        self.port = free_port()
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {"job_name": "streamgauge", "static_configs": [{"targets": [f"127.0.0.1:{scraped_port}"]}]}
            ],
        }
        directory.mkdir()
        # JSON is YAML.
        (directory / "prometheus.yml").write_text(json.dumps(config))
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [
                    PROGRAM,
                    f"--config.file={directory / 'prometheus.yml'}",
                    f"--storage.tsdb.path={directory / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + READY_S
        while not self._is_ready():
            assert self.process.poll() is None and time.monotonic() < deadline, (directory / "log").read_text()
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        """Whether it has begun to scrape, which it does some seconds after it answers."""
        try:
            return bool(self.query("up"))
        except OSError:
            return False

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series."""
        address = f"http://127.0.0.1:{self.port}/api/v1/query?{urlencode({'query': expression})}"
        with urlopen(address, timeout=30) as answer:
            content = json.load(answer)
        assert content["status"] == "success", content
        return [(row["metric"], float(row["value"][1])) for row in content["data"]["result"]]

    def value(self, expression: str) -> float:
        ((_, value),) = self.query(expression)
        return value


@pytest.fixture
def metrics_port() -> int:
    return free_port()


@pytest.fixture
def prometheus(tmp_path: Path, metrics_port: int) -> Iterator[Prometheus]:
    if PROGRAM is None:
        pytest.skip("no prometheus on the PATH (Debian: apt-get install prometheus)")
    running = Prometheus(tmp_path / "prometheus", metrics_port)
    yield running
    running.process.terminate()
    running.process.wait(30)


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_the_last_values_are_those_of_the_evaluation(prometheus: Prometheus, metrics_port: int, tmp_path: Path) -> None:
    """Of two runs of one command, whatever their verdict: a busy machine changes none of these figures."""
    given = ("--set", "stage=all", "--metrics-port", str(metrics_port), "--out", str(tmp_path / "out"))
    done = streamgauge(*SHORT, *given)
    assert f"metrics  http://127.0.0.1:{metrics_port}/metrics" in done.stderr, done.stderr
    assert not is_listening(metrics_port)
    runs = [RunDir(tmp_path / "out" / stage) for stage in ("ingest", "parse")]
    for run in runs:
        compare(prometheus, run)
    assert prometheus.value("max_over_time(count(streamgauge_run_info)[10m:1s])") == 1, "one run at a time"
    for expression in expressions():
        assert prometheus.query(f"last_over_time(({expression})[10m:1s])"), f"{expression} shows nothing"


def compare(prometheus: Prometheus, run: RunDir) -> None:
    """What Prometheus has of a run with what was evaluated."""
    summary, outcome = run.summary(), run.outcome()

    def last(metric: str) -> float:
        return prometheus.value(f'last_over_time({metric}{{run="{summary.run}"}}[10m])')

    totals = {name: last(f"streamgauge_records_{name}_total") for name in ("offered", "sent", "appended", "output")}
    seconds = parquet.read_table(run.path / "measures" / "seconds.parquet").to_pydict()
    assert totals == {name: sum(seconds[name]) for name in totals}
    # One result for each record, of which all but those of the tail are checked.
    load = scenarios.resolve("ospbench/latency", engine="echo", changes=VALUES).load
    before_tail = load.count_before(round((load.warmup_s + load.measured_s) * NS_PER_S))
    assert totals["output"] - (load.records - before_tail) == summary.results["matched"] == summary.results["expected"]
    ends = {name: sum(partitions.values()) for name, partitions in outcome.ends.items()}
    assert totals["output"] == ends.pop("output")
    assert totals["appended"] == sum(ends.values())
    assert last("streamgauge_lag_records") == 0
    rows = prometheus.query(f'last_over_time(streamgauge_cpu_seconds_total{{run="{summary.run}"}}[10m])')
    sampled = {sample["role"]: sample["cpu_s"] for sample in lines(run.path / "samples" / "resources.jsonl")}
    assert {"broker", "engine", "load"} <= {labels["role"] for labels, _ in rows}
    assert all(0 < value <= sampled[labels["role"]] for labels, value in rows)
    phases = prometheus.query(f'count_over_time(streamgauge_phase{{run="{summary.run}"}}[10m])')
    assert {labels["phase"] for labels, _ in phases} >= {"warm-up", "measuring", "evaluating"}
    ((labels, _),) = prometheus.query(f'last_over_time(streamgauge_run_info{{run="{summary.run}"}}[10m])')
    assert (labels["scenario"], labels["engine"]) == ("ospbench/latency", "echo")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def expressions() -> list[str]:
    """Of the dashboard, for all runs."""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    written = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    values = {"$run": ".+", "$__rate_interval": "5s", "$__range": "10m"}
    return [re.sub(r"\$\w+", lambda variable: values[variable[0]], one) for one in written]


def test_after_an_interrupt_nothing_listens(tmp_path: Path) -> None:
    command = [STREAMGAUGE, *SHORT, "--metrics-port", "0", "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = int(next(filter(None, (re.search(r"127\.0\.0\.1:(\d+)/metrics", line) for line in process.stderr)))[1])
        next(line for line in process.stderr if "warm-up" in line)
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert "streamgauge_records_sent_total{" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert not is_listening(port)
