"""Throughput of a generator with its queue, compared with the same generator in front of Kafka.

    python bench/queue_throughput.py [--pairs 3] [--records 5000000]

One load worker gets more load than it can send: purchases of the study *sustainable*. In turn, it sends them to a Kafka
broker, and serves them from its queue to a client that discards them. Kafka: until the last record is acknowledged;
queue: until the client has the last one. Event times must be those of the plan, to the millisecond.

Goal: at least twice the records per second of Kafka.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from streamgauge import jars, registry
from streamgauge import queue_protocol as wire
from streamgauge.model import NS_PER_MS, NS_PER_S, LoadPlan, Stream
from streamgauge.processes.ports import free_ports
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import Kafka
from streamgauge.transports.queue import Queue
from streamgauge.workloads.event_time import FIRST_MS
from streamgauge.workloads.games.data import PURCHASE

WORKLOAD = "games/aggregation"
STREAM = "purchases"
UNREACHABLE_PER_S = 10_000_000
FETCH_RECORDS = 200_000
LEAD_S = 0.5
GOAL_RATIO = 2.0


class Worker:
    """A load worker with this description of a transport."""

    def __init__(self, directory: Path, transport: dict[str, Any], address: str, plan: LoadPlan) -> None:
        directory.mkdir(exist_ok=True)
        self.ledger = directory / "ledger.parquet"
        parameters = registry.workload(WORKLOAD).parameters().model_dump()
        settings = directory / "settings.json"
        settings.write_text(
            json.dumps(
                {
                    "transport": transport,
                    "streams": [{"name": STREAM, "address": address}],
                    "workload": {"name": WORKLOAD, "parameters": parameters, "seed": 1},
                    "plan": asdict(plan),
                    "ledger": str(self.ledger),
                    "worker": {"index": 0, "of": 1},
                }
            )
        )
        argv = [sys.executable, "-m", "streamgauge.load.worker", str(settings)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._await("ready")

    def start(self) -> None:
        at_ns = time.time_ns() + round(LEAD_S * NS_PER_S)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": "start", "at_ns": at_ns}) + "\n")
        self._process.stdin.flush()

    def end(self) -> dict[str, np.ndarray]:
        """Its ledger, once it is done."""
        self._await("done")
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        table = pq.read_table(self.ledger)
        return {name: table[name].to_numpy() for name in table.column_names}

    def _await(self, event: str) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = json.loads(line)
            if found["event"] == event:
                return
        raise SystemExit(f"the load worker ended before its event {event!r}")


def on_kafka(directory: Path, kafka: Kafka, number: int, plan: LoadPlan) -> float:
    stream = Stream(STREAM, f"{STREAM}-{number}", 2, "input")
    kafka.create([stream])
    worker = Worker(directory / f"kafka-{number}", kafka.describe(), stream.address, plan)
    worker.start()
    ledger = worker.end()
    return float(plan.records / (ledger["acked_ns"].max() - ledger["sent_ns"].min()) * NS_PER_S)


def on_queue(directory: Path, number: int, plan: LoadPlan) -> float:
    home = directory / f"queue-{number}"
    home.mkdir()
    ports = free_ports(2)
    queue = Queue.attach(
        {"ports": ports, "directory": str(home), "widths": {STREAM: PURCHASE.itemsize}, "bound_records": plan.records}
    )
    worker = Worker(home, queue.describe(), STREAM, plan)
    with wire.connect(("127.0.0.1", ports[1]), STREAM) as client:
        worker.start()
        offset, answers = 0, []
        while offset < plan.records:
            client.sendall(wire.REQUEST.pack(wire.FETCH, FETCH_RECORDS, offset))
            _, count, _ = wire.ANSWER.unpack(wire.receive(client, wire.ANSWER.size))
            answers.append(np.frombuffer(wire.receive(client, count * PURCHASE.itemsize), PURCHASE)["event_ms"])
            offset += count
            client.sendall(wire.REQUEST.pack(wire.ACKNOWLEDGE, 0, offset))
        ended_ns = time.time_ns()
        client.sendall(wire.REQUEST.pack(wire.LEAVE, 0, 0))
    began_ns = worker.end()["sent_ns"].min()
    check_event_times(answers, plan)
    return float(plan.records / (ended_ns - began_ns) * NS_PER_S)


def check_event_times(answers: Sequence[np.ndarray], plan: LoadPlan) -> None:
    """Raises AssertionError unless every record of every answer, in order, has the moment of the plan."""
    due_ms = FIRST_MS + np.fromiter(map(plan.offset_ns, range(plan.records)), np.int64, plan.records) // NS_PER_MS
    assert np.array_equal(np.concatenate(answers), due_ms), "event times differ from the plan"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--records", type=int, default=5_000_000)
    asked = parser.parse_args()
    plan = LoadPlan(UNREACHABLE_PER_S, warmup_s=0.0, measured_s=asked.records / UNREACHABLE_PER_S, tail_s=0.0)
    jars.fetch(("kafka",))
    ratios = []
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as made,
        Supervisor(f"bench-queue-{time.time_ns()}", Path(made)) as supervisor,
    ):
        kafka = Kafka.prepare(None, free_ports(2))
        supervisor.start_all(kafka.plan(supervisor.work_dir))
        for number in range(1, asked.pairs + 1):
            broker, queue = on_kafka(Path(made), kafka, number, plan), on_queue(Path(made), number, plan)
            ratios.append(queue / broker)
            print(f"{number}: queue {queue:,.0f} records/s, Kafka {broker:,.0f}, ratio {ratios[-1]:.2f}", flush=True)
    median = statistics.median(ratios)
    met = median >= GOAL_RATIO
    print(f"median ratio {median:.2f}; goal: at least {GOAL_RATIO:g}: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
