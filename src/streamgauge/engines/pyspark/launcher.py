"""Starts a user's script and stays when it ends: ``python -m streamgauge.engines.pyspark.launcher DIR -- COMMAND``.

The watcher says why a script ended. SIGTERM ends both.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.engines.pyspark import HOSTS, isolation
from streamgauge.engines.pyspark.packages import PackageResolver
from streamgauge.jvm.kafka_clients import settings_for
from streamgauge.protocol import emit, stop_on_sigterm

EVENTS = "events.jsonl"
LOOK_S = 0.1
STOP_S = 10.0
_ANSWER_S = 5.0
_LAST_OUTPUT_S = 2.0
"""A JVM that the script has started may outlive it, and keep its output open."""
_KEPT_LINES, _KEPT_CHARS, _PIECE_BYTES = 300, 1000, 1 << 16


def write_hosts(shim: Path, config: Mapping[str, Any]) -> None:
    """The host names that the script's JVM can resolve: this machine's, the broker's, and those that are allowed."""
    lines = [f"127.0.0.1 localhost {socket.gethostname()} {socket.getfqdn()}"]
    for host in dict.fromkeys([*_brokers(config["endpoints"]), *config["hosts"]]):
        try:
            lines.append(f"{socket.gethostbyname(host)} {host}")
        except OSError:
            sys.stderr.write(f"the host {host} is not known\n")
    (shim / HOSTS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _brokers(endpoints: Mapping[str, str]) -> Iterator[str]:
    """The hosts of the addresses, and those that the brokers there advertise."""
    names = [address.strip().rpartition(":")[0] for address in endpoints["bootstrap"].split(",")]
    if all(name in ("127.0.0.1", "localhost") for name in names):
        return
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    yield from names
    try:
        metadata = AdminClient({**settings_for(endpoints), "log_level": 0}).list_topics(timeout=_ANSWER_S)
    except KafkaException:
        return
    yield from (str(broker.host) for broker in metadata.brokers.values())


def run(shim: Path, command: Iterable[str]) -> int:
    asked_to_stop = stop_on_sigterm()
    config = json.loads((shim / "shim.json").read_text(encoding="utf-8"))
    write_hosts(shim, config)
    _tell(shim, event="started")
    seen = (shim / EVENTS).stat().st_size
    script = _start(shim, config, [*command])
    threading.Thread(target=_report_end, args=(script, shim), daemon=True).start()
    packages = PackageResolver(shim, config["python"], {"JAVA_HOME": config["environment"]["JAVA_HOME"]})
    usable = False
    while not asked_to_stop.wait(LOOK_S):
        packages.look()
        if not usable and _has_query(shim, seen):
            usable = True
            emit("usable")
    packages.stop()
    if script.poll() is None:
        script.terminate()
        try:
            script.wait(STOP_S)
        except subprocess.TimeoutExpired:
            script.kill()
    return 0


def _start(shim: Path, config: Mapping[str, Any], command: Sequence[str]) -> subprocess.Popen[bytes]:
    """In a network of its own where that is asked for and the system permits it."""
    environment = {**os.environ, **config["environment"]}
    if config["isolate"] and (script := isolation.start(command, config["bootstrap"], environment)) is not None:
        new = f"one of the script's own, in which it reaches only {config['bootstrap']}"
        _tell(shim, event="redirected", what="network", old="this machine's", new=new)
        return script
    return subprocess.Popen([*command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)


def _report_end(script: subprocess.Popen[bytes], shim: Path) -> None:
    """Pass on what the script prints; when it has ended, report that with its last lines."""
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    passing = threading.Thread(target=_pass_on, args=(script, kept), daemon=True)
    passing.start()
    code = script.wait()
    passing.join(_LAST_OUTPUT_S)
    _tell(shim, event="ended", code=code, tail=[*kept])


def _pass_on(script: subprocess.Popen[bytes], kept: deque[str]) -> None:
    assert isinstance(script.stdout, io.BufferedReader)
    # What has no line breaks is passed on in pieces.
    while piece := script.stdout.readline(_PIECE_BYTES):
        sys.stderr.buffer.write(piece)
        sys.stderr.buffer.flush()
        kept.append(piece.decode("utf-8", "replace").rstrip()[-_KEPT_CHARS:])


def _has_query(shim: Path, seen: int) -> bool:
    """Whether the script has started a query since the events file had so many bytes."""
    with (shim / EVENTS).open("rb") as file:
        file.seek(seen)
        return b'"event": "query"' in file.read()


def _tell(shim: Path, **fields: Any) -> None:
    line = json.dumps({"pid": os.getpid(), **fields}) + "\n"
    with (shim / EVENTS).open("a", encoding="utf-8") as file:
        file.write(line)


if __name__ == "__main__":
    directory, _, *words = sys.argv[1:]
    sys.exit(run(Path(directory), words))
