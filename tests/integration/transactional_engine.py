"""A system under test that publishes every record unchanged, in transactions, and commits its positions with them.

``HELD_S`` seconds lie between the first record of a transaction and its commit. A first transaction, with records that
nobody asked for, is aborted. With ``POSITIONS=ahead`` the positions do not wait for their transaction. Says on stderr,
as JSON, when each commit began and what it was to publish.
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


def say(file, **fields):
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
    say(sys.stdout, event="ready")

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
            say(sys.stderr, commit_ns=commit_ns, n_seq=[json.loads(message.value())["n_seq"] for message in waiting])
            waiting = []
    consumer.close()
    say(sys.stdout, event="stopped")


if __name__ == "__main__":
    main()
