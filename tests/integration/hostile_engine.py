"""A system under test that publishes every record unchanged, but badly: ``hostile_engine.py BEHAVIOUR VALUE job.json``.

``silent S``: publishes for S seconds and then runs on silently; ``stuck S``: the same, but it reports consumed records.
``every S``: publishes what has arrived every S seconds. ``slow RATE``: reads at most RATE records per second from
partition 1 of each topic.
"""

import json
import signal
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition


def emit(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main():
    behaviour, value = sys.argv[1], float(sys.argv[2])
    job = json.loads(Path(sys.argv[-1]).read_text())
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    consumer = Consumer({**servers, "group.id": job["run"], "enable.auto.commit": False, "fetch.wait.max.ms": 20})
    producer = Producer({**servers, "linger.ms": 0})
    consumer.assign([TopicPartition(t, p, 0) for t in job["inputs"].values() for p in range(job["partitions"])])
    consumer.list_topics(timeout=20)
    emit(event="ready")

    waiting, consumed = [], 0
    began = due = None
    while not stopping:
        arrived = [message for message in consumer.consume(500, timeout=0.01) if not message.error()]
        now = time.monotonic()
        if arrived and began is None:
            began = due = now
        if behaviour in ("silent", "stuck"):
            out = arrived if began is not None and now < began + value else []
            consumed += len(out)
            if behaviour == "stuck" and out:
                emit(event="progress", consumed=consumed)
        elif behaviour == "every":
            waiting += arrived
            out = []
            if due is not None and now >= due:
                out, waiting, due = waiting, [], due + value
        else:
            out = [message for message in arrived if message.partition() != 1]
            waiting += [message for message in arrived if message.partition() == 1]
            allowed = int((now - due) * value) if due is not None else 0
            if allowed:
                out, waiting, due = out + waiting[:allowed], waiting[allowed:], due + allowed / value
        for message in out:
            producer.produce(job["output"], message.value(), message.key())
        producer.poll(0)
    producer.flush(5)
    consumer.close()


main()
