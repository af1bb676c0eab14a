"""Lu, Wu, Xie & Hu, *StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks*, UCC 2014."""

from __future__ import annotations

from streamgauge.study import Study

title = "StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks (Lu et al., UCC 2014)"

STUDY = Study(
    title=title,
    source="IEEE/ACM International Conference on Utility and Cloud Computing, 2014",
    latency="average",
    exhibits=(),
    scale={
        "records": "the paper uses 5, 10, 20 and 50 million records; the laptop profile a tenth of that",
        "machines": "the paper has 5 workers with 16 cores each and 5 brokers; the laptop has 2 cores for everything",
        "data": "the paper replays 100,000 lines of the AOL search log and 11,942 lines of CAIDA's trace statistics; "
        "the built-in records are synthetic, with fields of the same meaning and size",
    },
    # The paper measured Spark Streaming 0.9.0 and Storm 0.9.1 and 0.9.3. Engine spark is Structured Streaming.
    engines={},
)
