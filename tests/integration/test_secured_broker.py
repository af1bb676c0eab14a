"""Runs on a broker with SASL and TLS; secrets are nowhere in what a run leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from secured_broker import PASSWORD, STORE_PASSWORD, Secured, secured_broker

import streamgauge
from attempts import until_valid
from streamgauge.errors import EnvironmentProblem
from streamgauge.transports.kafka import admission


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def run(out: Path, engine: str, config: Path, bootstrap: str | None = None) -> streamgauge.api.RunResult:
    def once(number: int) -> streamgauge.api.RunResult:
        more = {} if bootstrap is None else {"bootstrap": bootstrap}
        return streamgauge.run(
            "ospbench/latency",
            engine=engine,
            rate=200,
            warmup=2 if engine == "echo" else 8,
            duration=5,
            settings={"stage": "ingest", "quiet_s": 1},
            kafka_config=config,
            out=out / str(number),
            **more,  # type: ignore[arg-type]
        )

    return until_valid(once, lambda result: result.verdict == "INVALID")


def without_secrets(directory: Path) -> None:
    files = [file for file in directory.rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        content = file.read_bytes()
        assert PASSWORD.encode() not in content and STORE_PASSWORD.encode() not in content, file


@pytest.mark.engine("echo")
def test_sasl_over_tls_with_a_trust_store_of_java(secured: Secured, tmp_path: Path) -> None:
    result = run(tmp_path, "echo", secured.scram())
    assert result.valid, result.reasons
    without_secrets(tmp_path)


@pytest.mark.full
@pytest.mark.engine("echo")
def test_tls_on_both_sides(secured: Secured, tmp_path: Path) -> None:
    result = run(tmp_path, "echo", secured.mutual(), f"127.0.0.1:{secured.tls_port}")
    assert result.valid, result.reasons
    without_secrets(tmp_path)


@pytest.mark.full
@pytest.mark.engine("spark")
def test_spark_with_sasl(secured: Secured, tmp_path: Path) -> None:
    result = run(tmp_path, "spark", secured.plain(), f"127.0.0.1:{secured.sasl_port}")
    assert result.valid, result.reasons
    without_secrets(tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=pytest.mark.engine(name)) for name in ("flink", "kafka-streams")]
)
@pytest.mark.parametrize("way", ["plain", "mutual"])
def test_the_other_engines(secured: Secured, tmp_path: Path, engine: str, way: str) -> None:
    config, port = (secured.plain(), secured.sasl_port) if way == "plain" else (secured.mutual(), secured.tls_port)
    result = run(tmp_path, engine, config, f"127.0.0.1:{port}")
    assert result.valid, result.reasons
    without_secrets(tmp_path)


def test_a_wrong_password_is_one_message(secured: Secured, tmp_path: Path) -> None:
    assert admission.CONNECT_S + admission.ADMITTED_S <= 15
    with pytest.raises(EnvironmentProblem) as caught:
        run(tmp_path, "echo", secured.plain("wrong"), f"127.0.0.1:{secured.sasl_port}")
    assert caught.value.exit_code == 5
    assert "refused the connection" in caught.value.message() and "Authentication failed" in caught.value.message()
    assert not (tmp_path / "1").exists() and not (tmp_path / "0").exists()
