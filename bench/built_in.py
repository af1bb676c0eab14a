"""Cost of the Spark engine in streamgauge, compared with the same query in a plain PySpark script.

    python bench/built_in.py [--pairs 5] [--records 1000000] [--stages tumbling parse]

Both sides process the same backlog from one broker in turn, in fresh processes, with the same Spark settings and heap,
until the last result is published. The comparison is of the CPU seconds of all processes per million records, including
startup; throughput is printed as well.

Goal: the median of the ratios of the pairs at most 1.05. Both must publish the same number of results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from streamgauge import jars, registry
from streamgauge.model import Job, ProcessSpec, Stream
from streamgauge.processes.ports import free_ports
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies import scenario as scenarios
from streamgauge.transports.kafka import Kafka
from streamgauge.workloads.traffic.data import Traffic

GOAL_RATIO = 1.05
HEAP_MB = 2048
PARTITIONS = 2
POINTS_FOR_PER_S = 100_000
SLICE = 20_000
QUIET_S = 6.0
LOOK_S = 0.2
DEADLINE_S = 600.0
WATERMARK_S = 3.0
"""After this pause, the last records move the watermark past the whole backlog."""
LAST = 100


@dataclass(frozen=True)
class Spent:
    """What one side used until its last result."""

    cpu_s: float
    wall_s: float
    results: int


class Bench:
    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._kafka = Kafka.prepare(None, free_ports(2))
        jars.fetch(("kafka", "spark"))
        supervisor.start_all(self._kafka.plan(supervisor.work_dir))
        self._inputs = [Stream(name, f"backlog.{name}", PARTITIONS, "input") for name in ("flow", "speed")]

    def fill(self, records: int) -> None:
        """Append the backlog, and after a pause a little more."""
        self._kafka.create(self._inputs)
        sender = self._kafka.sender(self._inputs, records)
        sender.connect(20)
        traffic = Traffic.for_rate(1, POINTS_FOR_PER_S)
        failed: list[int] = []
        for first in range(0, records, SLICE):
            sender.send(traffic.build(first, min(SLICE, records - first)), failed.append)
            sender.poll()
        sender.finish(60)
        time.sleep(WATERMARK_S)
        sender.send(traffic.build(records, LAST), failed.append)
        sender.finish(60)
        if sum(failed):
            sys.exit(f"{sum(failed)} records of the backlog could not be sent")

    def through_streamgauge(self, stage: str) -> Spent:
        job, output = self._job(stage)
        return self._measure(registry.engine("spark").plan(job), output)

    def plain(self, stage: str) -> Spent:
        job, output = self._job(stage)
        argv = registry.engine("spark").plan(job)[0].argv
        conf = [argv[at + 1].partition("=") for at, word in enumerate(argv) if word == "--conf"]
        settings = {
            "stage": stage,
            "bootstrap": self._kafka.bootstrap,
            **job.inputs,
            "output": output.address,
            "checkpoint": str(job.checkpoint_dir),
            "conf": {name: value for name, _, value in conf},
            "jars": [str(jar) for jar in jars.locations("spark")],
            "heap_mb": HEAP_MB,
            "cores": job.options["cores"],
        }
        file = job.work_dir / "settings.json"
        script = Path(__file__).with_name("plain_spark.py")
        spec = ProcessSpec(
            role="plain",
            group="engine",
            argv=[sys.executable, str(script), str(file)],
            env={"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            files={file: json.dumps(settings)},
        )
        return self._measure([spec], output)

    def _job(self, stage: str) -> tuple[Job, Stream]:
        name = f"{stage}-{secrets.token_hex(4)}"
        changes = {"stage": stage, "heap_mb": str(HEAP_MB)}
        scenario = scenarios.resolve("ospbench/latency", engine="spark", changes=changes)
        output = Stream("output", name, PARTITIONS, "output")
        work_dir = self._supervisor.work_dir / name
        job = Job(
            run=name,
            workload=scenario.workload,
            parameters=scenario.parameters,
            transport="kafka",
            endpoints=self._kafka.endpoints,
            inputs={stream.name: stream.address for stream in self._inputs},
            outputs={output.name: output.address},
            partitions=PARTITIONS,
            checkpoint_dir=work_dir / "checkpoint",
            work_dir=work_dir,
            options=scenario.engine_options,
            seed=scenario.seed,
        )
        self._kafka.create([output])
        return job, output

    def _measure(self, specs: Sequence[ProcessSpec], output: Stream) -> Spent:
        """Start them and wait until the output is quiet; time and CPU after the last result do not count."""
        began = time.monotonic()
        for spec in specs:
            self._supervisor.start(spec)
        spent, changed = Spent(0.0, 0.0, 0), began
        while not spent.results or time.monotonic() - changed < QUIET_S:
            self._supervisor.check()
            if time.monotonic() - began > DEADLINE_S:
                sys.exit(f"not done after {DEADLINE_S:.0f} s: {spent.results:,} results")
            results = self._kafka.positions([output]).appended["output"]
            if results != spent.results:
                changed = time.monotonic()
                spent = Spent(self._cpu_s(), changed - began, results)
            time.sleep(LOOK_S)
        self._supervisor.stop_group("engine")
        return spent

    def _cpu_s(self) -> float:
        roots = [psutil.Process(run.identity.pid) for run in self._supervisor.processes() if run.group == "engine"]
        everyone = {process for root in roots for process in (root, *root.children(recursive=True))}
        spent_s = 0.0
        for process in everyone:
            # Spark's launcher is a short-lived shell.
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                spent_s += times.user + times.system
        return spent_s


def compare(bench: Bench, stage: str, records: int, pairs: int) -> bool:
    """Whether the median ratio meets the goal and both sides have the same number of results."""
    ratios, same = [], True
    for number in range(pairs):
        order = (
            (bench.through_streamgauge, bench.plain) if number % 2 == 0 else (bench.plain, bench.through_streamgauge)
        )
        measured = {measure.__name__: measure(stage) for measure in order}
        ours, plain = measured["through_streamgauge"], measured["plain"]
        ratios.append(ours.cpu_s / plain.cpu_s)
        same &= ours.results == plain.results
        for name, spent in (("streamgauge", ours), ("plain", plain)):
            print(
                f"{stage} {number + 1} {name:<11} {spent.cpu_s / records * 1e6:7.1f} CPU s per million records, "
                f"{records / spent.wall_s:9,.0f} records/s, {spent.results:,} results",
                flush=True,
            )
    ratio = statistics.median(ratios)
    good = ratio <= GOAL_RATIO and same
    print(
        f"{stage}: ratio {ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f}), goal {GOAL_RATIO}, "
        f"results {'the same' if same else 'DIFFER'}: {'ok' if good else 'FAILED'}"
    )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--stages", nargs="+", default=["tumbling", "parse"], choices=["tumbling", "parse"])
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as made,
        Supervisor(f"bench-built-in-{time.time_ns()}", Path(made)) as supervisor,
    ):
        bench = Bench(supervisor)
        bench.fill(asked.records)
        good = [compare(bench, stage, asked.records, asked.pairs) for stage in asked.stages]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
