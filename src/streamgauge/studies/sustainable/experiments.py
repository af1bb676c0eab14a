"""What the nine experiments of the paper run, and how a broker compares with its queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.study import Experiment, OnEngine

PROGRAMS = ("aggregation", "join")
SIZES = ("1×", "2×", "4×")
"""Of the cluster: the smallest, and multiples of it."""
NODES = {"paper": (2, 4, 8), "laptop": (1, 2, 4)}
LOADS = {"100 %": 1.0, "90 %": 0.9}
"""Of the rate that was found."""
EVALUATIONS = ("incremental", "recomputed")
QUEUE, KAFKA = "queue", "Kafka"

HIGH, LOW = 0.9, 0.3
"""The fluctuating load: the paper's 0.84 and 0.28 M/s, by what it found for its clusters with 8 nodes."""
OVERLOAD = 1.5
BESIDE_A_BROKER = 0.5
"""A rate that both transports should carry, as a share of what is sustained with queues."""

MEASURED_S = {"paper": "225", "laptop": "32"}
"""Of the runs at 100 and 90 %, and of those with and without a broker. The run at 100 % is the confirming run of a
search, so all are as long as that."""
_GENERATORS_PER_NODE = {"paper": 8, "laptop": 1}
_LAPTOP_WORKERS = {"worker_cores": "1", "worker_memory_mb": "1024", "heap_mb": "1024"}
_MOST_PER_S = {"laptop": 1_000_000}
"""Of the searches: all records of a probe are checked, and more would take minutes."""


def _cluster(size: str, spark: Mapping[str, float] | None = None) -> dict[str, OnEngine]:
    """As many nodes as the profile has for this size: Workers of Spark, TaskManagers of Flink.

    ``spark``: what follows from the rate for Spark only.
    """
    place = SIZES.index(size)
    return {
        "spark": OnEngine(
            {"cluster": "standalone"},
            profiles={
                profile: {"workers": str(nodes[place]), **(_LAPTOP_WORKERS if profile == "laptop" else {})}
                for profile, nodes in NODES.items()
            },
            shares=spark or {},
        ),
        "flink": OnEngine(
            profiles={
                profile: {"taskmanagers": str(nodes[place]), **({"slots": "1"} if profile == "laptop" else {})}
                for profile, nodes in NODES.items()
            }
        ),
    }


def _generators(size: str) -> dict[str, dict[str, str]]:
    """Generators beside the nodes, as many for each."""
    place = SIZES.index(size)
    return {
        profile: {"generators": str(nodes[place] * _GENERATORS_PER_NODE[profile])} for profile, nodes in NODES.items()
    }


def capacity_name(program: str, size: str) -> str:
    return f"{program}-{size.removesuffix('×')}x"


def latency_name(program: str, size: str, load: str) -> str:
    return f"{program}-latency-{size.removesuffix('×')}x-{load.removesuffix(' %')}"


def _run(
    scenario: str,
    name: str,
    dimensions: Mapping[str, str],
    *,
    program: str,
    shares: Mapping[str, float],
    size: str = SIZES[0],
    settings: Mapping[str, str] | None = None,
    spark: Mapping[str, float] | None = None,
) -> Experiment:
    """At shares of what this program sustains on a cluster of this size."""
    return Experiment(
        f"sustainable/{scenario}",
        name,
        settings or {},
        dimensions,
        rate_of=capacity_name(program, size),
        shares=shares,
        profiles=_generators(size),
        engines=_cluster(size, spark),
    )


def _search(
    scenario: str,
    name: str,
    dimensions: Mapping[str, str],
    *,
    begins_at: str,
    size: str = SIZES[0],
    settings: Mapping[str, str] | None = None,
) -> Experiment:
    """Begins at the rate that another search found, if one is named."""
    return Experiment(
        f"sustainable/{scenario}",
        name,
        settings or {},
        dimensions,
        purpose="capacity",
        most_per_s=_MOST_PER_S,
        rate_of=begins_at,
        shares={"rate_per_s": 1.0},
        profiles=_generators(size),
        engines=_cluster(size),
    )


def _capacity(program: str, size: str) -> Experiment:
    smaller = SIZES[: SIZES.index(size)]
    return _search(
        program,
        capacity_name(program, size),
        {"program": program, "cluster": size},
        begins_at=capacity_name(program, smaller[-1]) if smaller else "",
        size=size,
    )


def _latency(program: str, size: str, load: str) -> Experiment:
    run = _run(
        program,
        latency_name(program, size, load),
        {"program": program, "cluster": size, "load": load},
        program=program,
        shares={"rate_per_s": LOADS[load]},
        size=size,
    )
    return replace(_longer(run), confirming=LOADS[load] == 1)


def _longer(run: Experiment) -> Experiment:
    """Measured over more windows than a scenario on its own."""
    profiles = {profile: {**run.profiles[profile], "measured_s": seconds} for profile, seconds in MEASURED_S.items()}
    return replace(run, profiles=profiles)


def _large_windows(evaluation: str) -> Experiment:
    return _search(
        "large-windows",
        f"large-windows-{evaluation}",
        {"evaluation": evaluation},
        begins_at=capacity_name("aggregation", SIZES[0]),
        settings={"evaluation": evaluation},
    )


def _skew(size: str) -> Experiment:
    return _search(
        "aggregation",
        f"skew-{size.removesuffix('×')}x",
        {"keys": "one", "cluster": size},
        begins_at=capacity_name("aggregation", size),
        size=size,
        settings={"keys": "one"},
    )


def _fluctuating(program: str) -> Experiment:
    return _run(
        "fluctuating",
        f"fluctuating-{program}",
        {"program": program},
        program=program,
        shares={"rate_per_s": HIGH, "to_per_s": LOW},
        settings={"program": program},
    )


def _overloaded(name: str, dimensions: Mapping[str, str], spark: Mapping[str, float] | None = None) -> Experiment:
    return _run(
        "aggregation",
        name,
        {"program": "aggregation", "load": "150 %", **dimensions},
        program="aggregation",
        shares={"rate_per_s": OVERLOAD},
        settings={"queue_s": "120"},
        spark=spark,
    )


# A batch of all that waits would be longer than the one before: what the paper's Spark limits by its backpressure.
_OVERLOADED = _overloaded("overloaded", {}, spark={"batch_records": 1.0})
_UNLIMITED = _overloaded("overloaded-unlimited", {"batches": "without limit"})


def _broker(program: str, transport: str) -> Experiment:
    """At one rate with queues and with Kafka."""
    return _longer(
        _run(
            program,
            f"broker-{program}-{transport.lower()}",
            {"program": program, "transport": transport},
            program=program,
            shares={"rate_per_s": BESIDE_A_BROKER},
            settings={"transport": transport.lower()},
        )
    )


_BROKER_CAPACITY = _search(
    "aggregation",
    "broker-aggregation-capacity",
    {"program": "aggregation", "cluster": SIZES[0], "transport": KAFKA},
    begins_at=capacity_name("aggregation", SIZES[0]),
    settings={"transport": "kafka"},
)


CAPACITY = {program: tuple(_capacity(program, size) for size in SIZES) for program in PROGRAMS}
LATENCY = {program: tuple(_latency(program, size, load) for load in LOADS for size in SIZES) for program in PROGRAMS}
MAXIMUM = {program: tuple(_latency(program, size, "100 %") for size in SIZES) for program in PROGRAMS}
LARGE_WINDOWS = tuple(_large_windows(evaluation) for evaluation in EVALUATIONS)
SKEW = tuple(_skew(size) for size in SIZES)
FLUCTUATING = tuple(_fluctuating(program) for program in PROGRAMS)
OVERLOADED = (_OVERLOADED,)
UNLIMITED = (replace(_UNLIMITED, engines={"spark": _UNLIMITED.engines["spark"]}),)
"""With batches of all that waits, which only Spark has."""
BROKER = (
    *(_broker(program, transport) for program in PROGRAMS for transport in (QUEUE, KAFKA)),
    _BROKER_CAPACITY,
)
