"""Watches a program that does not speak the protocol: ``python -m streamgauge.engines.command.watcher JOB.json``.

It is ready when consumers of one group have every partition of the input; how far they are is what the group commits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge.jvm.kafka_clients import settings_for
from streamgauge.protocol import emit, emit_progress, stop_on_sigterm

LOOK_S = 0.5
_ANSWER_S = 5.0

Places = set[tuple[str, int]]


class Groups:
    """The consumer groups of a broker."""

    def __init__(self, endpoints: Mapping[str, str]) -> None:
        from confluent_kafka.admin import AdminClient

        self._client = {**settings_for(endpoints), "log_level": 0}
        self._admin = AdminClient(self._client)
        self._reader: Any = None

    def having(self, wanted: Places) -> str | None:
        """The group whose members have all of these partitions; None while there is none."""
        listed = self._admin.list_consumer_groups(request_timeout=_ANSWER_S).result()
        names = [group.group_id for group in listed.valid]
        described = self._admin.describe_consumer_groups(names, request_timeout=_ANSWER_S) if names else {}
        for name, future in described.items():
            held = {
                (place.topic, place.partition)
                for member in future.result().members
                for place in (member.assignment.topic_partitions if member.assignment else ())
            }
            if wanted <= held:
                return str(name)
        return None

    def committed(self, group: str, wanted: Places) -> dict[str, dict[str, int]]:
        from confluent_kafka import Consumer, TopicPartition

        if self._reader is None:
            self._reader = Consumer({**self._client, "group.id": group, "enable.auto.commit": False})
        offsets: dict[str, dict[str, int]] = {}
        for place in self._reader.committed([TopicPartition(*one) for one in sorted(wanted)], timeout=_ANSWER_S):
            if place.offset >= 0:
                offsets.setdefault(place.topic, {})[str(place.partition)] = place.offset
        return offsets


def run(job: Mapping[str, Any]) -> int:
    from confluent_kafka import KafkaException

    asked_to_stop = stop_on_sigterm()
    groups, group = Groups(job["endpoints"]), None
    wanted = {(topic, part) for topic in job["inputs"].values() for part in range(job["partitions"])}
    while not asked_to_stop.wait(LOOK_S):
        try:
            if group is None:
                group = groups.having(wanted)
                if group is not None:
                    emit("ready")
            elif offsets := groups.committed(group, wanted):
                emit_progress(offsets)
        except KafkaException as problem:
            # The broker may be down for a while because of a fault.
            sys.stderr.write(f"{problem}\n")
    emit("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
