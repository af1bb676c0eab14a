"""A system under test for StreamBench's *wordcount* that loses one record.

``counting_engine.py N job.json``: counts words as they come, publishes each count, and leaves out record N.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition


def emit(event: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def main() -> None:
    lost, job = int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    (topic,), (output,) = job["inputs"].values(), job["outputs"].values()
    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    consumer = Consumer({**servers, "group.id": job["group"], "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(job["partitions"])])
    producer = Producer({**servers, "linger.ms": 1})
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    emit("ready")
    counts: Counter[str] = Counter()
    offsets = dict.fromkeys(range(job["partitions"]), 0)
    while running:
        for record in consumer.consume(500, timeout=0.05):
            words = record.value().decode().split("\t")[job["parameters"]["field"]].split()
            offsets[record.partition()] = record.offset() + 1
            if int(record.key()) == lost:
                continue
            for word in words:
                counts[word] += 1
                producer.produce(output, json.dumps({"word": word, "n": counts[word]}), word)
        producer.flush()
        emit("progress", consumed=sum(offsets.values()), offsets={topic: offsets})
    consumer.close()


main()
