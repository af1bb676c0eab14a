"""Shows a study: experiments on the scenarios beside this file, and the exhibits that show their results."""

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
    title="Sensor alarms: does latency depend on how many there are?",
    source="the example of streamgauge",
    latency="total",
    exhibits=(Exhibit("Fig. 1", "Latency by the number of alarms", latency_by_alarms, EXPERIMENTS),),
)
