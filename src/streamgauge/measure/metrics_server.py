"""Serves the latest snapshot of a run as OpenMetrics. A scrape only reads it: nothing is asked of the run."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from streamgauge.errors import EnvironmentProblem, PortTaken
from streamgauge.measure.snapshot import Snapshot
from streamgauge.model.samples import ResourceSample

HOST = "127.0.0.1"
BYTES_PER_MB = 1024 * 1024
"""Of samples of memory."""
UNITS = ("bytes", "records", "seconds")
"""A unit is the end of the name."""

Values = Iterable[tuple[Mapping[str, str], float | None]]
"""Labels and value of each series; None: not known, and the series is absent."""


@dataclass(frozen=True)
class Served:
    """A metric, by the name of its samples; the suffix decides what kind of metric it is, and its unit."""

    name: str
    help: str
    labels: tuple[str, ...]
    values: Callable[[Snapshot], Values]

    def family(self, snapshot: Snapshot) -> Metric | None:
        """None if it has no series at the moment."""
        known = [(labels, value) for labels, value in self.values(snapshot) if value is not None]
        if not known:
            return None
        if self.name.endswith("_info"):
            info = InfoMetricFamily(self.name.removesuffix("_info"), self.help)
            info.add_metric([], dict(known[0][0]))
            return info
        is_counter = self.name.endswith("_total")
        name = self.name.removesuffix("_total")
        unit = name.rpartition("_")[2]
        family = (CounterMetricFamily if is_counter else GaugeMetricFamily)(
            name, self.help, labels=self.labels, unit=unit if unit in UNITS else ""
        )
        for labels, value in known:
            family.add_metric([labels[label] for label in self.labels], value)
        return family


def _one(name: str, text: str, value: Callable[[Snapshot], float | None]) -> Served:
    """Of the whole run."""
    return Served(name, text, ("run",), lambda snapshot: [({"run": snapshot.run}, value(snapshot))])


def _by_role(name: str, text: str, value: Callable[[ResourceSample], float | None]) -> Served:
    """Of the processes of each role."""
    return Served(
        name,
        text,
        ("run", "role", "group"),
        lambda snapshot: [
            ({"run": snapshot.run, "role": sample.role, "group": sample.group}, value(sample))
            for sample in snapshot.resources
        ],
    )


def _about(snapshot: Snapshot) -> Values:
    return [({"run": snapshot.run, "scenario": snapshot.scenario, "engine": snapshot.engine}, 1)]


def _phase(snapshot: Snapshot) -> Values:
    return [({"run": snapshot.run, "phase": snapshot.phase}, 1)]


def _bytes(megabytes: float | None) -> float | None:
    return None if megabytes is None else megabytes * BYTES_PER_MB


METRICS = (
    Served("streamgauge_run_info", "The run that the other metrics are about.", ("run", "scenario", "engine"), _about),
    Served("streamgauge_phase", "1 for what the run does at the moment.", ("run", "phase"), _phase),
    _one(
        "streamgauge_records_offered_total",
        "Records that were due by now, by the plan of the load.",
        lambda snapshot: snapshot.offered,
    ),
    _one(
        "streamgauge_records_sent_total",
        "Records that the load workers report as sent.",
        lambda snapshot: snapshot.sent,
    ),
    _one(
        "streamgauge_records_appended_total",
        "Records that the inputs of the system under test hold.",
        lambda snapshot: snapshot.appended,
    ),
    _one(
        "streamgauge_records_output_total",
        "Records that the system under test has written.",
        lambda snapshot: snapshot.output,
    ),
    _one(
        "streamgauge_lag_records",
        "Records of the inputs that the system under test has not taken yet.",
        lambda snapshot: snapshot.lag,
    ),
    _one(
        "streamgauge_estimated_wait_seconds",
        "The lag divided by the speed at which the system under test took records in the last seconds.",
        lambda snapshot: snapshot.wait_s,
    ),
    _by_role(
        "streamgauge_cpu_seconds_total", "CPU time that the processes of a role have used.", lambda sample: sample.cpu_s
    ),
    _by_role(
        "streamgauge_resident_bytes",
        "Resident memory of the processes of a role.",
        lambda sample: _bytes(sample.rss_mb),
    ),
    _by_role(
        "streamgauge_heap_bytes",
        "Used heap of the JVMs of a role, as they last recorded it.",
        lambda sample: _bytes(sample.heap_used_mb),
    ),
)


class MetricsServer(Collector):
    """Listens on 127.0.0.1 until it is closed; a context manager. Port 0 is any free one.

    Raises PortTaken for a port that is in use, EnvironmentProblem for one that may not be used.
    """

    def __init__(self, port: int) -> None:
        self._latest: Snapshot | None = None
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, HOST, registry)
        except OSError as problem:
            raise _refused(port, problem) from None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_port}/metrics"

    def publish(self, snapshot: Snapshot) -> None:
        """From now on, this is what a scrape gets."""
        self._latest = snapshot

    def collect(self) -> Iterator[Metric]:
        """What is served; nothing before the first run."""
        latest = self._latest
        if latest is not None:
            families = (metric.family(latest) for metric in METRICS)
            yield from (family for family in families if family is not None)

    def close(self) -> None:
        """Nobody listens any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refused(port: int, problem: OSError) -> EnvironmentProblem:
    where, hint = f"{HOST}:{port}", "another port, or --metrics-port 0 for any free one"
    if problem.errno == errno.EADDRINUSE:
        return PortTaken("the port for live metrics is in use by another program", where=where, hint=hint)
    got = problem.strerror or str(problem)
    return EnvironmentProblem("cannot serve live metrics on this port", where=where, got=got, hint=hint)
