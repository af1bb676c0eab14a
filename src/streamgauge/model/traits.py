"""What an engine can do and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from streamgauge.defaults import TRANSPORT

Delivery = Literal["exactly-once", "at-least-once", "at-most-once"]


@dataclass(frozen=True)
class Limit:
    """A combination of options with which an engine does not run some workloads, and the reason."""

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
    """Workloads that the engine does not run, with the reason."""
    limits: tuple[Limit, ...] = ()
    """Workloads that it does not run with some options."""
    transports: frozenset[str] = frozenset({TRANSPORT})
    """What it can read from and write to."""
    needs_java: bool = True
    jar_groups: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Python packages that it needs beside streamgauge's own."""
    ports: int = 0
    """Number of free ports that its plan needs."""
    transactional: bool = False
    """With exactly-once delivery (option ``delivery``), results become visible when a transaction commits."""
    recounts_after_failure: bool = False
    """With at-least-once delivery, an input replayed after a failure may change the state twice."""
    commits_offsets: bool = False
    """It commits its offsets under the job's consumer group."""
    batch_limit: str = ""
    """The option that limits the records per micro-batch and stream; its value 0 means unlimited."""
    needs_program: bool = False
    """It runs a user's program, given on the command line after ``--``."""
    commit_clock: bool = False
    """Its output is written by a process of streamgauge's, which notes when input was committed."""
    takes_script: bool = False
    """It runs a user's script (``--script``)."""
    only_recipients: str = ""
    """Why every node works only on what it reads itself, so that none can be lost that does not read; empty if nodes
    pass on what they read."""
    memory_mb: int = 256
    """Memory of its processes besides the heap (option ``heap_mb``)."""

    def delivery_with(self, options: Mapping[str, Any]) -> Delivery:
        """The delivery guarantee with these options."""
        delivery: Delivery = options.get("delivery", self.delivery)
        return delivery

    def is_transactional(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results can be read only after their transaction has committed."""
        return self.transactional and self.delivery_with(options) == "exactly-once"

    def recounts_with(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results may be wrong after a failure because inputs were counted twice."""
        declared = options.get("recounts_after_failure", self.recounts_after_failure)
        return bool(declared) and self.delivery_with(options) == "at-least-once"

    def may_hide_results(self, options: Mapping[str, Any]) -> bool:
        """Like ``is_transactional``, but also true for a user's program, which may use transactions undeclared."""
        return self.is_transactional(options) or (self.needs_program and not self.commit_clock)
