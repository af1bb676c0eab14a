"""Shows a study: experiments with the scenarios next to this file, and exhibits of their results."""

from __future__ import annotations

from sensor_alarms.study.exhibits import latency_by_alarms
from streamgauge.study import Exhibit, Experiment, Study

EXPERIMENTS = tuple(
    Experiment(
        "sensor-alarms/limits",
        name,
        settings={"limit_celsius": str(limit)},
        dimensions={"alarms": name.removesuffix("-alarms")},
    )
    for name, limit in (("few-alarms", 90), ("many-alarms", 10))
)

STUDY = Study(
    title="Sensor alarms: does latency depend on their number?",
    source="streamgauge example",
    latency="total",
    exhibits=(Exhibit("Fig. 1", "Latency by the number of alarms", latency_by_alarms, EXPERIMENTS),),
)
