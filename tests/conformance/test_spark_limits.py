"""What the Spark engine declares as a limit is still refused by Spark, in the words that the limit gives."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import pytest

from streamgauge.conformance.suite import Bench
from streamgauge.engines.spark import Spark
from streamgauge.engines.spark.limits import LIMITS
from streamgauge.errors import StreamgaugeError
from streamgauge.model import Job, Limit, Stream
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import Kafka
from streamgauge.workloads.traffic.data import Traffic

pytestmark = [pytest.mark.engine("spark"), pytest.mark.full]

SPARKS_OWN = [limit for limit in LIMITS if "keeps no state" not in limit.reason]


def words(limit: Limit) -> str:
    """The error class; where Spark gives none, its sentence."""
    found = re.match(r"[A-Z_.]+(?=: )", limit.reason)
    return found[0] if found else limit.reason


@pytest.mark.parametrize("limit", SPARKS_OWN)
def test_spark_refuses_it(shared: Bench, limit: Limit, tmp_path: Path) -> None:
    run = f"limit-{secrets.token_hex(4)}"
    streams = [Stream(name, f"{run}.{name}", 2, "input") for name in ("flow", "speed")]
    output = Stream("output", f"{run}.output", 2, "output")
    kafka = Kafka.prepare(shared.bootstrap, ())
    kafka.create([*streams, output])
    # Some refusals come with the first batch, which needs records.
    sender = kafka.sender(streams, 10)
    sender.send(Traffic(1, points=1).build(0, 2), lambda _: None)
    sender.finish(20)
    with Supervisor(run, tmp_path / "logs") as supervisor:
        work_dir = supervisor.work_dir / "engine"
        job = Job(
            run=run,
            pipeline=min(limit.pipelines),
            parameters={"out_of_order_ms": 500, "join_bound_ms": 1000},
            transport=kafka.name,
            endpoints=kafka.endpoints,
            inputs={stream.name: stream.topic for stream in streams},
            output=output.topic,
            partitions=2,
            checkpoint_dir=work_dir / "checkpoint",
            work_dir=work_dir,
            options=Spark.options.model_validate(dict(limit.options)).model_dump(),
            seed=1,
        )
        with pytest.raises(StreamgaugeError) as refusal:
            supervisor.start_all(Spark().plan(job))
            supervisor.wait_event("engine", "stopped", timeout_s=60)
    kafka.remove()
    assert words(limit) in refusal.value.message()
