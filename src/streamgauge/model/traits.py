"""What an engine can do and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Delivery = Literal["exactly-once", "at-least-once", "at-most-once"]


@dataclass(frozen=True)
class Limit:
    """A combination of options with which an engine does not run some workloads, and the engine's own reason."""

    workloads: frozenset[str]
    options: Mapping[str, Any]
    reason: str

    def applies(self, workload: str, options: Mapping[str, Any]) -> bool:
        return workload in self.workloads and all(options.get(key) == value for key, value in self.options.items())


@dataclass(frozen=True)
class Traits:
    """What an engine can do and what it promises."""

    workloads: frozenset[str]
    delivery: Delivery
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Workloads that the engine does not run, each with its reason."""
    limits: tuple[Limit, ...] = ()
    """Workloads that it runs, but not with every option."""
    needs_java: bool = True
    jar_groups: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    """Python packages that it needs beyond streamgauge's own, each with the extra that installs it."""
    ports: int = 0
    """Free ports that its plan needs."""
    transactional: bool = False
    """With exactly-once delivery (option ``delivery``) its results become visible when a transaction commits."""
    recounts_after_failure: bool = False
    """With at-least-once delivery, an input that is read again after a failure may change its state a second time."""
    commits_offsets: bool = False
    """It commits how far it has read, under the job's consumer group."""
    batch_limit: str = ""
    """The option that limits how many records a micro-batch takes of a stream; 0 there: no limit."""
    needs_program: bool = False
    """The user's own program is given on the command line, after ``--``."""
    takes_script: bool = False
    """It runs a user's script (``--script``)."""
    memory_mb: int = 256
    """What its processes need besides a heap (option ``heap_mb``)."""

    def delivery_with(self, options: Mapping[str, Any]) -> Delivery:
        """What is promised with these options."""
        delivery: Delivery = options.get("delivery", self.delivery)
        return delivery

    def is_transactional(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results can be read only once their transaction has been committed."""
        return self.transactional and self.delivery_with(options) == "exactly-once"

    def recounts_with(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results may be wrong after a failure because an input was counted twice."""
        declared = options.get("recounts_after_failure", self.recounts_after_failure)
        return bool(declared) and self.delivery_with(options) == "at-least-once"

    def may_hide_results(self, options: Mapping[str, Any]) -> bool:
        """As ``is_transactional``, or nobody knows: a program of the user's may write in transactions unasked."""
        return self.is_transactional(options) or self.needs_program
