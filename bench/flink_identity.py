"""Cost of the Flink engine's `ingest`, compared with the smallest Flink job that does the same without streamgauge.

    python bench/flink_identity.py [--pairs 5] [--records 1000000] [--warm 4]

Two clusters with the same layout, settings and heaps run side by side, one with streamgauge's job and one with
plain_flink/PlainFlink.java, each with its own input topics on one broker. They get the same records in turn, always in
the same order: in two consecutive rounds, the second would pay for work left over from the first. After some warm-up
rounds, the comparison is of the CPU seconds of the TaskManagers per million records, from the first record sent to the
last one published. Goal: a median ratio of the pairs of at most 1.05.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil

from streamgauge import jars, registry
from streamgauge.engines import java
from streamgauge.engines.flink import cluster
from streamgauge.model import Job, ProcessSpec, Stream
from streamgauge.processes.ports import free_ports
from streamgauge.processes.process import Running
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies import scenario as scenarios
from streamgauge.transports.kafka import Kafka
from streamgauge.workloads.traffic.data import Traffic

GOAL_RATIO = 1.05
PARTITIONS = 2
POINTS_FOR_PER_S = 100_000
SLICE = 20_000
LOOK_S = 0.05
DEADLINE_S = 120.0
PLAIN = Path(__file__).with_name("plain_flink")


class Side:
    """One cluster with its topics."""

    def __init__(self, name: str, supervisor: Supervisor, kafka: Kafka) -> None:
        self.name = name
        self._supervisor = supervisor
        self._kafka = kafka
        self._inputs = [Stream(stream, f"{name}.{stream}", PARTITIONS, "input") for stream in ("flow", "speed")]
        self._output = Stream("output", f"{name}.output", PARTITIONS, "output")
        kafka.create([*self._inputs, self._output])
        self._sender = kafka.sender(self._inputs, 2_000_000)
        self._sender.connect(20)
        self._published = 0
        self._task_managers: list[Running] = []

    def start(self) -> None:
        scenario = scenarios.resolve("ospbench/latency", engine="flink", changes={"stage": "ingest"})
        work_dir = self._supervisor.work_dir / self.name
        job = Job(
            run=self.name,
            workload=scenario.workload,
            parameters=scenario.parameters,
            transport="kafka",
            endpoints=self._kafka.endpoints,
            inputs={stream.name: stream.address for stream in self._inputs},
            outputs={self._output.name: self._output.address},
            partitions=PARTITIONS,
            checkpoint_dir=work_dir / "checkpoint",
            work_dir=work_dir,
            options=scenario.engine_options,
            seed=scenario.seed,
            ports=free_ports(2),
        )
        specs = registry.engine("flink").plan(job)
        if self.name == "plain":
            specs = [self._plain(spec, job) for spec in specs]
        for spec in specs:
            running = self._supervisor.start(replace(spec, role=f"{self.name}-{spec.role}"))
            if spec.role.startswith("taskmanager"):
                self._task_managers.append(running)

    def _plain(self, spec: ProcessSpec, job: Job) -> ProcessSpec:
        """The same process with the other job on its class path."""
        classes = java.compile_java("plain-flink", PLAIN, cluster.libraries(), print)
        match spec.role:
            case "jobmanager":
                planned = cluster.job_manager(job, classes)
                *argv, _, _ = planned.argv
                arguments = (self._kafka.bootstrap, job.group, self._output.address, *job.inputs.values())
                return replace(planned, argv=[*argv, "PlainFlink", *arguments])
            case "watcher":
                return spec
            case role:
                return cluster.task_manager(job, classes, role)

    def cpu_s(self, records: int, first: int) -> float:
        """CPU seconds of the TaskManagers per million records, while processing ``records`` of them."""
        before_s = self._spent_s()
        traffic = Traffic.for_rate(1, POINTS_FOR_PER_S)
        failed: list[int] = []
        for start in range(first, first + records, SLICE):
            self._sender.send(traffic.build(start, min(SLICE, first + records - start)), failed.append)
            self._sender.poll()
        self._sender.finish(60)
        self._published += records
        deadline = time.monotonic() + DEADLINE_S
        while self._kafka.positions([self._output]).appended["output"] < self._published:
            self._supervisor.check()
            if sum(failed) or time.monotonic() > deadline:
                sys.exit(f"{self.name}: the records were not published within {DEADLINE_S:.0f} s")
            time.sleep(LOOK_S)
        return (self._spent_s() - before_s) / records * 1e6

    def _spent_s(self) -> float:
        spent = [psutil.Process(running.identity.pid).cpu_times() for running in self._task_managers]
        return sum(times.user + times.system for times in spent)


def compare(sides: tuple[Side, Side], records: int, warm: int, pairs: int) -> bool:
    ratios = []
    for number in range(-warm, pairs):
        first = (number + warm) * records
        spent = {side.name: side.cpu_s(records, first) for side in sides}
        ratio = spent["streamgauge"] / spent["plain"]
        label = f"pair {number + 1}" if number >= 0 else "warm-up"
        print(
            f"{label}: streamgauge {spent['streamgauge']:.2f}, plain {spent['plain']:.2f} CPU s per million records, "
            f"ratio {ratio:.3f}",
            flush=True,
        )
        if number >= 0:
            ratios.append(ratio)
    median = statistics.median(ratios)
    good = median <= GOAL_RATIO
    print(
        f"ratio {median:.3f} ({min(ratios):.3f} to {max(ratios):.3f}), goal {GOAL_RATIO}: {'ok' if good else 'FAILED'}"
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--warm", type=int, default=4)
    asked = parser.parse_args()
    jars.fetch(("flink", "java", "kafka"))
    registry.engine("flink").prepare(print)
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as made,
        Supervisor(f"bench-flink-{time.time_ns()}", Path(made)) as supervisor,
    ):
        kafka = Kafka.prepare(None, free_ports(2))
        supervisor.start_all(kafka.plan(supervisor.work_dir))
        sides = (Side("streamgauge", supervisor, kafka), Side("plain", supervisor, kafka))
        for side in sides:
            side.start()
        good = compare(sides, asked.records, asked.warm, asked.pairs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
