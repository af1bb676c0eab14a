"""One short search from the command line, with an engine of known capacity."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import STREAMGAUGE, in_process, repeated, streamgauge

from streamgauge.conformance.suite import Bench

CAP_PER_S = 1000
SHORT = (
    *("capacity", "ospbench/throughput", "--engine", "echo", "--set", f"cap_per_s={CAP_PER_S}"),
    *("--set", "stage=ingest", "--rate", "300/s", "--for", "5s", "--warmup", "2s", "--set", "quiet_s=1"),
)


def search(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [STREAMGAUGE, *SHORT, "--json", *arguments, "--out", str(out)]
    return subprocess.run(command, text=True, capture_output=True, timeout=700, check=False)


def begin_and_interrupt(out: Path, *arguments: str) -> int:
    """Start the search and press Ctrl-C as soon as its first probe has begun; returns the exit code."""
    command = [STREAMGAUGE, *SHORT, *arguments, "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "probe 1:" in line:
                running.send_signal(signal.SIGINT)
                break
        running.stderr.read()
    return running.returncode


def check_found(out: Path, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The answer, its probes and its page; returns what was found."""
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    assert content == json.loads((out / "capacity.json").read_text())
    # The drained backlog shows the engine's speed; on a busy machine it may be slower than its cap.
    assert 0 < content["guess"] <= 1.15 * CAP_PER_S
    assert content["outcome"] == "found"
    best, beyond = content["interval"]
    # A busy machine may make the engine slower than its cap, never faster.
    assert best <= 1.02 * CAP_PER_S
    assert beyond > best
    assert any(probe["verdict"] == "not sustained" for probe in content["probes"])
    # An INVALID probe is repeated; in the others overload must be recognised.
    above = {probe["verdict"] for probe in content["probes"] if probe["value"] >= 1.2 * CAP_PER_S}
    assert above <= {"invalid", "not sustained"}
    for probe in content["probes"]:
        summary = json.loads((out / probe["directory"] / "summary.json").read_text())
        assert (summary["verdict"] == "INVALID") == (probe["verdict"] == "invalid")
        assert not (out / probe["directory"] / "recorded").exists()
    assert content["probes"][-1]["purpose"] == "confirm"
    assert "FOUND" in done.stderr
    assert "FOUND" in (out / "report.html").read_text()
    return content


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_known_capacity_is_found(shared: Bench, tmp_path: Path) -> None:
    directories: list[Path] = []

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        return search(directories[-1], "--resolution", "100%", "--bootstrap", shared.transport_address)

    done = repeated(once)
    check_found(directories[-1], done)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_an_interrupted_search_is_resumed(tmp_path: Path) -> None:
    fine = ("--resolution", "25%")
    directories: list[Path] = []
    begun: dict[str, Any] = {}

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        assert begin_and_interrupt(directories[-1], *fine) == 130
        begun.update(json.loads((directories[-1] / "capacity.json").read_text()))
        return search(directories[-1], *fine)

    done = repeated(once)
    out = directories[-1]
    assert (begun["outcome"], begun["probes"]) == (None, [])
    content = check_found(out, done)
    assert content["guess"] == begun["guess"]
    assert "draining a backlog" not in done.stderr

    evaluated = in_process("evaluate", str(out / content["probes"][-1]["directory"]))
    assert evaluated.returncode == 2
    assert "the records of this run were deleted" in evaluated.stderr

    again = search(out, *fine)
    assert again.returncode == 0
    assert json.loads(again.stdout) == content

    other = in_process(*SHORT, *fine, "--seed", "5", "--out", str(out))
    assert other.returncode == 2
    assert "another seed" in other.stderr


def test_usage_errors(tmp_path: Path) -> None:
    for arguments, says in (
        (("--resolution", "fine"), "10%"),
        (("--rule", "slop"), "did you mean 'slope'"),
        (("--over", "coars"), "unknown --over"),
        (("--rule", "none"), "no rule for a sustained rate"),
    ):
        done = in_process(*SHORT, *arguments, "--out", str(tmp_path / "none"))
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        # Its backlog is gone before the probes begin.
        (("--set", "drop_every=20", "--rate", "200/s"), "00-drain"),
        # Without a drain: the live lag grows by 5 % of the rate, as under overload.
        (("--set", "drop_every=20", "--rate", "400/s", "--over", "partitions"), "01-2"),
    ],
)
def test_an_engine_that_loses_results_has_failed(arguments: tuple[str, ...], where: str, tmp_path: Path) -> None:
    """It consumed its input, so missing results are not overload."""
    done = streamgauge(
        *("capacity", "ospbench/throughput", "--engine", "echo", "--set", "stage=parse", "--for", "6s"),
        *("--warmup", "2s", *arguments, "--out", str(tmp_path / "lossy")),
    )
    assert done.returncode == 4, done.stderr
    assert "results were lost; the engine claims exactly-once" in done.stderr
    run = tmp_path / "lossy" / "probes" / where
    assert json.loads((run / "summary.json").read_text())["results"]["lost"] > 0
    assert (run / "report.html").is_file()


@pytest.mark.full
@pytest.mark.timeout(900)
def test_two_searches_are_combined_and_compared(tmp_path: Path) -> None:
    """The least number of partitions: three probes a search, and no drain."""
    directories: list[Path] = []

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        command = (
            *(STREAMGAUGE, "capacity", "ospbench/throughput", "--engine", "echo", "--set", "stage=ingest", "--json"),
            *("--rate", "300/s", "--for", "5s", "--warmup", "2s", "--over", "partitions", "--runs", "2"),
            *("--out", str(directories[-1])),
        )
        return subprocess.run(command, text=True, capture_output=True, timeout=700, check=False)

    done = repeated(once)
    out = directories[-1]
    assert done.returncode == 0, done.stderr
    comparison = json.loads(done.stdout)
    assert [search["interval"] for search in comparison["searches"]] == [[1, None]] * 2
    assert (comparison["median"], comparison["confirmed"], comparison["validated"]) == (1, True, True)
    for name in ("", "1", "2"):
        assert (out / name / "report.html").is_file()
    compared = streamgauge("compare", str(out), str(out))
    assert compared.returncode == 0, compared.stderr
    assert "cannot tell" in compared.stdout
    assert "A has 2 searches and B has 2 searches; at least 3 a side are needed" in compared.stdout
