"""The transport without a broker."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.model import Stream
from streamgauge.transports import kafka
from streamgauge.transports.kafka import Kafka


def test_a_client_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The futures of a client whose broker was killed may never complete."""
    transport = Kafka("127.0.0.1:9", own=False)
    never: Any = SimpleNamespace(list_offsets=lambda wanted, **_: {where: Future[Any]() for where in wanted})
    monkeypatch.setattr(transport, "_admin", lambda: never)
    monkeypatch.setattr(kafka, "_LIVE_ANSWER_S", 0.01)
    with pytest.raises(EnvironmentProblem, match="end offsets of topic t"):
        transport.positions([Stream("flow", "t", 1, "input")])
