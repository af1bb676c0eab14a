"""Lu, Wu, Xie & Hu, *StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks*, UCC 2014."""

from __future__ import annotations

from streamgauge.studies.streambench import numbers
from streamgauge.studies.streambench.durability import EXHIBIT as DURABILITY
from streamgauge.studies.streambench.exhibits import latency, throughput
from streamgauge.study import Exhibit, Experiment, Study

title = "StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks (Lu et al., UCC 2014)"

PROGRAMS = ("identity", "sample", "projection", "grep", "wordcount", "distinctcount", "statistics")
_MILLION = 1_000_000
SCALES = {"1×": 5 * _MILLION, "2×": 10 * _MILLION, "4×": 20 * _MILLION, "10×": 50 * _MILLION}
_LAPTOP_PART = 10


def _performance(program: str, scale: str) -> Experiment:
    records = SCALES[scale]
    return Experiment(
        "streambench/performance",
        f"performance-{program}-{scale.replace('×', 'x')}",
        {"program": program},
        {"program": program, "scale": scale},
        profiles={"paper": {"records": str(records)}, "laptop": {"records": str(records // _LAPTOP_PART)}},
    )


def _latency(program: str) -> Experiment:
    return Experiment(
        "streambench/latency",
        f"latency-{program}",
        {"program": program},
        {"program": program},
        half_of=f"performance-{program}-4x",
    )


_PERFORMANCE = tuple(_performance(program, scale) for program in PROGRAMS for scale in SCALES)
_LATENCY = tuple(_latency(program) for program in PROGRAMS)

STUDY = Study(
    title=title,
    source="IEEE/ACM International Conference on Utility and Cloud Computing, 2014",
    latency="average",
    exhibits=(
        Exhibit(
            "Fig. 2",
            "Throughput of each program at four scales",
            throughput,
            experiments=_PERFORMANCE,
            marks=numbers.FIG_2,
            note="The paper gives its bars without numbers; what its text says is below. It omits Storm at 10×.",
        ),
        Exhibit(
            "Fig. 3",
            "Latency of each program",
            latency,
            experiments=_LATENCY,
            marks=numbers.FIG_3,
            note="The paper measures latency with all input waiting in the message system, by a definition of each "
            "framework's own. Here records arrive at a constant rate, so that the wait in the broker does not count.",
        ),
        DURABILITY,
    ),
    scale={
        "records": "the paper uses 5, 10, 20 and 50 million records; the laptop profile a tenth of that",
        "duration": "the paper's durability suite runs for two days; in the laptop profile it takes ten minutes",
        "machines": "the paper has 5 workers with 16 cores each and 5 brokers; the laptop has 2 cores for everything",
        "data": "the paper replays 100,000 lines of the AOL search log and 11,942 lines of CAIDA's trace statistics; "
        "the built-in records are synthetic, with fields of the same meaning and size",
    },
    # The paper measured Spark Streaming 0.9.0 and Storm 0.9.1 and 0.9.3. Engine spark is Structured Streaming.
    engines={},
)
