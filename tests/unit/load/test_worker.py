"""The load worker as a process: its error messages, and how it ends."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEADLINE_S = 60.0
WORKER = "import sys; from streamgauge.load import worker; worker.ANSWER_S = 1.0; sys.exit(worker.main(sys.argv[1:]))"


@pytest.fixture
def settings_file(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: Any) -> Path:
        content = {
            "transport": {"name": "kafka", "own": False, "bootstrap": "127.0.0.1:1"},
            "streams": [{"name": "flow", "address": "flow"}, {"name": "speed", "address": "speed"}],
            "workload": {"name": "traffic/ingest", "seed": 1, "parameters": {"keys": "dataset"}},
            "plan": {"rate_per_s": 400, "warmup_s": 0.0, "measured_s": 1.0, "tail_s": 0.0},
            "ledger": str(tmp_path / "worker-0.parquet"),
            "worker": {"index": 0, "of": 1},
        } | changes
        path = tmp_path / "settings.json"
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))
        return path

    return write


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def run_worker(*arguments: object) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [sys.executable, "-c", WORKER, *map(str, arguments)],
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def failure(*arguments: object) -> str:
    code, events, errors = run_worker(*arguments)
    assert code == 1
    assert [event["event"] for event in events] == ["failed"]
    assert "Traceback" not in errors
    assert len(errors.splitlines()) <= 3, "a client without a broker must not flood the log"
    message = events[0]["message"]
    assert isinstance(message, str)
    return message


def test_a_broker_that_is_not_running(settings_file: Callable[..., Path], tmp_path: Path) -> None:
    message = failure(settings_file())
    assert "the Kafka broker did not answer within" in message
    assert "where: 127.0.0.1:1" in message
    assert not list(tmp_path.glob("*.parquet*"))


def test_a_broker_that_never_answers(settings_file: Callable[..., Path], silent_server: str) -> None:
    transport = {"name": "kafka", "own": False, "bootstrap": silent_server}
    assert "the Kafka broker did not answer within" in failure(settings_file(transport=transport))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": None}, "expected: plan"),
        ({"plan": {"rate": 1}}, "unexpected keyword argument 'rate'"),
        ({"workload": {"name": "trafic/ingest", "seed": 1, "parameters": {}}}, "did you mean 'traffic/ingest'?"),
        ({"transport": {"name": "kafak", "bootstrap": "x"}}, "did you mean 'kafka'?"),
        ({"worker": {"index": 2, "of": 2}}, "invalid load worker index"),
    ],
)
def test_wrong_settings(settings_file: Callable[..., Path], changes: dict[str, Any], message: str) -> None:
    assert message in failure(settings_file(**changes))


def test_missing_settings(tmp_path: Path) -> None:
    assert "cannot read the settings" in failure(tmp_path / "none.json")
    assert "takes one argument" in failure()
    (tmp_path / "half.json").write_text('{"plan"')
    assert "invalid settings" in failure(tmp_path / "half.json")
