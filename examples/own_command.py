"""Your own system under test, in 40 lines: reads the input topics and publishes every record unchanged.

streamgauge run ospbench/latency --engine command -- python examples/own_command.py
"""

import json
import signal
import sys
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition


def emit(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)  # stdout is for the protocol, stderr for the log


def main():
    job = json.loads(Path(sys.argv[-1]).read_text())  # the last argument is the path of job.json
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))  # SIGTERM: finish and exit

    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    consumer = Consumer({**servers, "group.id": job["run"], "enable.auto.commit": False})
    producer = Producer({**servers, "linger.ms": 0})
    partitions = range(job["partitions"])
    topics = job["inputs"].values()
    consumer.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t in topics for p in partitions])
    emit("ready")

    while not stopping:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            producer.produce(job["output"], key=message.key(), value=message.value())
        producer.poll(0)
    producer.flush()
    consumer.close()
    emit("stopped")


if __name__ == "__main__":
    main()
