"""A job for the engines' plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.model import Job


def make_job(engine: str, options: dict[str, Any], **others: Any) -> Job:
    """The job of a stateful stage, with ``options`` as given on the command line."""
    fields: dict[str, Any] = {
        "run": "run",
        "workload": "traffic/tumbling",
        "parameters": {"join_bound_ms": 1000, "out_of_order_ms": 500},
        "transport": "kafka",
        "endpoints": {"bootstrap": "127.0.0.1:9"},
        "inputs": {"flow": "f", "speed": "s"},
        "outputs": {"output": "o"},
        "partitions": 2,
        "checkpoint_dir": Path("/run/checkpoint"),
        "work_dir": Path("/run"),
        "options": registry.engine(engine).options.model_validate(options).model_dump(),
        "seed": 1,
    }
    return Job(**{**fields, **others})
