"""Whether the user's own broker answers and accepts the credentials."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any

from streamgauge.errors import EnvironmentProblem

CONNECT_S = 5.0
ADMITTED_S = 10.0
_ANSWER_S = 2.0


def check(client: Mapping[str, Any], config: str) -> None:
    """Raises EnvironmentProblem as soon as it is known that the broker cannot be used.

    ``client`` are the settings of a client, ``config`` is the file that its security comes from. The client itself
    retries until its timeout and does not report what is wrong.
    """
    bootstrap = client["bootstrap.servers"]
    _connect(bootstrap)
    refusals, last = _ask(client)
    if not refusals and not last:
        return
    raise EnvironmentProblem(
        "the Kafka broker refused the connection" if refusals else "the Kafka broker does not answer",
        where=f"--bootstrap {bootstrap}",
        got=refusals[0] if refusals else last,
        expected=f"the credentials in {config}" if config else None,
        hint="check user, password and certificates"
        if config
        else "check the address; for a broker with security: --kafka-config client.properties",
    )


def _connect(bootstrap: str) -> None:
    refused = {}
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
            return
        except OSError as problem:
            refused[address.strip()] = problem.strerror or str(problem)
    raise EnvironmentProblem(
        "the Kafka broker cannot be reached",
        where=f"--bootstrap {bootstrap}",
        got="; ".join(dict.fromkeys(refused.values())),
        hint="check the address, and that the broker is running",
    )


def _ask(client: Mapping[str, Any]) -> tuple[list[str], str]:
    """Why the broker refused the client, if it did, and the last error; neither once it has answered."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

    refusals: list[str] = []

    def note(error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            refusals.append(error.str())

    last, deadline = "no answer", time.monotonic() + ADMITTED_S
    asking = AdminClient({**client, "error_cb": note})
    while time.monotonic() < deadline and not refusals:
        try:
            asking.list_topics(timeout=_ANSWER_S)
        except KafkaException as problem:
            last = problem.args[0].str()
            asking.poll(0)
        else:
            return [], ""
    return refusals, last
