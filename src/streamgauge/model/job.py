"""The job of an engine (docs/reference/protocol.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """The description that an engine gets, as ``job.json`` (docs/reference/protocol.md)."""

    run: str
    workload: str
    parameters: Mapping[str, Any]
    transport: str
    endpoints: Mapping[str, str]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    partitions: int
    checkpoint_dir: Path
    work_dir: Path
    options: Mapping[str, Any]
    seed: int
    ports: Sequence[int] = ()
    """Free ports of 127.0.0.1, as many as the engine's traits require."""
    own_transport: bool = True
    """Whether the run starts the transport's servers; otherwise they are the user's."""
    program: Sequence[str] = ()
    script: Mapping[str, str] | None = None
    """The user's script: ``copy`` is the file to run, ``path`` the original."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What the workload gives its programs besides the parameters."""

    @property
    def file(self) -> Path:
        return self.work_dir / "job.json"

    @property
    def group(self) -> str:
        """The consumer group of an engine that commits its offsets to the transport."""
        return f"streamgauge.{self.run}"

    def as_json(self) -> dict[str, Any]:
        return {
            "format": 1,
            "run": self.run,
            "workload": self.workload,
            "parameters": dict(self.parameters),
            "transport": self.transport,
            "endpoints": dict(self.endpoints),
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            # For programs written before there could be several outputs.
            **({"output": next(iter(self.outputs.values()))} if len(self.outputs) == 1 else {}),
            "group": self.group,
            "partitions": self.partitions,
            "checkpoint_dir": str(self.checkpoint_dir),
            "options": dict(self.options),
            "seed": self.seed,
            **({"data": dict(self.data)} if self.data else {}),
            **({"script": dict(self.script)} if self.script else {}),
        }
