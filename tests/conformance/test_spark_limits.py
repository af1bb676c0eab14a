"""Spark still refuses every declared limit of the Spark engine, with the declared error."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from streamgauge import registry
from streamgauge.conformance.suite import Bench
from streamgauge.engines.spark import Spark
from streamgauge.errors import StreamgaugeError
from streamgauge.model import Job, Limit, LoadPlan, Stream
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import Kafka

pytestmark = [pytest.mark.engine("spark"), pytest.mark.full]

OUR_REASONS = (
    *("stateless workloads", "only a built-in implementation", "has one implementation"),
    "does not redistribute",
)
SPARKS_LIMITS = [limit for limit in Spark.traits.limits if not any(words in limit.reason for words in OUR_REASONS)]
PARAMETERS: dict[str, Any] = {"out_of_order_ms": 500, "lookbacks_s": [1, 2]}
"""Parameters without a default."""
LOAD = LoadPlan(rate_per_s=10, warmup_s=0, measured_s=1, tail_s=0)


def words(limit: Limit) -> str:
    """The error class or, if Spark gives none, its message."""
    match = re.match(r"[A-Z_.]+(?=: )", limit.reason)
    return match[0] if match else limit.reason


@pytest.mark.parametrize(
    ("workload", "limit"), [(workload, limit) for limit in SPARKS_LIMITS for workload in sorted(limit.workloads)]
)
def test_spark_refuses_it(shared: Bench, workload: str, limit: Limit, tmp_path: Path) -> None:
    computed = registry.workload(workload)
    own = {name: value for name, value in PARAMETERS.items() if name in computed.parameters.model_fields}
    parameters = computed.parameters.model_validate(own).model_dump()
    run = f"limit-{secrets.token_hex(4)}"
    streams = [Stream(stream.name, f"{run}.{stream.name}", 2, "input") for stream in computed.inputs]
    outputs = [Stream(name, f"{run}.{name}", 2, "output") for name in computed.outputs]
    kafka = Kafka.prepare(shared.transport_address, ())
    kafka.create([*streams, *outputs])
    # Spark refuses some combinations only in the first batch, which needs records.
    sender = kafka.sender(streams, 10)
    sender.send(computed.dataset(parameters, 1, LOAD).build(0, 2), lambda _: None)
    sender.finish(20)
    with Supervisor(run, tmp_path / "logs") as supervisor:
        work_dir = supervisor.work_dir / "engine"
        job = Job(
            run=run,
            workload=workload,
            parameters=parameters,
            transport=kafka.name,
            endpoints=kafka.endpoints,
            inputs={stream.name: stream.address for stream in streams},
            outputs={stream.name: stream.address for stream in outputs},
            partitions=2,
            checkpoint_dir=work_dir / "checkpoint",
            work_dir=work_dir,
            options=Spark.options.model_validate(dict(limit.options)).model_dump(),
            seed=1,
            data=computed.program_data(parameters),
        )
        with pytest.raises(StreamgaugeError) as refusal:
            supervisor.start_all(Spark().plan(job))
            supervisor.wait_event("engine", "stopped", timeout_s=60)
    kafka.remove()
    assert words(limit) in refusal.value.message()
