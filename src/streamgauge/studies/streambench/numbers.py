"""What the paper states in numbers. Its figures are pictures without a table, except Tables IV and V."""

from __future__ import annotations

from streamgauge.study import Mark

SPARK_STREAMING, STORM = "Spark Streaming 0.9.0", "Storm 0.9.1"
THROUGHPUT, LATENCY = "processing.mb_per_s", "latency.arrival.mean"

# Section IV.B.1, observations 1 and 2 on throughput.
FIG_2 = (
    Mark(SPARK_STREAMING, "ratio.systems", 4.5, "×", "mean throughput against Storm's, roughly"),
    Mark(SPARK_STREAMING, "ratio.programs", 2.5, "×", "identity against wordcount, over"),
    Mark(STORM, "ratio.programs", 3.0, "×", "statistics against the others, about, because its records are larger"),
)

# Table IV, and section IV.B.1, observations 1 and 2 on latency.
FIG_3 = (
    Mark(SPARK_STREAMING, LATENCY, 1000, "ms", "mean latency, of this order for all programs"),
    Mark(SPARK_STREAMING, "ratio.programs", 5, "×", "statistics against identity, about"),
    Mark(STORM, LATENCY, 20, "ms", "mean latency of most programs, below"),
    *(
        Mark(STORM, LATENCY, value, "ms", "mean latency", {"program": "wordcount", "scale": scale})
        for scale, value in (("1×", 166.827), ("2×", 1900.146), ("4×", 12019.256))
    ),
)
