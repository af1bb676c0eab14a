"""Standalone clusters of Spark, as a run starts them, for the load or the evaluation of another run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streamgauge.engines.spark import cluster
from streamgauge.measure import plan as plans
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies import scenario as scenarios


@dataclass(frozen=True)
class Cluster:
    address: str
    supervisor: Supervisor


@contextmanager
def standalone(workers: int, memory_mb: int = 1024) -> Iterator[Cluster]:
    """A Master and Workers with one core each, without a driver."""
    changes = {"cluster": "standalone", "workers": str(workers), "worker_memory_mb": str(memory_mb)}
    scenario = scenarios.resolve("ospbench/latency", engine="spark", changes=changes)
    with Supervisor("tests-cluster") as supervisor:
        plan = plans.draw(plans.Request(scenario, supervisor.work_dir / "out"), "tests", supervisor.work_dir)
        supervisor.start_all([spec for spec in plan.engine if spec.role != "driver"])
        yield Cluster(cluster.address(plan.job), supervisor)
