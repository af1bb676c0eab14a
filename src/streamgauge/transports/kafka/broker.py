"""The embedded broker: one KRaft process, broker and controller in one, on loopback."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from streamgauge.model import ProcessSpec, Ready, Stop

HEAP_MB = 512
_JOINING_MS = 3000
"""Kafka's own default: how long the first assignment of partitions waits for the next member of a group."""

# The jar group logs through slf4j-simple: to standard error, configured by system properties.
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


def plan(
    work_dir: Path,
    *,
    java: Path,
    jars: Sequence[Path],
    port: int,
    controller_port: int,
    proxied: tuple[int, int] | None = None,
    restarts: bool = False,
    segment_bytes: int | None = None,
    joined_together: bool = False,
) -> tuple[ProcessSpec, ...]:
    """Format the log directory, then start the broker on 127.0.0.1:port.

    ``proxied``: the port of a second listener, and the port of a proxy in front of it. ``restarts``: whether it will be
    killed and started again. ``segment_bytes``: records are removed during the run, and files of this size are to be
    deleted soon after. ``joined_together``: the members of a consumer group start together, and none is to work alone
    before the others have joined.
    """
    home = work_dir / "broker"
    properties = home / "server.properties"
    base = [
        str(java),
        f"-Xms{HEAP_MB}m",
        f"-Xmx{HEAP_MB}m",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=20",
        f"-Djava.io.tmpdir={home}",
        *_LOGGING,
        "-cp",
        ":".join(map(str, jars)),
    ]
    # A cluster id is 16 bytes, derived from the run so that the plan stays pure.
    cluster_id = base64.urlsafe_b64encode(hashlib.md5(str(work_dir).encode(), usedforsecurity=False).digest())
    return (
        ProcessSpec(
            role="broker-format",
            group="broker",
            argv=[
                *base,
                "kafka.tools.StorageTool",
                "format",
                # One argument: an id may begin with a hyphen.
                f"--cluster-id={cluster_id.decode()[:22]}",
                "-c",
                str(properties),
            ],
            files={
                properties: _properties(home, port, controller_port, proxied, restarts, segment_bytes, joined_together)
            },
            once=True,
        ),
        ProcessSpec(
            role="broker",
            group="broker",
            argv=[*base, "kafka.Kafka", str(properties)],
            ready=Ready("log", r"Kafka Server started", timeout_s=60),
            # Its data is removed with the work directory: a clean shutdown would only take time.
            stop=Stop("terminate", grace_s=10),
        ),
    )


def _properties(
    home: Path,
    port: int,
    controller_port: int,
    proxied: tuple[int, int] | None,
    restarts: bool,
    segment_bytes: int | None,
    joined_together: bool,
) -> str:
    settings: dict[str, object] = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": home / "log",
        "log.message.timestamp.type": "LogAppendTime",
        "log.retention.ms": -1,
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "group.initial.rebalance.delay.ms": _JOINING_MS if joined_together else 0,
        "group.min.session.timeout.ms": 1000,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "controlled.shutdown.enable": "false",
    }
    if proxied is not None:
        # Clients reconnect to the address that a listener advertises: these must come back through the proxy.
        settings |= {
            "listeners": f"{settings['listeners']},PROXIED://127.0.0.1:{proxied[0]}",
            "advertised.listeners": f"{settings['advertised.listeners']},PROXIED://127.0.0.1:{proxied[1]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }
    if restarts:
        # Until the session of the killed broker expires (default: 9 s), its controller refuses the new one.
        settings |= {"broker.session.timeout.ms": 2000, "broker.heartbeat.interval.ms": 500}
    if segment_bytes is not None:
        settings |= {
            # Also for the engine's own topics, which are compacted file by file.
            "log.segment.bytes": segment_bytes,
            "log.retention.check.interval.ms": 5000,
            "log.segment.delete.delay.ms": 1000,
        }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
