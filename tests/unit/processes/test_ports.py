"""Detects from the logs of Kafka and Flink that a process did not start because its port was in use."""

from __future__ import annotations

import pytest

from streamgauge.processes.ports import refused_port

KAFKA = (
    "org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:44613: Address already in use."
)
FLINK_REST = "java.net.BindException: Could not start rest endpoint on any port in port range 44613"
FLINK_RPC = (
    "09:24:05,431 ERROR NettyTransport - failed to bind to host:127.0.0.1 port:44613, shutting down Netty transport"
)


@pytest.mark.parametrize("line", [KAFKA, FLINK_REST, FLINK_RPC])
def test_a_refused_port_is_named(tmp_path, line):
    log = tmp_path / "broker.log"
    log.write_text(f"Starting\n{line}\n\tat Net.bind\n")
    assert refused_port([tmp_path / "none.log", log], [1234, 44613]) == 44613


@pytest.mark.parametrize("ports", [(), (4461,), (1234,)])
def test_other_ports_do_not_count(tmp_path, ports):
    log = tmp_path / "engine.log"
    log.write_text(KAFKA)
    assert refused_port([log], ports) is None
    log.write_text("connected to 127.0.0.1:1234\nOutOfMemoryError: 4461\n")
    assert refused_port([log], ports) is None
