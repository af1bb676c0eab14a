"""The clients that ask a broker on behalf of a run. Every question has a deadline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.errors import EnvironmentProblem
from streamgauge.jvm import kafka_clients

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Consumer
    from confluent_kafka.admin import AdminClient

ANSWER_S = 20.0


class Clients:
    """One admin client, and a consumer for each group that is asked about; each is made when it is first needed."""

    def __init__(self, endpoints: Mapping[str, str], *, own: bool) -> None:
        """``own``: the broker is one that this run starts."""
        self._endpoints = endpoints
        self._own = own
        self._admin: AdminClient | None = None
        self._readers: dict[str, Consumer] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return {**kafka_clients.settings_for(self._endpoints), "log_level": 0}

    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        # Read once: another thread may replace it in between.
        admin = self._admin
        if admin is None:
            admin = self._admin = AdminClient(self.settings, logger=_silent())
        return admin

    def replace_admin(self) -> None:
        """The next question goes to a new admin client, which knows nothing of the broker yet."""
        self._admin = None

    def reader(self, group: str) -> Consumer:
        if group not in self._readers:
            self._readers[group] = self.new_reader(group)
        return self._readers[group]

    def new_reader(self, group: str, **more: Any) -> Consumer:
        """A client with this group id and these settings. It never joins the group."""
        from confluent_kafka import Consumer

        settings = {"group.id": group, "isolation.level": "read_committed", "enable.auto.commit": False}
        return Consumer({**self.settings, **settings, **more}, logger=_silent())

    def metadata(self) -> Any:
        return self.answer(lambda: self.admin().list_topics(timeout=ANSWER_S), "the Kafka broker does not answer")

    def result(self, future: Future[Any], what: str, timeout_s: float) -> Any:
        """The futures of a client that was replaced, or whose broker was killed, may never complete."""
        try:
            return self.answer(lambda: future.result(2 * timeout_s), what)
        except TimeoutError:
            got = f"no answer within {2 * timeout_s:g} s"
            raise EnvironmentProblem(what, where=self._endpoints["bootstrap"], got=got) from None

    def answer(self, ask: Callable[[], Any], what: str) -> Any:
        """What ``ask`` returns. Raises EnvironmentProblem, with ``what`` could not be done."""
        from confluent_kafka import KafkaException

        try:
            return ask()
        except KafkaException as problem:
            error = problem.args[0]
            raise EnvironmentProblem(
                what,
                where=self._endpoints["bootstrap"],
                got=error.str(),
                hint=None if self._own else "check --bootstrap HOST:PORT and that the broker is running",
            ) from None


def _silent() -> logging.Logger:
    """Discards the client's log: without a broker it retries forever and floods stderr."""
    silent = logging.getLogger("streamgauge.kafka")
    if not silent.handlers:
        silent.addHandler(logging.NullHandler())
        silent.propagate = False
    return silent
