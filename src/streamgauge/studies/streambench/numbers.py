"""What the paper states in numbers. Its figures are pictures without a table, except Tables IV and V."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.study import Mark

SPARK_STREAMING, STORM = "Spark Streaming 0.9.0", "Storm 0.9.1"
THROUGHPUT, LATENCY = "processing.mb_per_s", "latency.arrival.mean"

OTHERS = "the others"


@dataclass(frozen=True)
class ProgramRatio:
    """What one system reaches with a program, in parts of what it reaches with another."""

    system: str
    program: str
    against: str
    """A program, or OTHERS for the mean of all others."""
    value: float
    precision: str

    @property
    def words(self) -> str:
        return f"{self.program} against {self.against}"

    @property
    def mark(self) -> Mark:
        return Mark(self.system, "ratio.programs", self.value, "×", f"{self.words}, {self.precision}")


# Section IV.B.1, observations 1 and 2 on throughput, and section I, which is about both performance suites.
FIG_2_RATIOS = (
    ProgramRatio(SPARK_STREAMING, "identity", "wordcount", 2.5, "over"),
    ProgramRatio(STORM, "statistics", OTHERS, 3, "about"),
)
FIG_2 = (
    Mark(SPARK_STREAMING, THROUGHPUT, 100, "MB/s", "highest throughput in the performance suites, nearly (section I)"),
    Mark(SPARK_STREAMING, "ratio.systems", 4.5, "×", "mean throughput against Storm's, roughly"),
    Mark(SPARK_STREAMING, "ratio.systems", 5, "×", "throughput against Storm's, about (section I)"),
    *(ratio.mark for ratio in FIG_2_RATIOS),
)

# Table IV, and section IV.B.1, observations 1 and 2 on latency.
FIG_3_RATIOS = (ProgramRatio(SPARK_STREAMING, "statistics", "identity", 5, "about"),)
FIG_3 = (
    Mark(SPARK_STREAMING, LATENCY, 1000, "ms", "mean latency, of this order for all programs"),
    *(ratio.mark for ratio in FIG_3_RATIOS),
    Mark(STORM, LATENCY, 20, "ms", "mean latency of most programs, below"),
    *(
        Mark(STORM, LATENCY, value, "ms", "mean latency", {"program": "wordcount", "scale": scale})
        for scale, value in (("1×", 166.827), ("2×", 1900.146), ("4×", 12019.256))
    ),
    Mark(
        *(STORM, "ratio.scales", 10, "×", "mean latency along with the scale, almost"),
        {"program": "wordcount"},
    ),
    Mark(
        *(STORM, "ratio.systems", 4, "×", "mean latency against Spark's, about"),
        {"program": "wordcount", "scale": "4×"},
    ),
)

# Section IV.B.2, observations on Fig. 4. Ratios of throughputs, on average over the programs.
HALF_TO_ONE, ALL_TO_HALF = "ratio.half_to_one", "ratio.all_to_half"
FIG_4 = (
    *(Mark(system, HALF_TO_ONE, 1.8, "×", "2 recipients against 1, about") for system in (SPARK_STREAMING, STORM)),
    *(Mark(system, ALL_TO_HALF, 2.15, "×", "5 recipients against 2, roughly") for system in (SPARK_STREAMING, STORM)),
    Mark(SPARK_STREAMING, "ratio.systems", 4, "×", "throughput against Storm's except statistics, at least"),
    Mark(SPARK_STREAMING, "ratio.systems", 8, "×", "throughput against Storm's except statistics, at most"),
)

# Table V, and section IV.B.2 on Fig. 5. With 2 and 5 recipients, Table V has "fail".
FIG_5 = (
    Mark(STORM, LATENCY, 12019.25625, "ms", "mean latency", {"program": "wordcount", "ability": "one node"}),
    Mark(STORM, ALL_TO_HALF, 9, "×", "mean latency with 5 recipients against 2", {"program": "statistics"}),
    Mark(STORM, ALL_TO_HALF, 5, "×", "mean latency with 5 recipients against 2, the others"),
)

# Section IV.B.3.
TPF, LPF = "penalty.throughput", "penalty.latency"
FIG_6 = (
    Mark(SPARK_STREAMING, "penalty.throughput.min", 0.9, "", "TPF, the lowest of all programs"),
    Mark(SPARK_STREAMING, "penalty.throughput.max", 1.17, "", "TPF, the highest of all programs"),
    Mark(SPARK_STREAMING, "penalty.throughput.above_one", 0.5, "", "share of the programs with a TPF over 1, nearly"),
    Mark(STORM, TPF, 0.66, "", "TPF, mean over the programs, about"),
    Mark(SPARK_STREAMING, LPF, 1, "", "LPF, mean over the programs"),
    Mark(STORM, LPF, 5.3, "", "LPF, mean over most programs, about"),
    Mark(STORM, LPF, 2.3, "", "LPF", {"program": "distinctcount"}),
    Mark(STORM, LATENCY, 10, "ms", "mean latency of most programs with 2 recipients, around"),
    Mark(STORM, LATENCY, 50, "ms", "mean latency of most programs with 2 recipients and a failure, around"),
)

# Section IV.B.5.
STORM_NEWER = "Storm 0.9.3"
FIG_7 = (
    Mark(STORM_NEWER, "change.throughput", 26, "%", "throughput against 0.9.1, mean over the programs"),
    Mark(STORM_NEWER, "change.throughput.max", 40, "%", "throughput against 0.9.1, the highest, over"),
    Mark(STORM_NEWER, "change.latency", -40, "%", "mean latency against 0.9.1, mean over the programs, about"),
    Mark(STORM_NEWER, "change.latency", -66, "%", "mean latency against 0.9.1", {"program": "wordcount"}),
)
