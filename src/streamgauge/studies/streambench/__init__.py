"""Lu, Wu, Xie & Hu, *StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks*, UCC 2014."""

from __future__ import annotations

from streamgauge.studies.streambench import exhibits, experiments, numbers, recipients
from streamgauge.studies.streambench.configurations import configurations
from streamgauge.studies.streambench.durability import EXHIBIT as DURABILITY
from streamgauge.studies.streambench.penalties import penalties
from streamgauge.study import Exhibit, Study

title = "StreamBench: Towards Benchmarking Modern Distributed Stream Computing Frameworks (Lu et al., UCC 2014)"

_NODES = (
    "A node is a process of one machine: a Worker of Spark, a TaskManager of Flink, an instance of Kafka Streams. As "
    "many nodes read as the topic has partitions. Spark and Flink then spread the records over all nodes. An instance "
    "of Kafka Streams works on what it reads only; its programs that group by a key also read from a topic of their "
    "own, so more bytes are received than the input has."
)
_NO_CLUSTER = (
    "In the laptop profile, Spark runs in a single JVM (local[2]) unless you set cluster=standalone; Figs. 4 to 6 have "
    "a cluster."
)

STUDY = Study(
    title=title,
    source="IEEE/ACM International Conference on Utility and Cloud Computing, 2014",
    latency="average",
    exhibits=(
        Exhibit(
            "Fig. 2",
            "Throughput of each program at four scales",
            exhibits.throughput,
            experiments=experiments.PERFORMANCE,
            marks=numbers.FIG_2,
            note="The paper gives its bars without numbers; what its text states is below. It omits Storm at 10×. "
            "For statistics, the throughputs of its two systems are quite close; at 10× on Spark, statistics meets the "
            "saturate volume. One of its nodes receives all input; here, in the laptop profile, a single process reads "
            f"two partitions. {_NO_CLUSTER}",
        ),
        Exhibit(
            "Fig. 3",
            "Latency of each program",
            exhibits.latency,
            experiments=experiments.LATENCY,
            marks=numbers.FIG_3,
            note="The paper measures latency with all input waiting in the message system, by a definition of each "
            "framework's own. Here records arrive at a constant rate, so that the wait in the broker does not count. "
            "Distinctcount publishes nothing more after one pass over the 100,000 seed records: its latency is that of "
            f"a field with different values in all of them, at a rate at which the run ends before. {_NO_CLUSTER}",
        ),
        Exhibit(
            "Fig. 4",
            "Throughput of each program by reception ability",
            recipients.throughput,
            experiments=experiments.RECIPIENTS,
            marks=numbers.FIG_4,
            note=f"Reception ability is the share of the nodes that receive input: one node, half, all. {_NODES} The "
            "nodes of the laptop profile share two cores, so more recipients bring less than in the paper. The paper's "
            "scale is 10× on Spark, but 4× for statistics with 1 and 2 recipients, where 10× exceeds the saturate "
            "volume; on Storm it is 4×. For statistics, the throughputs of its two systems are quite close.",
        ),
        Exhibit(
            "Fig. 5",
            "Latency of each program by reception ability",
            recipients.latency,
            experiments=experiments.RECIPIENTS_LATENCY,
            marks=numbers.FIG_5,
            note="At a constant rate, and distinctcount with another field, as in Fig. 3. The paper's scales are those "
            'of Fig. 4. Table V has "fail" for wordcount on Storm with 2 and 5 recipients: beyond its saturate volume.',
        ),
        Exhibit(
            "Fig. 6",
            "Penalty of the failure of a node",
            penalties,
            experiments=experiments.FAULT_TOLERANCE,
            marks=numbers.FIG_6,
            note="Half of the nodes receive. A node that does not receive is killed and not started again: for the "
            "throughput when half of the time of the failure-free run of Fig. 4 is over, for the latency in the middle "
            "of the measured interval. All latencies of a program are at the same rate. Kafka Streams has no node that "
            "works without reading, so it has no factors. The paper has none for wordcount on Storm.",
            overview=True,
        ),
        DURABILITY,
        Exhibit(
            "Fig. 7",
            "Two configurations of one system",
            configurations,
            experiments=experiments.CONFIGURATIONS,
            marks=numbers.FIG_7,
            note="The paper compares two versions of Storm. Here: two configurations of Spark at scale 4×, its own "
            "defaults, with which the paper measured, and the tuned settings of the other figures. Each latency is at "
            f"half of the throughput of its own configuration. {_NO_CLUSTER}",
            overview=True,
        ),
    ),
    scale={
        "records": "the paper uses 5, 10, 20 and 50 million records; the laptop profile a tenth of that. With several "
        "nodes, the paper uses 50 million; the laptop profile 300,000",
        "duration": "the paper's durability suite runs for two days; in the laptop profile it takes ten minutes",
        "machines": "the paper has 5 workers with 16 cores each and 5 brokers; the laptop has 2 cores for everything",
        "nodes": "the paper has 5 nodes, of which 1, 2 or 5 receive; the laptop profile 4, of which 1, 2 or 4 receive",
        "data": "the paper replays 100,000 lines of the AOL search log and 11,942 lines of CAIDA's trace statistics; "
        "the built-in records are synthetic, with fields of the same meaning and size",
    },
    # The paper measured Spark Streaming 0.9.0 and Storm 0.9.1 and 0.9.3. Engine spark is Structured Streaming.
    engines={},
)
