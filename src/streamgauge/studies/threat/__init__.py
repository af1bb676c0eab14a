"""Andreoni Lopez, Lobato & Duarte, *A Performance Comparison of Open-Source Stream Processing Platforms*, GLOBECOM
2016."""

from __future__ import annotations

from streamgauge.studies.threat.exhibits import BACK_AT, CORES, LOST, micro_batches, native, parallelism
from streamgauge.study import Exhibit, Experiment, Mark, OnEngine, Study

title = "A Performance Comparison of Open-Source Stream Processing Platforms (Andreoni Lopez et al., GLOBECOM 2016)"

STORM, FLINK, SPARK_STREAMING = "Storm 0.9.4", "Flink 0.10.2", "Spark Streaming 1.6.1"

_PARALLELISM = tuple(
    Experiment(
        "threat/parallelism",
        f"parallelism-{cores}",
        dimensions={CORES: str(cores)},
        cores=cores,
        engines={
            "spark": OnEngine(
                {"cluster": "standalone", "master": "", "workers": "1", "worker_cores": str(cores)},
                profiles={"paper": {"worker_memory_mb": "4096"}},
            ),
            "flink": OnEngine({"parallelism": str(cores)}),
            "kafka-streams": OnEngine({"threads": str(cores)}),
        },
    )
    for cores in range(1, 9)
)

_NODE_FAILURE = Experiment(
    "threat/node-failure",
    "node-failure",
    engines={
        "spark": OnEngine(
            {"cluster": "standalone", "master": ""},
            ("kill worker-1 at 50s",),
            {"paper": {"workers": "7"}, "laptop": {"workers": "2"}},
        ),
        "flink": OnEngine(faults=("kill taskmanager-1 at 50s",)),
        "kafka-streams": OnEngine(faults=("kill streams-1 at 50s",)),
    },
)

STUDY = Study(
    title=title,
    source="IEEE Global Communications Conference, 2016",
    latency="latest",
    exhibits=(
        Exhibit(
            "Fig. 4",
            "Messages per minute against the number of cores",
            parallelism,
            experiments=_PARALLELISM,
            marks=(
                Mark(STORM, "ratio.max", 15, "×", "of Spark Streaming's throughput, up to (abstract)"),
                Mark(FLINK, "ratio.max", 15, "×", "of Spark Streaming's throughput, up to (abstract)"),
                Mark(STORM, "ratio.one", 1.5, "×", "of each other system's with one core, at least (section V)"),
                Mark(STORM, "saturated", 6, "cores", "no more throughput beyond (section V)"),
                Mark(SPARK_STREAMING, "saturated", 6, "cores", "no more throughput beyond (section V)"),
            ),
            note="The paper's text gives ratios only; its messages per minute can only be seen in its figure. Flink "
            "grows linearly there. Storm and Spark Streaming are not measured here yet; the engine spark is Structured "
            "Streaming. The paper has a cluster of seven workers. Here, all cores belong to one node: Spark "
            "has a standalone cluster of one Worker, Flink one TaskManager, Kafka Streams one instance.",
        ),
        Exhibit(
            "Fig. 5",
            "A node fails at 50 s: systems that process record by record",
            native,
            experiments=(_NODE_FAILURE,),
            marks=(Mark(STORM, BACK_AT, 75, "s", "messages are retrieved again at, about (section V)"),),
            note="The paper's panels are Storm, which is not measured here yet, and Flink, which it reports to take "
            "much longer than Storm. A whole virtual machine was switched off there; here one process is killed.",
        ),
        Exhibit(
            "Fig. 6",
            "A node fails at 50 s: micro-batches, and the messages lost",
            micro_batches,
            experiments=(_NODE_FAILURE,),
            marks=(
                Mark(STORM, LOST, 22.2, "%", "messages lost (section V)"),
                Mark(FLINK, LOST, 12.8, "%", "messages lost (section V)"),
                Mark(SPARK_STREAMING, LOST, 0, "%", "messages lost (section V)"),
            ),
            note="The paper measured Spark Streaming with micro-batches of 0.5 s. The engine spark is Structured "
            "Streaming, with a trigger of 0.5 s.",
        ),
    ),
    scale={
        "cores": "the paper goes up to 8 cores; here as many as the machine has, and broker and load share them",
        "records": "the paper does not give the number of messages; the laptop profile sends a million",
        "nodes": "the paper has seven workers, the laptop profile two",
        "runs": "the paper gives 95 % intervals without the number of runs; the paper profile makes five, the laptop "
        "profile three",
        "data": "the paper's data set and network are not public: the flows are synthetic, the network is trained on "
        "them",
    },
    engines={FLINK: "flink"},
    runs={"paper": 5, "laptop": 3},
)
