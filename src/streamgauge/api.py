"""streamgauge from Python: ``run``, ``capacity`` and ``compare``, with typed results.

    import streamgauge

    result = streamgauge.run("study/scenario", engine="spark", rate=400, duration="30s", slo=["latency.p99 < 2s"])
    assert result.valid, result.reasons
    print(result.latency.p99_ms, result.report)
    result.frame("seconds").plot(x="second", y="total_p50")

Mistakes in the arguments and problems of the machine are raised as ``StreamgaugeError``; a measurement that is INVALID
or FAILED is a result.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from streamgauge.cli.choices import PROFILES
from streamgauge.model.capacity import Capacity, CapacitySet
from streamgauge.model.comparison import Comparison
from streamgauge.model.samples import Sample
from streamgauge.model.summary import Summary
from streamgauge.report.expectations import Expectation, expectations_of
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    import pandas as pd

    from streamgauge.measure.plan import Request
    from streamgauge.measure.reporter import Reporter

MEASURES = ("seconds", "latency", "heatmap")
"""Tables of a run, besides the samples."""


@dataclass(frozen=True)
class Latency:
    """One kind of latency, in milliseconds. None: too few results, or results that never came."""

    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    mean_ms: float | None
    count: int
    missing: int

    @classmethod
    def of(cls, figures: Mapping[str, float | None]) -> Latency:
        names = ("p50", "p90", "p99", "p999", "max", "mean")
        values = {f"{name}_ms": figures.get(name) for name in names}
        return cls(**values, count=int(figures.get("count") or 0), missing=int(figures.get("missing") or 0))


@dataclass(frozen=True)
class RunResult:
    """A run, or a set of runs whose median one counts."""

    directory: Path
    summary: Summary
    """All of ``summary.json``."""
    runs: Sequence[Path]
    """The directory of each run; the first is this one's own where there is one only."""

    @property
    def verdict(self) -> str:
        """VALID, INVALID or FAILED."""
        return self.summary.verdict

    @property
    def valid(self) -> bool:
        return self.summary.valid

    @property
    def reasons(self) -> Sequence[str]:
        """Why it is not VALID."""
        return self.summary.reasons

    @property
    def warnings(self) -> Sequence[str]:
        return self.summary.warnings

    @property
    def checks(self) -> list[Expectation]:
        """Whether it is valid, its answers are right, its rate was sustained, and each SLO held."""
        return expectations_of(self.summary)

    @property
    def passed(self) -> bool:
        """What the command's exit code 0 says: VALID, sustained if the scenario asks, and every SLO held."""
        return not any(check.is_red for check in self.checks)

    @property
    def latency(self) -> Latency:
        """The end-to-end latency."""
        return self.latencies["total"]

    @property
    def latencies(self) -> dict[str, Latency]:
        """Every kind, by its key in ``summary.json``."""
        return {kind: Latency.of(figures or {}) for kind, figures in self.summary.latency_ms.items()}

    @property
    def report(self) -> Path:
        return self.directory / "report.html"

    def frame(self, name: str) -> pd.DataFrame:
        """A table of the run (of several, the median one): seconds, latency, heatmap; or samples such as resources."""
        import pandas as pd

        from streamgauge.errors import UsageError

        directory = next((run for run in self.runs if RunDir(run).summary().run == self.summary.run), self.runs[0])
        run = RunDir(directory)
        if name in MEASURES:
            return pd.read_parquet(run.measures(name))
        kinds = {kind.kind: kind for kind in Sample.__subclasses__()}
        if name not in kinds:
            raise UsageError(f"unknown table: {name}", expected=f"one of {', '.join([*MEASURES, *sorted(kinds)])}")
        return pd.DataFrame([sample.as_json() for sample in run.samples(kinds[name])])

    def _repr_html_(self) -> str:
        """For notebooks."""
        return _table(
            f"{self.verdict} · {self.summary.study}/{self.summary.scenario} · {self.summary.engine.name}",
            self.passed,
            [(check.name, check.outcome, check.message) for check in self.checks],
            f"end-to-end latency p50 {_ms(self.latency.p50_ms)}, p99 {_ms(self.latency.p99_ms)}",
            self.report,
        )


@dataclass(frozen=True)
class CapacityResult:
    directory: Path
    capacity: Capacity | CapacitySet
    """All of ``capacity.json``."""

    @property
    def found(self) -> bool:
        return self.capacity.outcome in ("found", "ceiling")

    @property
    def best(self) -> float | None:
        """The hardest value that was sustained; of several searches, the median."""
        if isinstance(self.capacity, CapacitySet):
            return self.capacity.median
        return self.capacity.interval[0]

    @property
    def report(self) -> Path:
        return self.directory / "report.html"

    def _repr_html_(self) -> str:
        from streamgauge.report.capacity import headline

        word, sentence = headline(self.capacity)
        return _table(
            f"{word} · {self.capacity.scenario} · {self.capacity.engine}", self.found, [], sentence, self.report
        )


@dataclass(frozen=True)
class ComparisonResult:
    comparison: Comparison

    @property
    def word(self) -> str:
        """faster, slower, same or cannot tell: B against A."""
        return self.comparison.word

    @property
    def ratio(self) -> float:
        """B's cost divided by A's: above 1, B is worse."""
        return self.comparison.ratio

    @property
    def interval(self) -> tuple[float | None, float | None]:
        return self.comparison.interval

    def _repr_html_(self) -> str:
        from streamgauge.report.expectations import baseline_words

        return _table(self.word, self.word != "slower", [], baseline_words(self.comparison), None)


class Options(TypedDict, total=False):
    """What ``run`` and ``capacity`` share with their commands. Numbers are per second, and seconds."""

    engine: str
    rate: int | str
    duration: float | str
    """``--for``"""
    warmup: float | str
    settings: Mapping[str, Any]
    """``--set``"""
    slo: Sequence[str]
    faults: Sequence[str]
    seed: int
    generators: int
    profile: str
    script: Path | str
    program: Sequence[str]
    """With engine *command*; of a script, its arguments."""
    bootstrap: str
    kafka_config: Path | str
    data: Sequence[str]
    map: Sequence[str]
    python: str
    submit: str
    allow_sink: Sequence[str]
    output: str
    correlate: str
    reference: Path | str
    evaluator_master: str
    load_master: str
    out: Path | str


def run(
    scenario: str,
    *,
    runs: int = 1,
    progress: bool = False,
    metrics_port: int | None = None,
    **options: Unpack[Options],
) -> RunResult:
    """Measure, as ``streamgauge run`` does. ``progress`` shows what happens on standard error, and ``metrics_port``
    serves live metrics meanwhile; 0: on any free port, which is printed on standard error."""
    from streamgauge.campaigns.repetition import read_runs, run_repeated
    from streamgauge.measure.runner import run_scenario

    request = _request(scenario, options)
    with _watched(progress, metrics_port) as reporter:
        if runs > 1:
            directory, summary = run_repeated(request, runs, reporter)
        else:
            made, summary = run_scenario(request, reporter)
            directory = made.path
    return RunResult(directory, summary, [one.path for one in read_runs(directory)])


def capacity(
    scenario: str,
    *,
    rule: str | None = None,
    resolution: float = 0.1,
    over: str = "rate_per_s",
    least: float | None = None,
    most: float | None = None,
    smallest: bool | None = None,
    runs: int = 1,
    progress: bool = False,
    metrics_port: int | None = None,
    **options: Unpack[Options],
) -> CapacityResult:
    """Find the highest rate that is sustained, as ``streamgauge capacity`` does; ``over``: or another value.

    ``least``, ``most`` and ``smallest`` are ``--from``, ``--to`` and ``--smallest``.
    """
    from streamgauge.campaigns.capacity import find_capacity
    from streamgauge.campaigns.capacity_set import find_capacities
    from streamgauge.cli.capacity import search_of
    from streamgauge.report.capacity import write_capacity

    request = _request(scenario, options)
    low, high = (None if bound is None else str(bound) for bound in (least, most))
    search = search_of(request, rule, f"{100 * resolution:g}%", over, low, high, smallest)
    with _watched(progress, metrics_port) as reporter:
        found = find_capacities(search, runs, reporter) if runs > 1 else find_capacity(search, reporter)
    write_capacity(request.out)
    return CapacityResult(request.out, found)


def compare(a: RunResult | CapacityResult | Path | str, b: RunResult | CapacityResult | Path | str) -> ComparisonResult:
    """B against A: runs, searches, or sets of either, as results or by their directories."""
    from streamgauge.campaigns import comparison

    def directory(side: RunResult | CapacityResult | Path | str) -> Path:
        return side.directory if isinstance(side, RunResult | CapacityResult) else Path(side)

    return ComparisonResult(comparison.compare(directory(a), directory(b)))


def _request(scenario: str, options: Options) -> Request:
    """Raises TypeError for an option that there is not, and UsageError for a value that cannot be meant."""
    from streamgauge.cli.request import build

    if unknown := [name for name in options if name not in Options.__annotations__]:
        raise TypeError(f"unexpected option {', '.join(unknown)}; expected {', '.join(Options.__annotations__)}")

    def text(value: Any, unit: str = "") -> str | None:
        if value is None or isinstance(value, str):
            return value
        return str(value).lower() if isinstance(value, bool) else f"{value}{unit}"

    def path(value: Path | str | None) -> Path | None:
        return None if value is None else Path(value)

    return build(
        scenario,
        list(options.get("program", ())) or None,
        engine=options.get("engine"),
        settings=[f"{key}={text(value)}" for key, value in options.get("settings", {}).items()],
        rate=text(options.get("rate"), "/s"),
        measured=text(options.get("duration"), "s"),
        warmup=text(options.get("warmup"), "s"),
        generators=text(options.get("generators")),
        slo=list(options.get("slo", ())),
        faults=list(options.get("faults", ())),
        seed=text(options.get("seed")),
        out=path(options.get("out")),
        profile=options.get("profile", PROFILES[0]),
        master=options.get("evaluator_master"),
        load_master=options.get("load_master"),
        script=path(options.get("script")),
        transport_address=options.get("bootstrap"),
        client_config=path(options.get("kafka_config")),
        data=list(options.get("data", ())),
        mapped=list(options.get("map", ())),
        python=options.get("python"),
        submit=options.get("submit"),
        allow_sink=list(options.get("allow_sink", ())),
        output=options.get("output"),
        correlate=options.get("correlate"),
        reference=None if options.get("reference") is None else str(options["reference"]),
    )


@contextmanager
def _watched(progress: bool, metrics_port: int | None = None) -> Iterator[Reporter]:
    """Shows progress and serves metrics, each if asked for. SIGTERM ends a run in order, where this thread can be told
    of it."""
    from streamgauge.cli.live import LiveView
    from streamgauge.cli.metrics import metrics_on
    from streamgauge.measure.reporter import SnapshotReporter
    from streamgauge.processes.supervisor import signals_as_interrupt

    in_main = threading.current_thread() is threading.main_thread()
    signals: AbstractContextManager[Any] = signals_as_interrupt() if in_main else nullcontext()
    with signals, metrics_on(metrics_port) as publish:
        if progress:
            with LiveView(publish) as view:
                yield view
        else:
            yield SnapshotReporter(publish)


def _ms(value: float | None) -> str:
    from streamgauge.report.text import NONE, rounded

    return NONE if value is None else f"{rounded(value)} ms"


def _table(head: str, good: bool, rows: Sequence[tuple[str, str, str]], foot: str, report: Path | None) -> str:
    from html import escape

    colour = "#1a7f37" if good else "#b35900"
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(outcome)}</td><td>{escape(message)}</td></tr>"
        for name, outcome, message in rows
    )
    table = f"<table>{cells}</table>" if rows else ""
    link = "" if report is None else f'<p><a href="{escape(str(report), quote=True)}">report</a></p>'
    return f'<div><b style="color:{colour}">{escape(head)}</b>{table}<p>{escape(foot)}</p>{link}</div>'
