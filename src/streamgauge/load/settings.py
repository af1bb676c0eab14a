"""The settings file of a load worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan, Stream


@dataclass(frozen=True)
class Settings:
    """What one load worker sends, where to, and where it writes its ledger."""

    transport: str
    described: Mapping[str, Any]
    """What ``Transport.attach`` needs."""
    streams: tuple[Stream, ...]
    workload: str
    parameters: Mapping[str, Any]
    """Parameters of the workload."""
    seed: int
    plan: LoadPlan
    index: int
    of: int
    ledger: Path
    pause_s: int = 0
    """The longest planned pause of the transport."""
    part_s: int = 0
    """Seconds of the load in one file of the ledger; 0: all of it."""

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Raises UsageError if the file is missing or invalid."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            index, of = (int(content["worker"][key]) for key in ("index", "of"))
            if not 0 <= index < of:
                raise UsageError("invalid load worker index", where=path, got=f"index {index} of {of}")
            return cls(
                transport=content["transport"]["name"],
                described=content["transport"],
                streams=tuple(
                    Stream(stream["name"], stream["address"], partitions=0, role="input")
                    for stream in content["streams"]
                ),
                workload=content["workload"]["name"],
                parameters=content["workload"]["parameters"],
                seed=int(content["workload"]["seed"]),
                plan=LoadPlan.from_json(content["plan"]),
                index=index,
                of=of,
                ledger=Path(content["ledger"]),
                pause_s=int(content.get("pause_s", 0)),
                part_s=int(content.get("part_s", 0)),
            )
        except OSError as problem:
            raise UsageError("cannot read the settings", where=path, got=problem.strerror) from None
        except KeyError as problem:
            raise UsageError("a key is missing in the settings", where=path, expected=problem.args[0]) from None
        except (TypeError, ValueError) as problem:
            raise UsageError("invalid settings", where=path, got=str(problem)) from None
