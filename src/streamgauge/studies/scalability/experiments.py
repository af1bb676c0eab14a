"""One search for each topology and number of instances."""

from __future__ import annotations

from streamgauge.search_axis import RATE_AXIS, SearchAxis
from streamgauge.study import Experiment, OnEngine

INSTANCES = (1, 2, 4, 8, 16)
SHARED = 4
"""So many instances may share the cores of a small machine; more of them need a core each."""
PARTITIONS = {"paper": 16, "laptop": 4}


AXES = {
    "sink": RATE_AXIS,
    "hierarchy": SearchAxis("height", "more"),
    "windows": RATE_AXIS,
    "overlapping": SearchAxis("period_ms", "less"),
}
"""The dimension in which the load of each topology grows, by its scenario."""


def experiments(topology: str) -> tuple[Experiment, ...]:
    return tuple(_search(topology, instances) for instances in INSTANCES)


def _name(topology: str, instances: int) -> str:
    return f"{topology}-{instances}"


def _search(topology: str, instances: int) -> Experiment:
    """Begins where fewer instances ended."""
    fewer = INSTANCES[: INSTANCES.index(instances)]
    return Experiment(
        f"scalability/{topology}",
        _name(topology, instances),
        dimensions={"topology": topology, "instances": str(instances)},
        purpose="capacity",
        axis=AXES[topology],
        rate_of=_name(topology, fewer[-1]) if fewer else "",
        shares={AXES[topology].name: 1.0},
        # An instance without a partition has no work.
        profiles={profile: {"partitions": str(max(most, instances))} for profile, most in PARTITIONS.items()},
        # An instance is a JVM with one task at a time.
        engines={
            "kafka-streams": OnEngine({"instances": str(instances), "threads": "1"}),
            "flink": OnEngine({"taskmanagers": str(instances), "slots": "1"}),
            "spark": OnEngine({"cluster": "standalone", "workers": str(instances), "worker_cores": "1"}),
        },
        cores=0 if instances <= SHARED else instances,
    )
