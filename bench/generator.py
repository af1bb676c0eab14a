"""Throughput of the load generator, compared with Kafka's ProducerPerformance, and its punctuality.

    python bench/generator.py [--pairs 5] [--records 3000000] [--rates 1000 10000 100000] [--seconds 30] [--minutes 10]

Throughput: one load worker, with its ledger, gets more load than it can send; then ProducerPerformance sends the same
number of records of the same size, then two load workers do. All use the same broker, in turn, with the same acks,
idempotence, linger, batch size and compression. The load worker does more: it sends keyed records to two topics, with a
new payload for every record, while ProducerPerformance sends unkeyed records to one topic, with payloads from memory.

Punctuality: one load worker at rates that it can sustain; lateness is sent − intended for every record.

Memory: one load worker for some minutes; its resident memory must not grow.

Exits with code 1 if a goal is missed. Needs `streamgauge fetch kafka kafka-tools`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge import jars, registry
from streamgauge.errors import StreamgaugeError
from streamgauge.jvm.java import find_java
from streamgauge.model import NS_PER_MS, NS_PER_S, LoadPlan, Stream
from streamgauge.processes.ports import free_ports
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import Kafka
from streamgauge.transports.kafka.sender import PRODUCER_SETTINGS
from streamgauge.workloads.traffic.data import Traffic

GOAL_RATIO = 1.0
GOAL_LATE_P99_MS = 10.0
LIMIT_A_MS = 200.0
LIMIT_B_MS = 20.0

WORKLOAD = "traffic/ingest"
PARTITIONS = 2
UNREACHABLE_PER_S = 1_500_000
PAYLOADS = 200_000
MEMORY_PER_S = 20_000
LEAD_S = 0.5

Ledger = dict[str, np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--minutes", type=float, default=10.0, help="duration of the memory test; 0 = skip it")
    parser.add_argument("--seconds", type=float, default=30.0)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as made,
        Supervisor(f"bench-generator-{time.time_ns()}", Path(made)) as supervisor,
    ):
        bench = Bench(Path(made), supervisor)
        fast = bench.speed(asked.pairs, asked.records)
        punctual = [bench.punctuality(rate, asked.seconds) for rate in asked.rates]
        flat = bench.memory(asked.minutes) if asked.minutes else True
    return 0 if fast and all(punctual) and flat else 1


class Bench:
    """One broker, and the load on it."""

    def __init__(self, directory: Path, supervisor: Supervisor) -> None:
        self._directory = directory
        self._topics = 0
        self._kafka = Kafka.prepare(None, free_ports(2))
        self._tools = jars.paths("kafka-tools")
        supervisor.start_all(self._kafka.plan(supervisor.work_dir))

    def speed(self, pairs: int, records: int) -> bool:
        payloads = self._directory / "payloads"
        sample = Traffic.for_rate(1, UNREACHABLE_PER_S).build(0, PAYLOADS)
        payloads.write_bytes(b"\n".join([*sample["flow"].values, *sample["speed"].values]))
        print(f"{records:,} records a run, {len(sample['flow'].values[0])} bytes each")
        print(f"{'pair':>4} {'1 worker':>14} {'2 workers':>14} {'ProducerPerformance':>20} {'ratio':>6} {'ratio':>6}")
        self._ours(records, 1)  # warms up the broker, so that the first pair is like the others
        ratios = []
        for pair in range(1, pairs + 1):
            one, theirs, two = self._ours(records, 1), self._theirs(records, payloads), self._ours(records, 2)
            ratios.append((one / theirs, two / theirs))
            print(
                f"{pair:>4} {one:>12,.0f}/s {two:>12,.0f}/s {theirs:>18,.0f}/s",
                f"{one / theirs:>6.2f} {two / theirs:>6.2f}",
                flush=True,
            )
        median, of_two = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"  median ratio of two workers: {of_two:.2f}")
        return goal("median ratio of one worker", median, f"at least {GOAL_RATIO}", median >= GOAL_RATIO)

    def punctuality(self, rate_per_s: int, seconds: float) -> bool:
        plan = LoadPlan(rate_per_s, warmup_s=0.0, measured_s=seconds, tail_s=0.0)
        start_ns, rows = self._send(plan)
        n_seq = np.arange(plan.records)
        late_ms = (np.repeat(rows["sent_ns"], rows["count"]) - start_ns - n_seq * NS_PER_S // rate_per_s) / NS_PER_MS
        assert late_ms.min() >= 0, "a record left early"
        p50, p99, worst = *np.percentile(late_ms, [50, 99]), late_ms.max()
        print(
            f"{rate_per_s:,} records/s for {seconds:g} s: late p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {worst:.2f} ms"
        )
        print(f"  later than {LIMIT_B_MS:g} ms: {np.mean(late_ms > LIMIT_B_MS):.3%} (limit b: 1 %)")
        return all(
            [
                goal("p99 lateness, ms", p99, f"below {GOAL_LATE_P99_MS:g}", p99 < GOAL_LATE_P99_MS),
                goal("max lateness, ms", worst, f"at most {LIMIT_A_MS:g} (limit a)", worst <= LIMIT_A_MS),
            ]
        )

    def memory(self, minutes: float) -> bool:
        """Resident memory of a worker over a long load: the last quarter against the second."""
        plan = LoadPlan(MEMORY_PER_S, warmup_s=0.0, measured_s=60 * minutes, tail_s=0.0)
        seen_mb: list[float] = []
        self._send(plan, watch=lambda pid: seen_mb.append(resident_mb(pid)))
        seen_mb.pop()  # the process was already exiting
        quarter = len(seen_mb) // 4
        early, late = statistics.median(seen_mb[quarter : 2 * quarter]), statistics.median(seen_mb[3 * quarter :])
        print(
            f"{MEMORY_PER_S:,} records/s for {minutes:g} min:",
            f"{early:.1f} MB in the second quarter, {late:.1f} MB in the last",
        )
        return goal("growth", late / early, "at most 1.02", late <= 1.02 * early)

    def _ours(self, records: int, workers: int) -> float:
        plan = LoadPlan(UNREACHABLE_PER_S, warmup_s=0.0, measured_s=records / UNREACHABLE_PER_S, tail_s=0.0)
        _, rows = self._send(plan, workers)
        return float(plan.records / (rows["acked_ns"].max() - rows["sent_ns"].min()) * NS_PER_S)

    def _theirs(self, records: int, payloads: Path) -> float:
        (topic,) = self._fresh_topics(["perf"])
        properties = {
            "bootstrap.servers": self._kafka.bootstrap,
            "buffer.memory": 128 * 1024 * 1024,
            **{
                name: str(PRODUCER_SETTINGS[name]).lower()
                for name in ("acks", "enable.idempotence", "linger.ms", "batch.size", "compression.type")
            },
        }
        done = subprocess.run(
            [
                str(find_java().path),
                "-Xmx1g",
                "-cp",
                ":".join(map(str, self._tools)),
                "org.apache.kafka.tools.ProducerPerformance",
                *("--topic", topic.address),
                *("--num-records", str(records)),
                *("--throughput", "-1"),
                *("--payload-file", str(payloads)),
                "--producer-props",
                *(f"{name}={value}" for name, value in properties.items()),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        last = done.stdout.strip().splitlines()[-1]
        printed = re.search(rf"^{records} records sent, ([\d.]+) records/sec", last)
        assert printed, last
        return float(printed[1])

    def _send(self, plan: LoadPlan, of: int = 1, watch: Callable[[int], None] = lambda pid: None) -> tuple[int, Ledger]:
        """Run load workers to completion; returns their start time and their ledgers in the order of the plan.

        ``watch`` is called with a worker's pid whenever it reports progress.
        """
        streams = self._fresh_topics(Traffic.streams)
        workers = [self._start_worker(plan, streams, index, of) for index in range(of)]
        for worker in workers:
            assert worker.stdout and json.loads(worker.stdout.readline())["event"] == "ready"
        start_ns = time.time_ns() + round(LEAD_S * NS_PER_S)
        for worker in workers:
            assert worker.stdin
            worker.stdin.write(json.dumps({"do": "start", "at_ns": start_ns}) + "\n")
            worker.stdin.flush()
        sent = 0
        for worker in workers:
            assert worker.stdout
            event: dict[str, Any] = {}
            for line in worker.stdout:
                event = json.loads(line)
                watch(worker.pid)
            assert (event["event"], event["errors"], worker.wait()) == ("done", 0, 0), event
            sent += event["sent"]
        assert sent == plan.records
        table = pa.concat_tables(pq.read_table(self._ledger(index)) for index in range(of)).sort_by("first")
        return start_ns, {name: table[name].to_numpy() for name in table.column_names}

    def _start_worker(self, plan: LoadPlan, streams: Sequence[Stream], index: int, of: int) -> subprocess.Popen[str]:
        settings = self._directory / f"settings-{index}.json"
        parameters = registry.workload(WORKLOAD).parameters().model_dump()
        content = {
            "transport": self._kafka.describe(),
            "streams": [{"name": stream.name, "address": stream.address} for stream in streams],
            "workload": {"name": WORKLOAD, "parameters": parameters, "seed": 1},
            "plan": asdict(plan),
            "ledger": str(self._ledger(index)),
            "worker": {"index": index, "of": of},
        }
        settings.write_text(json.dumps(content))
        argv = [sys.executable, "-m", "streamgauge.load.worker", str(settings)]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def _ledger(self, index: int) -> Path:
        return self._directory / f"ledger-{index}.parquet"

    def _fresh_topics(self, names: Sequence[str]) -> list[Stream]:
        self._topics += 1
        streams = [Stream(name, f"{name}-{self._topics}", PARTITIONS, "input") for name in names]
        self._kafka.create(streams)
        return streams


def resident_mb(pid: int) -> float:
    try:
        return float(psutil.Process(pid).memory_info().rss / 1e6)
    except psutil.Error:
        return 0.0


def goal(what: str, value: float, wanted: str, met: bool) -> bool:
    print(f"  {what}: {value:.2f}; goal: {wanted}: {'met' if met else 'MISSED'}", flush=True)
    return met


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StreamgaugeError as problem:
        sys.exit(problem.message())
