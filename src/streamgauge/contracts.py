"""All abstract classes: what an engine, a transport, a workload and a data set must implement."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

from streamgauge.codec import Codec
from streamgauge.errors import UsageError
from streamgauge.model import InputStream, Job, LoadPlan, Positions, ProcessSpec, ResultKind, Stream, Traits
from streamgauge.notices import Notice

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame, SparkSession

STARTING_JVM_S = 9.0
"""About how long an engine in one JVM takes to start."""


class Engine(ABC):
    """A system under test: a set of processes that read inputs and write results. It never measures time itself."""

    name: ClassVar[str]
    title: ClassVar[str]
    traits: ClassVar[Traits]
    options: ClassVar[type[BaseModel]]
    """A frozen, strict model: every option with its default, range and description."""

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """The versions for the manifest, the engine's own first."""

    def versions_with(self, options: Mapping[str, Any]) -> Mapping[str, str]:
        """The same, of an engine that comes from elsewhere with these options."""
        return self.versions()

    @abstractmethod
    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        """The processes to start, in order. Pure: writes nothing, starts nothing."""

    def notes(self, job: Job) -> Mapping[str, str]:
        """What the user should know about this run of the engine, under short heads; in plan and manifest."""
        return {}

    def files(self, program: Sequence[str]) -> Sequence[Path]:
        """Files of the user's that it runs; the manifest has their checksums."""
        return ()

    def jar_groups(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The jar groups that its processes need."""
        return self.traits.jar_groups

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        """Total memory of its processes; a run is refused if the machine has less."""
        return self.traits.memory_mb + int(options.get("heap_mb", 0))

    def starting_s(self, options: Mapping[str, Any]) -> float:
        """About how long its processes take to start on two cores, for estimates."""
        return STARTING_JVM_S if self.traits.needs_java else 0.0

    def group_members(self, options: Mapping[str, Any]) -> int:
        """How many processes share the partitions as members of one consumer group; 1 if partitions are assigned."""
        return 1

    def runs_here(self, options: Mapping[str, Any]) -> bool:
        """Whether the processes of its plan do all the work, without processes elsewhere."""
        return True

    def only_recipients(self, options: Mapping[str, Any]) -> str:
        """Why, with these options, every node works only on what it reads itself; empty if it is not so."""
        return self.traits.only_recipients

    def keeps_order(self, options: Mapping[str, Any]) -> bool:
        """Whether results show the records of a partition in their order; otherwise a running result may be that of
        other records than the first ones."""
        return True

    def batch_interval_s(self, options: Mapping[str, Any]) -> float:
        """Seconds between the starts of micro-batches; 0 if it has none or runs them back to back."""
        return 0.0

    def consumed_delay_s(self, options: Mapping[str, Any]) -> float | None:
        """How late, at most, it reports what it has consumed; None if that is not known."""
        return None

    def micro_batches(self, options: Mapping[str, Any]) -> bool:
        """Whether it works in micro-batches: results come in bursts, and input that it reports as consumed has its
        results in the output, unless they wait for later input."""
        return False

    def warnings(self, options: Mapping[str, Any]) -> Sequence[Notice]:
        """Warnings about these options, such as an unknown setting, to print before a run."""
        return ()

    def prepare(self, say: Callable[[str], None]) -> None:
        """Do one-time setup on a machine, such as compiling Java; ``say`` reports slow steps to the user.

        Called before every run, after its jars have been fetched. Raises EnvironmentProblem.
        """
        return


class Records(NamedTuple):
    """Records of one stream, in order."""

    n_seq: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes]
    headers: list[list[tuple[str, bytes]]] | None = None


class Sender(Protocol):
    """Sends slices of records. Runs in the load worker's process and never blocks on the transport."""

    def connect(self, timeout_s: float) -> None:
        """Check that the transport answers and has the streams; raises EnvironmentProblem."""

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        """Enqueue one slice: records by stream name.

        ``settled`` is called once, from here, ``poll`` or ``finish``, when the transport has answered for every record
        of the slice, with the number of records that failed or that a full queue refused.
        """

    def poll(self, timeout_s: float = 0.0) -> None:
        """Process answers; returns after the first ones or after ``timeout_s``."""

    def finish(self, timeout_s: float) -> None:
        """Wait up to ``timeout_s`` for outstanding answers; records without one have failed."""

    def serve(self, stop: threading.Event) -> None:
        """Where readers fetch the records from this process, serve them until told to stop; else return at once."""


class Transport(ABC):
    """Carries records to the engine and results back, and timestamps both."""

    name: ClassVar[str]
    title: ClassVar[str]
    server_noun: ClassVar[str]
    """The noun for one of its servers in messages."""
    stream_noun: ClassVar[str]
    """The noun for one of its streams in messages, such as *queue*."""
    jar_groups: ClassVar[tuple[str, ...]] = ()
    """Jar groups of the servers that a run starts."""
    ports: ClassVar[int] = 1
    """Number of free ports that these servers need; clients connect to the first."""
    transactional: ClassVar[bool] = False
    """Whether results can be written in transactions."""
    in_load: ClassVar[bool] = False
    """Whether the load workers themselves serve the inputs: they start before the engine, each with a port of its own,
    and serve until the run has ended."""
    stamps_handing: ClassVar[bool] = False
    """Whether it knows when it handed each record to the engine first: ``read`` has ``ingested_ms`` of inputs then."""
    complete_when_stopped: ClassVar[bool] = False
    """Whether the streams can be read only when all servers have stopped."""
    memory_mb: ClassVar[int] = 0
    """Memory of these servers."""
    own: bool
    """Whether this run starts the servers; otherwise they are the user's."""
    address: str
    """The address of the servers, as a user would give it."""
    group_members: int = 1
    """Members of the engine's consumer group, which start together; set before ``plan``."""
    bound_records: int = 0
    """How many records of each load worker may wait in it, where it has a bound; set before ``describe``."""
    widths: Mapping[str, int] = {}
    """The bytes of a record of each input, where all have the same; set before ``describe``."""
    trims: bool = False
    """Whether the run removes records while it goes on (``trim``), so that their space must be freed; set before
    ``plan``, ``describe`` and ``create``."""

    @classmethod
    @abstractmethod
    def client_versions(cls) -> Mapping[str, str]:
        """The Python packages of senders and readers, with their versions."""

    @classmethod
    @abstractmethod
    def check_address(cls, address: str) -> None:
        """Raises UsageError for a malformed address. Does not connect."""

    @classmethod
    def secured(cls, address: str | None, config: Path) -> str:
        """The address together with a file that has the security of clients; the file may have the address, too.

        Raises UsageError.
        """
        raise UsageError(f"{cls.title} takes no file with the security of clients", got=str(config))

    @classmethod
    @abstractmethod
    def prepare(cls, yours: str | None, ports: Sequence[int]) -> Self:
        """The user's servers at the address ``yours``, or new ones on these free ports. Starts nothing.

        Raises UsageError if it cannot use servers of the user's. With two ports more than it needs, the server also
        listens on the first of them, for a proxy at the second.
        """

    @classmethod
    @abstractmethod
    def attach(cls, described: Mapping[str, Any]) -> Self:
        """The transport of a run, from its description in the manifest, for readers and senders."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Its description in the manifest; sufficient for ``attach``."""

    @property
    @abstractmethod
    def endpoints(self) -> Mapping[str, str]:
        """The addresses that an engine gets in ``job.json``."""

    def client_ports(self) -> frozenset[int]:
        """The ports at which clients reach its servers, to tell its connections from others; empty if unknown.

        Asked when the streams have been created. Raises EnvironmentProblem.
        """
        return frozenset()

    @abstractmethod
    def behind_proxy(self) -> Self:
        """The same transport for clients that connect through the proxy."""

    @abstractmethod
    def plan(self, work_dir: Path, *, restarts: bool = False) -> Sequence[ProcessSpec]:
        """The servers to start; empty if they are the user's. ``restarts``: a fault kills and restarts one of them."""

    def check_reachable(self) -> None:
        """Raises EnvironmentProblem if the user's own servers do not answer. Creates nothing."""
        return

    @abstractmethod
    def create(self, streams: Sequence[Stream]) -> None:
        """Create the streams, empty."""

    @abstractmethod
    def remove(self) -> None:
        """Remove what ``create`` made if the servers are the user's."""

    @abstractmethod
    def adopt(self, streams: Sequence[Stream]) -> None:
        """Let ``remove`` remove streams that an earlier process created."""

    def left_behind(self, active: Collection[str]) -> list[str]:
        """Streams on the user's servers that runs have made, but for these runs. Raises EnvironmentProblem."""
        return []

    def remove_streams(self, names: Sequence[str]) -> None:
        """Remove these. Raises EnvironmentProblem."""
        return

    def partitions(self, role: Literal["input", "output"], asked: int, generators: int) -> int:
        """Of a stream, where so many were asked for and so many load workers send."""
        return asked

    @abstractmethod
    def sender(self, streams: Sequence[Stream], queue_records: int, index: int = 0) -> Sender:
        """Of the load worker ``index``."""

    def served_per_s(self, streams: Sequence[Stream], most_s: float) -> float | None:
        """Records per second that a plain reader gets out of these streams, read for at most so long; None if unknown.

        Raises EnvironmentProblem.
        """
        return None

    @abstractmethod
    def positions(self, streams: Sequence[Stream], group: str | None = None) -> Positions:
        """The records in each stream, and how many input records the consumer group has committed, if known."""

    @abstractmethod
    def ends(self, streams: Sequence[Stream]) -> Mapping[str, Mapping[int, int]]:
        """The end offset of each partition, by stream name: records beyond it cannot be read yet."""

    @abstractmethod
    def visible_ends(self, stream: Stream) -> Mapping[int, int]:
        """Like ``ends`` for one stream, but cheap enough for many calls per second. Raises EnvironmentProblem."""

    @abstractmethod
    def hidden(self, stream: Stream) -> int:
        """The number of offsets of a stream that cannot be read yet because of an open transaction.

        Raises EnvironmentProblem.
        """

    @abstractmethod
    def offsets_at(self, streams: Sequence[Stream], moment_ms: int) -> Mapping[str, Mapping[int, int]]:
        """By stream name and partition: the offset of the first record appended at ``moment_ms`` or later, or the end.

        The moment has passed. Raises EnvironmentProblem.
        """

    @abstractmethod
    def trim(self, stream: Stream, below: Mapping[int, int]) -> None:
        """Remove the records below these offsets from a stream that ``create`` made. Raises EnvironmentProblem."""

    @abstractmethod
    def read(
        self,
        spark: SparkSession,
        stream: Stream,
        ends: Mapping[int, int],
        *,
        begins: Mapping[int, int] | None = None,
        headers: bool = False,
    ) -> DataFrame:
        """The records below ``ends``, from ``begins`` on where given: key, value (binary), partition, offset,
        appended_ms, headers if requested, and ingested_ms of inputs if it stamps that."""


class Dataset(ABC):
    """Seeded records as a pure function of their sequence number."""

    name: ClassVar[str]
    streams: ClassVar[tuple[str, ...]]
    record_bytes: int
    """Approximate size of key and value of a record; used to plan disk space."""
    widths: Mapping[str, int] = {}
    """The bytes of a record's value, by stream, where all records of a stream have the same."""

    @abstractmethod
    def build(self, first: int, count: int) -> Mapping[str, Records]:
        """Records ``first`` … ``first + count − 1``, by stream name."""


class Workload(ABC):
    """What to compute, on which data, and what counts as a correct answer; independent of any engine.

    Generic code asks the workload and never guesses from a name, a column or an option.
    """

    name: ClassVar[str]
    """``family/workload``; an engine finds its program by this name."""
    title: ClassVar[str]
    kind: ClassVar[ResultKind]
    codec: ClassVar[Codec]
    """Where the input records carry their sequence number and event time."""
    inputs: ClassVar[tuple[InputStream, ...]]
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    """Names of the output streams; empty for the kind *none*."""
    key: ClassVar[tuple[str, ...]] = ()
    """The columns that identify a result."""
    parameters: ClassVar[type[BaseModel]]
    """A frozen, strict model: every parameter with its default, range and description."""
    late: ClassVar[str] = "event time is append time, so no record is late"
    """How a correct answer treats late records."""
    checks_answers: ClassVar[bool] = True
    """Whether results are compared with a correct answer; otherwise only counted and timed."""
    complete: ClassVar[bool] = True
    """Whether each row of the reference must have a result; otherwise it is not known which have one."""
    searched_as: ClassVar[Mapping[str, str]] = {}
    """Further names of values that a capacity search varies, such as the paper's own: the value, by the name."""
    users_program: ClassVar[bool] = False
    """Whether only a program of the user's computes it, so that no engine has a program for it."""
    folded: ClassVar[bool] = False
    """Whether a record of the output stands for any number of results (``unfold``)."""

    def bound(self, parameters: Mapping[str, Any]) -> Self:
        """The workload with these parameters, on which its streams may depend."""
        return self

    @abstractmethod
    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Dataset:
        """The records of a run with this load. Raises UsageError if a file given by the user is unusable."""

    def follows(self, name: str, value: float, parameters: Mapping[str, Any], rate_per_s: int) -> Mapping[str, str]:
        """The values that change along with this one in a capacity search."""
        return {}

    def reference_file(self, parameters: Mapping[str, Any]) -> Path | None:
        """A file of the user's with the reference answer, if there is one."""
        return None

    def files(self, parameters: Mapping[str, Any]) -> Sequence[Path]:
        """Files of the user's that the load reads; the manifest has their checksums."""
        return ()

    def program_data(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """What its programs need besides the parameters, such as weights; ``data`` in ``job.json``."""
        return {}

    def unfold(self, output: DataFrame, inputs: Sequence[Stream]) -> DataFrame:
        """A row for each result of a folded output: key, value, partition, offset, appended_ms."""
        return output

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        """Event time that must pass after the last input of a result until it is final."""
        return 0.0

    def pause_s(self, parameters: Mapping[str, Any]) -> float:
        """Seconds without a result that follow from the definition, such as until the next window ends."""
        return 0.0


class ReferenceWorkload(Workload):
    """A workload of the kind *one-to-one*, *filter* or *final-per-key*: the correct answer is a table of results."""

    @abstractmethod
    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """The correct answer; for a *filter*, the records that are kept.

        Each input has key, value, partition, offset, appended_ms, n_seq, intended_ns, partition_bit, and event_ms if
        the codec has it. The answer has the key columns, inputs (the number of records in the row), appended_max_ms,
        appended_mean_ms, intended_max_ns. If a record contributes to several rows, the answer also has new_inputs: the
        number of records that are in no earlier row, so that the backlog counts each record once. With ingested_max_ms,
        there is a processing-time latency; inputs have ingested_ms where the transport stamps it. With appended_min_ms
        and partitions (the partition bits of all inputs, or-ed together), a missing result can be declared lost before
        the output is quiet. All other columns are values, which must be equal. If a range of values is correct, the
        columns ``x_low`` and ``x_high`` replace ``x``; a row that is ``optional`` may be missing.
        """

    @abstractmethod
    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """Adds the key and value columns to the engine's output (``key``, ``value``)."""


class RunningWorkload(Workload):
    """A workload of the kind *running*: every result is the aggregate of the first ``n`` contributions to its key.

    Contributions to a key are ordered by (appended_ms, partition, offset).
    """

    counts_only: ClassVar[bool] = False
    """Whether a result has no value but ``n``, and what an input contributes depends on that input alone. Such a run
    can be evaluated slice by slice: what must be known of the slices before is a number for each key."""

    @abstractmethod
    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        """Adds the key and value columns, and ``n``, to the engine's output (``key``, ``value``)."""

    @abstractmethod
    def contributions(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        """The contributions of the inputs, one row each: the key columns, the columns of the input named in
        ``INPUT_STAMPS``, and those that ``aggregates`` reads.

        An input may contribute no row or several rows.
        """

    def aggregates(self, parameters: Mapping[str, Any]) -> Mapping[str, Column]:
        """Each value column as an aggregate over contributions: the first ``n`` or all of them."""
        return {}

    def possible(self, parameters: Mapping[str, Any]) -> Column | None:
        """Whether a result could be the aggregate of some ``n`` contributions to its key if their order is unknown.

        The columns are the result's values and, with the prefix ``final_``, the aggregates over all contributions.
        None: every result is possible.
        """
        return None


ANSWER_STAMPS = (
    "inputs",
    "new_inputs",
    "appended_min_ms",
    "appended_max_ms",
    "appended_mean_ms",
    "intended_max_ns",
    "ingested_max_ms",
    "partitions",
    "optional",
)
"""The columns of an answer that describe the inputs of a row, and whether it is required."""
INPUT_STAMPS = ("n_seq", "appended_ms", "partition", "offset", "intended_ns", "partition_bit")
"""The columns of an input that identify the record and its time."""
