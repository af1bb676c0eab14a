"""A system under test for the workload of ``examples/sensor_alarms`` that makes two mistakes.

It publishes the first reading that is not an alarm, and drops the first one that is.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition


def emit(event: str) -> None:
    sys.stdout.write(json.dumps({"event": event}) + "\n")
    sys.stdout.flush()


def main() -> None:
    job: dict[str, Any] = json.loads(Path(sys.argv[-1]).read_text())
    stopping: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    consumer = Consumer({**servers, "group.id": job["run"], "enable.auto.commit": False})
    producer = Producer({**servers, "linger.ms": 0})
    topic = job["inputs"]["readings"]
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(job["partitions"])])
    emit("ready")
    mistaken = {True: False, False: False}
    while not stopping:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            is_alarm = float(message.value().rpartition(b";")[2]) > job["parameters"]["limit_celsius"]
            is_kept = is_alarm if mistaken[is_alarm] else not is_alarm
            mistaken[is_alarm] = True
            if is_kept:
                producer.produce(job["output"], key=message.key(), value=message.value())
        producer.poll(0)
    producer.flush()
    consumer.close()
    emit("stopped")


if __name__ == "__main__":
    main()
