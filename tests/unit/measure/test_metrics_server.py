"""Live metrics over real HTTP, read with the parser of prometheus_client."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from urllib.request import Request, urlopen

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from streamgauge.errors import EnvironmentProblem, PortTaken
from streamgauge.measure.metrics_server import METRICS, MetricsServer
from streamgauge.measure.snapshot import Snapshot
from streamgauge.model.samples import ResourceSample

ACCEPT = "application/openmetrics-text;version=1.0.0"
MB = 1024 * 1024
SNAPSHOT = Snapshot(
    run="run-1",
    scenario="study/name",
    engine="echo",
    phase="measuring",
    offered=1000,
    sent=990,
    appended=980,
    output=900,
    lag=80,
    wait_s=0.25,
    resources=(
        ResourceSample(t_ns=1, role="server", group="servers", cpu_s=12.5, rss_mb=300.5, heap_used_mb=100.0),
        ResourceSample(t_ns=1, role="load-0", group="load", cpu_s=3.25, rss_mb=80.0),
    ),
)
RUN = {"run": "run-1"}
OF_SERVER = {**RUN, "role": "server", "group": "servers"}
OF_LOAD = {**RUN, "role": "load-0", "group": "load"}


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with MetricsServer(0) as server:
        yield server


def scrape(server: MetricsServer) -> str:
    with urlopen(Request(server.url, headers={"Accept": ACCEPT}), timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text: str = answer.read().decode()
        return text


def series(server: MetricsServer) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Labels and value of each series, by the name of the sample."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(scrape(server)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def port_of(server: MetricsServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


def test_every_metric(server: MetricsServer) -> None:
    server.publish(SNAPSHOT)
    assert series(server) == {
        "streamgauge_run_info": [({**RUN, "scenario": "study/name", "engine": "echo"}, 1)],
        "streamgauge_phase": [({**RUN, "phase": "measuring"}, 1)],
        "streamgauge_records_offered_total": [(RUN, 1000)],
        "streamgauge_records_sent_total": [(RUN, 990)],
        "streamgauge_records_appended_total": [(RUN, 980)],
        "streamgauge_records_output_total": [(RUN, 900)],
        "streamgauge_lag_records": [(RUN, 80)],
        "streamgauge_estimated_wait_seconds": [(RUN, 0.25)],
        "streamgauge_cpu_seconds_total": [(OF_SERVER, 12.5), (OF_LOAD, 3.25)],
        "streamgauge_resident_bytes": [(OF_SERVER, 300.5 * MB), (OF_LOAD, 80 * MB)],
        "streamgauge_heap_bytes": [(OF_SERVER, 100 * MB)],
    }
    assert [*series(server)] == [metric.name for metric in METRICS]


def test_types_units_and_help(server: MetricsServer) -> None:
    server.publish(SNAPSHOT)
    families = {family.name: family for family in text_string_to_metric_families(scrape(server))}
    assert families["streamgauge_run"].type == "info"
    assert families["streamgauge_records_sent"].type == families["streamgauge_cpu_seconds"].type == "counter"
    assert families["streamgauge_lag_records"].type == "gauge"
    assert {name: family.unit for name, family in families.items() if family.unit} == {
        "streamgauge_lag_records": "records",
        "streamgauge_estimated_wait_seconds": "seconds",
        "streamgauge_cpu_seconds": "seconds",
        "streamgauge_resident_bytes": "bytes",
        "streamgauge_heap_bytes": "bytes",
    }
    assert all(family.documentation for family in families.values())


def test_what_is_not_known_is_absent(server: MetricsServer) -> None:
    assert series(server) == {}, "before the first run"
    server.publish(Snapshot("run-1", "study/name", "echo"))
    assert [*series(server)] == ["streamgauge_run_info", "streamgauge_phase"]
    unknown = ResourceSample(t_ns=1, role="a", group="b")
    server.publish(replace(SNAPSHOT, lag=0, output=None, wait_s=None, resources=(unknown,)))
    found = series(server)
    assert found["streamgauge_lag_records"] == [(RUN, 0)], "0 is known"
    assert not {"streamgauge_records_output_total", "streamgauge_estimated_wait_seconds"} & found.keys()
    assert not {name for name in found if "cpu" in name or "bytes" in name}


def test_nothing_of_an_earlier_run_or_phase_is_left(server: MetricsServer) -> None:
    server.publish(SNAPSHOT)
    server.publish(replace(SNAPSHOT, phase="tail"))
    assert series(server)["streamgauge_phase"] == [({**RUN, "phase": "tail"}, 1)]
    server.publish(replace(SNAPSHOT, run="run-2", resources=SNAPSHOT.resources[:1]))
    found = series(server)
    assert {labels["run"] for rows in found.values() for labels, _ in rows} == {"run-2"}
    assert [labels["role"] for labels, _ in found["streamgauge_cpu_seconds_total"]] == ["server"]


def test_names_of_runs_are_escaped(server: MetricsServer) -> None:
    server.publish(replace(SNAPSHOT, run='a"b\\c\nd'))
    assert series(server)["streamgauge_lag_records"] == [({"run": 'a"b\\c\nd'}, 80)]


def test_it_listens_on_loopback_alone(server: MetricsServer) -> None:
    assert server._server.socket.getsockname()[0] == "127.0.0.1"
    assert server.url.startswith("http://127.0.0.1:")


def test_no_started_process_inherits_the_socket(server: MetricsServer) -> None:
    assert not server._server.socket.get_inheritable()


def test_a_port_that_is_in_use(server: MetricsServer) -> None:
    with pytest.raises(PortTaken, match="in use by another program") as raised:
        MetricsServer(port_of(server))
    assert raised.value.exit_code == 5
    assert raised.value.where == f"127.0.0.1:{port_of(server)}"


def test_a_port_that_may_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("streamgauge.measure.metrics_server.start_http_server", refuse)
    with pytest.raises(EnvironmentProblem, match="Permission denied") as raised:
        MetricsServer(80)
    assert not isinstance(raised.value, PortTaken)


@pytest.mark.parametrize("ending", [None, RuntimeError, KeyboardInterrupt])
def test_afterwards_nothing_listens(ending: type[BaseException] | None) -> None:
    server = MetricsServer(0)
    port = port_of(server)
    try:
        with server:
            scrape(server)
            if ending is not None:
                raise ending
    except (RuntimeError, KeyboardInterrupt):
        pass
    assert not server._thread.is_alive()
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0
    with MetricsServer(port) as again:
        assert port_of(again) == port, "and the port is free at once"
