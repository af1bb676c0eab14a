"""The connections of Spark's tasks to queues and collector."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.engines.spark import queues


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All connections that were opened, each with whether it was closed."""
    connections: list[Any] = []

    def connect(address: str, stream: str) -> Any:
        connection = SimpleNamespace(closed=False)
        connection.close = lambda: setattr(connection, "closed", True)
        connections.append(connection)
        return connection

    monkeypatch.setattr(queues, "_connected", connect)
    monkeypatch.setattr(queues, "_idle", {})
    return connections


def test_a_task_uses_the_connection_of_the_one_before(opened: list[Any]) -> None:
    for _ in range(3):
        with queues._borrowed("here:1", "ads"):
            pass
    assert [one.closed for one in opened] == [False]


def test_tasks_at_the_same_time_and_other_streams_have_their_own(opened: list[Any]) -> None:
    with queues._borrowed("here:1", "ads") as one, queues._borrowed("here:1", "ads") as other:
        assert one is not other
    with queues._borrowed("here:1", "purchases"), queues._borrowed("here:2", "ads"):
        assert len(opened) == 4


@pytest.mark.parametrize("end", [GeneratorExit, ConnectionError, KeyboardInterrupt])
def test_one_that_was_given_up_is_not_used_again(opened: list[Any], end: type[BaseException]) -> None:
    """What it was asked for may still arrive."""
    with pytest.raises(end), queues._borrowed("here:1", "ads"):
        raise end
    with queues._borrowed("here:1", "ads"):
        pass
    assert [one.closed for one in opened] == [True, False]
