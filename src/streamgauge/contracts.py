"""Every abstract class, in one place: what an engine, a transport, a workload and a data set must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

from streamgauge.codec import Codec
from streamgauge.model import InputStream, Job, LoadPlan, Positions, ProcessSpec, ResultKind, Stream, Traits
from streamgauge.notices import Notice

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame, SparkSession


class Engine(ABC):
    """A system under test: a set of processes that read inputs and write results. It never tells the time."""

    name: ClassVar[str]
    title: ClassVar[str]
    traits: ClassVar[Traits]
    options: ClassVar[type[BaseModel]]
    """A frozen, strict model: every option with its default, its range and a description."""

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """The versions that the manifest records; the first one is the engine's own."""

    @abstractmethod
    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        """The processes to start, in order. Pure: writes nothing, starts nothing."""

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        """What its processes need in all; a run is refused when the machine has less."""
        return self.traits.memory_mb + int(options.get("heap_mb", 0))

    def runs_here(self, options: Mapping[str, Any]) -> bool:
        """Whether the processes of its plan do all of its work, and none on another machine does."""
        return True

    def batch_interval_s(self, options: Mapping[str, Any]) -> float:
        """Seconds between two of its micro-batches; 0 where it has none, or starts each right after the one before."""
        return 0.0

    def micro_batches(self, options: Mapping[str, Any]) -> bool:
        """Whether it works in micro-batches, so that results come in bursts."""
        return False

    def warnings(self, options: Mapping[str, Any]) -> Sequence[Notice]:
        """Warnings about these options, such as an unknown setting, to print before a run."""
        return ()

    def prepare(self, say: Callable[[str], None]) -> None:
        """Make what it needs once on a machine, such as compiled Java; ``say`` tells the user what takes its time.

        Called before every run, after its jars were fetched. Raises EnvironmentProblem.
        """
        return


class Records(NamedTuple):
    """Records of one stream, in order."""

    n_seq: Sequence[int]
    keys: list[bytes]
    values: list[bytes]
    headers: list[list[tuple[str, bytes]]] | None = None


class Sender(Protocol):
    """Sends slices of records; lives in the load worker's process and never blocks on the transport."""

    def connect(self, timeout_s: float) -> None:
        """Make sure that the transport answers and has the streams; raises EnvironmentProblem."""

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        """Hand over one slice: records by stream name.

        ``settled`` is called once, from here, ``poll`` or ``finish``, when the transport has answered for
        every record of the slice, with the number of those that failed or that a full queue refused.
        """

    def poll(self, timeout_s: float = 0.0) -> None:
        """Let answers come in; returns after the first ones, or after ``timeout_s``."""

    def finish(self, timeout_s: float) -> None:
        """Wait for the missing answers, at most ``timeout_s``; records without one have then failed."""


class Transport(ABC):
    """What carries records to the engine and results back, and stamps both."""

    name: ClassVar[str]
    title: ClassVar[str]
    server_noun: ClassVar[str]
    """What messages call one of its servers."""
    stream_noun: ClassVar[str]
    """What messages call one of its streams, such as *queue*."""
    jar_groups: ClassVar[tuple[str, ...]] = ()
    """Of the servers that a run starts."""
    ports: ClassVar[int] = 1
    """Free ports that these need; clients connect to the first."""
    memory_mb: ClassVar[int] = 0
    """What these need."""
    own: bool
    """Whether this run starts its servers; otherwise they are the user's."""
    address: str
    """Where its servers are, as the user would give it."""

    @classmethod
    @abstractmethod
    def client_versions(cls) -> Mapping[str, str]:
        """The Python packages that senders and readers use, with their versions."""

    @classmethod
    @abstractmethod
    def check_address(cls, address: str) -> None:
        """Raises UsageError for an address that cannot be one of the user's servers. Connects to nothing."""

    @classmethod
    @abstractmethod
    def prepare(cls, yours: str | None, ports: Sequence[int]) -> Self:
        """The user's own at that address, or one of ours on these free ports. Starts nothing."""

    @classmethod
    @abstractmethod
    def attach(cls, described: Mapping[str, Any]) -> Self:
        """The transport of a run, from its description in the manifest, for readers and senders."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the manifest records of it; enough for ``attach``."""

    @property
    @abstractmethod
    def endpoints(self) -> Mapping[str, str]:
        """How an engine reaches it; ``job.json`` holds it."""

    @abstractmethod
    def plan(self, work_dir: Path) -> Sequence[ProcessSpec]:
        """The servers to start; empty when the transport is the user's own."""

    def check_reachable(self) -> None:
        """Raises EnvironmentProblem if the user's own servers do not answer. Creates nothing."""
        return

    @abstractmethod
    def create(self, streams: Sequence[Stream]) -> None:
        """Make the streams, fresh and empty."""

    @abstractmethod
    def remove(self) -> None:
        """Remove what ``create`` made, where the transport is the user's own."""

    @abstractmethod
    def adopt(self, streams: Sequence[Stream]) -> None:
        """Let ``remove`` remove streams that an earlier process created."""

    @abstractmethod
    def sender(self, streams: Sequence[Stream], queue_records: int) -> Sender: ...

    @abstractmethod
    def positions(self, streams: Sequence[Stream], group: str | None = None) -> Positions:
        """How much the streams hold, and how much of the inputs that consumer group has committed, where it tells."""

    @abstractmethod
    def ends(self, streams: Sequence[Stream]) -> Mapping[str, Mapping[int, int]]:
        """End offset of each partition of each stream, by stream name: what is beyond cannot be read yet."""

    @abstractmethod
    def visible_ends(self, stream: Stream) -> Mapping[int, int]:
        """As ``ends`` of one stream, made to be asked many times a second. Raises EnvironmentProblem."""

    @abstractmethod
    def hidden(self, stream: Stream) -> int:
        """Places of a stream that cannot be read yet, behind a transaction that is still open.

        Raises EnvironmentProblem.
        """

    @abstractmethod
    def read(self, spark: SparkSession, stream: Stream, ends: Mapping[int, int], *, headers: bool = False) -> DataFrame:
        """The records below ``ends``: key, value (binary), partition, offset, appended_ms; headers, if asked for."""


class Dataset(ABC):
    """Seeded records as a pure function of their sequence number."""

    name: ClassVar[str]
    streams: ClassVar[tuple[str, ...]]
    record_bytes: int
    """About how long key and value of a record are together; what a run needs of disk is planned with it."""

    @abstractmethod
    def build(self, first: int, count: int) -> Mapping[str, Records]:
        """Records ``first`` … ``first + count − 1``, by stream name."""


class Workload(ABC):
    """What is computed, on which data, with which meaning of a right answer; free of any engine.

    Everything generic asks the workload; nothing generic guesses from a name, a column or an option.
    """

    name: ClassVar[str]
    """``family/workload``; an engine finds its program by this name."""
    title: ClassVar[str]
    kind: ClassVar[ResultKind]
    codec: ClassVar[Codec]
    """Where the input records carry their sequence number and event time."""
    inputs: ClassVar[tuple[InputStream, ...]]
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    """Names of the output streams; none for the kind *none*."""
    key: ClassVar[tuple[str, ...]] = ()
    """The columns that identify a result."""
    parameters: ClassVar[type[BaseModel]]
    """A frozen, strict model: every parameter with its default, its range and a description."""
    late: ClassVar[str] = "event time is when a record was appended: no record is late"
    """What a right answer does with records that come later than event time allows."""

    @abstractmethod
    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Dataset:
        """The records of a run with this load. Raises UsageError, for a file of the user's that cannot be used."""

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        """Event time that must pass after the last input of a result before nothing can be added to it."""
        return 0.0


class ReferenceWorkload(Workload):
    """A workload of the kind *one-to-one*, *filter* or *final-per-key*: its right answer is a table of results."""

    @abstractmethod
    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """The right answer; of a *filter*, the records that are kept.

        Each input has key, value, partition, offset, appended_ms, n_seq, intended_ns, partition_bit; event_ms where the
        codec has it. The answer has the key columns, inputs (the number of records behind it), appended_max_ms,
        appended_mean_ms, intended_max_ns. Where a record is behind several rows, it also has new_inputs: how many are
        behind no earlier one, so that the backlog counts each record once. With appended_min_ms and partitions (the
        bits of all partitions that hold one of its inputs, or-ed together) a missing result can be called lost before
        the output has fallen silent. All other columns are values, which must be equal. Where more than one value is
        right, the columns ``x_low`` and ``x_high`` say so in place of ``x``; a row that is ``optional`` may be missing.
        """

    @abstractmethod
    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """Adds the key and value columns to the engine's output (``key``, ``value``)."""


class RunningWorkload(Workload):
    """A workload of the kind *running*: every result is the aggregate of the first ``n`` contributions to its key.

    Rank is the order of (appended_ms, partition, offset) among the contributions to a key.
    """

    @abstractmethod
    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """Adds the key and value columns, and ``n``, to the engine's output (``key``, ``value``)."""

    @abstractmethod
    def contributions(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """What the inputs add, one row each: the key columns, and those of its input that
        ``INPUT_STAMPS`` names.

        An input may add nothing, or several rows. Beside these columns it has what ``aggregates`` reads.
        """

    def aggregates(self, parameters: Mapping[str, Any]) -> Mapping[str, Column]:
        """Each value column as an aggregate of contributions; taken over first ones and over all."""
        return {}

    def possible(self, parameters: Mapping[str, Any]) -> Column | None:
        """Whether a result could be that of some ``n`` contributions to its key, where their order is not known.

        The result's values have their own names, those of all contributions the prefix ``final_``; None: any is.
        """
        return None


ANSWER_STAMPS = (
    "inputs",
    "new_inputs",
    "appended_min_ms",
    "appended_max_ms",
    "appended_mean_ms",
    "intended_max_ns",
    "partitions",
    "optional",
)
"""The columns of an answer that say which inputs are behind a row, and whether it must come out."""
INPUT_STAMPS = ("n_seq", "appended_ms", "partition", "offset", "intended_ns", "partition_bit")
"""The columns of an input that say which record it is and when it came."""
