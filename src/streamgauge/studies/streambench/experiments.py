"""What the paper's suites run, in the order in which the figures need it."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.study import Experiment, OnEngine

PROGRAMS = ("identity", "sample", "projection", "grep", "wordcount", "distinctcount", "statistics")
_MILLION = 1_000_000
SCALES = {"1×": 5 * _MILLION, "2×": 10 * _MILLION, "4×": 20 * _MILLION, "10×": 50 * _MILLION}
_LAPTOP_PART = 10

NODES = {"paper": 5, "laptop": 4}
"""Of the multi-recipient and fault tolerance suites."""
ABILITIES = {"one node": "one", "0.5": "half", "1.0": "all"}
"""Reception abilities, the share of the nodes that receive, and what names of experiments call them."""
HALF = "0.5"
_RECIPIENTS = {
    "one node": {"paper": 1, "laptop": 1},
    "0.5": {"paper": 2, "laptop": 2},
    "1.0": NODES,
}

FEWER, FAILURE = "N − 1 nodes", "a node fails"
"""The two cases of the fault tolerance suite besides the failure-free one with all nodes."""

# In each profile, one node fewer than the scenarios have.
_FEWER_NODES = {
    engine: OnEngine(profiles={profile: {option: str(nodes - 1)} for profile, nodes in NODES.items()})
    for engine, option in (("spark", "workers"), ("flink", "taskmanagers"))
}

_NO_NODE_TO_FAIL = {
    "kafka-streams": "an instance works only on what it reads itself, so no node works without receiving"
}

DISTINCTCOUNT = "distinctcount"
_ALL_DIFFERENT = "2"
"""The query time, a field that is different in each of the 100,000 seed records. The default, the user, is not."""
_NEW_VALUES_PER_S = {"laptop": 2000, "paper": 250}
"""After one pass over the seed records, *distinctcount* publishes nothing any more, and has no latency: at these rates,
a run ends before that."""

SPARK_DEFAULTS: Mapping[str, str] = {
    "state_store": "memory",
    "changelog": "false",
    "retained_batches": "100",
    "checkpoint_log": "file-context",
    "constraint_propagation": "true",
    "serializer": "java",
    "locality_wait_ms": "3000",
    "shuffle_partitions": "200",
}
"""Spark's own values of what the scenarios tune; the others are Spark's already."""


def performance_name(program: str, scale: str) -> str:
    return f"performance-{program}-{scale.replace('×', 'x')}"


def latency_name(program: str) -> str:
    return f"latency-{program}"


def recipients_name(program: str, ability: str, *, latency: bool = False) -> str:
    return f"multi-recipient-{'latency-' if latency else ''}{program}-{ABILITIES[ability]}"


def fault_name(program: str, case: str, *, latency: bool = False) -> str:
    word = {FEWER: "fewer", FAILURE: "failure"}[case]
    return f"fault-tolerance-{'latency-' if latency else ''}{program}-{word}"


def defaults_name(program: str, *, latency: bool = False) -> str:
    return f"defaults-{'latency-' if latency else ''}{program}"


def _performance(program: str, scale: str) -> Experiment:
    return Experiment(
        "streambench/performance",
        performance_name(program, scale),
        {"program": program},
        {"program": program, "scale": scale},
        profiles=_records(SCALES[scale]),
    )


def _records(paper: int) -> dict[str, dict[str, str]]:
    return {"paper": {"records": str(paper)}, "laptop": {"records": str(paper // _LAPTOP_PART)}}


def _at_a_rate(program: str) -> dict[str, str]:
    """The settings of a program whose records arrive at a rate."""
    return {"program": program, **({"field": _ALL_DIFFERENT} if program == DISTINCTCOUNT else {})}


def _latency(program: str) -> Experiment:
    return Experiment(
        "streambench/latency",
        latency_name(program),
        _at_a_rate(program),
        {"program": program},
        rate_of=performance_name(program, "4×"),
        most_per_s=_NEW_VALUES_PER_S if program == DISTINCTCOUNT else {},
    )


def _recipients(program: str, ability: str) -> Experiment:
    return Experiment(
        "streambench/multi-recipient",
        recipients_name(program, ability),
        {"program": program},
        {"program": program, "ability": ability},
        profiles=_partitions(ability),
    )


def _recipients_latency(program: str, ability: str) -> Experiment:
    return Experiment(
        "streambench/multi-recipient-latency",
        recipients_name(program, ability, latency=True),
        _at_a_rate(program),
        {"program": program, "ability": ability},
        rate_of=recipients_name(program, ability),
        most_per_s=_NEW_VALUES_PER_S if program == DISTINCTCOUNT else {},
        profiles=_partitions(ability),
    )


def _partitions(ability: str) -> dict[str, dict[str, str]]:
    return {profile: {"partitions": str(count)} for profile, count in _RECIPIENTS[ability].items()}


def _fault(program: str, case: str) -> Experiment:
    """Throughput with a node fewer, or with one that fails when half of the failure-free run's time is over."""
    fails = case == FAILURE
    return Experiment(
        "streambench/multi-recipient",
        fault_name(program, case),
        {"program": program},
        {"program": program, "case": case},
        half_time_of=recipients_name(program, HALF) if fails else "",
        profiles=_partitions(HALF),
        engines=dict.fromkeys(_FEWER_NODES, OnEngine(faults=("kill non-recipient",))) if fails else _FEWER_NODES,
        gaps=_NO_NODE_TO_FAIL,
    )


def _fault_latency(program: str, case: str) -> Experiment:
    """At the rate of the failure-free run with all nodes."""
    fails = case == FAILURE
    return Experiment(
        "streambench/multi-recipient-latency",
        fault_name(program, case, latency=True),
        _at_a_rate(program),
        {"program": program, "case": case, "measured": "latency"},
        rate_of=recipients_name(program, HALF),
        most_per_s=_NEW_VALUES_PER_S if program == DISTINCTCOUNT else {},
        profiles=_partitions(HALF),
        engines=dict.fromkeys(_FEWER_NODES, OnEngine(faults=("kill non-recipient at 50%",))) if fails else _FEWER_NODES,
        gaps=_NO_NODE_TO_FAIL,
    )


def _defaults(program: str) -> Experiment:
    return Experiment(
        "streambench/performance",
        defaults_name(program),
        {"program": program},
        {"program": program, "settings": "Spark's defaults"},
        profiles=_records(SCALES["4×"]),
        engines={"spark": OnEngine(SPARK_DEFAULTS)},
    )


def _defaults_latency(program: str) -> Experiment:
    return Experiment(
        "streambench/latency",
        defaults_name(program, latency=True),
        _at_a_rate(program),
        {"program": program, "settings": "Spark's defaults", "measured": "latency"},
        rate_of=defaults_name(program),
        most_per_s=_NEW_VALUES_PER_S if program == DISTINCTCOUNT else {},
        engines={"spark": OnEngine(SPARK_DEFAULTS)},
    )


PERFORMANCE = tuple(_performance(program, scale) for program in PROGRAMS for scale in SCALES)
LATENCY = tuple(_latency(program) for program in PROGRAMS)
RECIPIENTS = tuple(_recipients(program, ability) for program in PROGRAMS for ability in ABILITIES)
RECIPIENTS_LATENCY = tuple(_recipients_latency(program, ability) for program in PROGRAMS for ability in ABILITIES)
FAULT_TOLERANCE = (
    *(_recipients(program, HALF) for program in PROGRAMS),
    *(_fault(program, case) for program in PROGRAMS for case in (FEWER, FAILURE)),
    *(_recipients_latency(program, HALF) for program in PROGRAMS),
    *(_fault_latency(program, case) for program in PROGRAMS for case in (FEWER, FAILURE)),
)
CONFIGURATIONS = (
    *(_performance(program, "4×") for program in PROGRAMS),
    *(_defaults(program) for program in PROGRAMS),
    *(_latency(program) for program in PROGRAMS),
    *(_defaults_latency(program) for program in PROGRAMS),
)
