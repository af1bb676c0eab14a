"""A system under test that publishes every record unchanged, in transactions, and commits its offsets with them.

Each transaction is committed ``HELD_S`` seconds after its first record. A first transaction, with unexpected records,
is aborted. With ``POSITIONS=ahead``, offsets are committed ahead of their transaction. Writes JSON to stderr with the
start of each commit and what it publishes.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

HELD_S = float(os.environ.get("HELD_S", "0.5"))
POSITIONS_AHEAD = os.environ.get("POSITIONS") == "ahead"


def emit(file, **fields):
    file.write(json.dumps(fields) + "\n")
    file.flush()


def main():
    job = json.loads(Path(sys.argv[-1]).read_text())
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    committing = {"enable.auto.commit": POSITIONS_AHEAD, "auto.commit.interval.ms": 200}
    consumer = Consumer({**servers, "group.id": job["group"], **committing})
    producer = Producer({**servers, "transactional.id": job["run"], "linger.ms": 0})
    producer.init_transactions()
    consumer.assign([TopicPartition(t, p, 0) for t in job["inputs"].values() for p in range(job["partitions"])])

    producer.begin_transaction()
    for partition in range(job["partitions"]):
        producer.produce(job["output"], value='{"n_seq":999999999}', partition=partition)
    producer.flush()
    producer.abort_transaction()
    emit(sys.stdout, event="ready")

    waiting, due = [], None
    while not stopping or waiting:
        message = consumer.poll(0.01)
        if message is not None and not message.error():
            if not waiting:
                producer.begin_transaction()
                due = time.monotonic() + HELD_S
            waiting.append(message)
            producer.produce(job["output"], key=message.key(), value=message.value())
        if waiting and time.monotonic() >= due:
            producer.flush()
            if not POSITIONS_AHEAD:
                positions = consumer.position(consumer.assignment())
                producer.send_offsets_to_transaction(
                    [where for where in positions if where.offset >= 0], consumer.consumer_group_metadata()
                )
            commit_ns = time.time_ns()
            producer.commit_transaction()
            emit(sys.stderr, commit_ns=commit_ns, n_seq=[json.loads(message.value())["n_seq"] for message in waiting])
            waiting = []
    consumer.close()
    emit(sys.stdout, event="stopped")


if __name__ == "__main__":
    main()
