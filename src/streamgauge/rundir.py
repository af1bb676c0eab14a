"""The run directory: its files, their schemas, version and history. The only reader and writer of its layout.

Format history
--------------
1   manifest.json, outcome.json, samples/*.jsonl, ledger/worker-N.parquet, recorded/<stream>/*.parquet,
    measures/*.parquet, logs/<role>.log, summary.json, report.html

``manifest.json``   what was requested and what it ran on; written before the load starts
``outcome.json``    what happened: times, offsets, ended processes; written when the engine has stopped
``samples/``        one JSON object per line: ``resources``, ``machine``, ``clock``, ``positions``, and ``visible`` if
                    the engine uses or may use transactions
``ledger/``         one row per slice that a load worker sent: ``first`` (n_seq), ``count``, ``sent_ns``,
                    ``acked_n`` (the record whose acknowledgement was stamped), ``acked_ns`` (0: none), ``errors``
``recorded/``       the streams: key, value, partition, offset, appended_ms; inputs also n_seq
``script.py``       the user's script, if any (``job.py`` in earlier versions)
``reference.py``    a script that was given later, only for its reference answer; ``reference-from.json``: its original
                    path
``slices/``         of a run that is evaluated while it goes on: a directory for each slice
``measures/``       results of the evaluation for the report: ``seconds``, ``latency``, and since later ``heatmap``
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import shutil
from itertools import groupby
from pathlib import Path

from streamgauge import defaults, stored
from streamgauge.errors import UsageError
from streamgauge.model import Script, campaign, capacity, scale
from streamgauge.model import manifest as manifests
from streamgauge.model.manifest import FORMAT, Manifest
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import Sample, SampleKind
from streamgauge.model.slices import SliceFigures
from streamgauge.model.summary import Summary
from streamgauge.stored import write_json as write_json

LEDGER_COLUMNS = ("first", "count", "sent_ns", "acked_n", "acked_ns", "errors")


class ReferenceFrom(stored.Stored):
    path: str


CAMPAIGNS = {
    capacity.NAME: "the directory of a capacity search",
    scale.NAME: "the directory of a scale: several capacity searches",
    campaign.REPRODUCTION_NAME: "the directory of a reproduction",
    campaign.SET_NAME: "the directory of several runs",
}
"""What holds several runs, each in a directory of its own, by the file that it has."""

PARTS = ("samples", "ledger", "recorded", "measures", "logs")
FILES = ("manifest.json", "outcome.json", "summary.json", "report.html", "script.py")


def shared_cores(manifest: Manifest, outcome: Outcome) -> bool | None:
    """Whether the engine was observed to share cores with transport or load; None if unknown.

    Earlier versions did not observe it: their manifests have an assumption.
    """
    return outcome.shared_cores if outcome.looked_at_cores else manifest.shared_cores


def check_free(path: Path, name: str = "run directory", resumed: str = "") -> None:
    """Raises UsageError when nothing can be written there: nothing is ever overwritten. Writes nothing.

    ``name`` is what the directory is called; ``resumed`` is the file with which it could be resumed.
    """
    expected = "a new or empty directory" + (f", or one with {resumed}" if resumed else "")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(
            f"the {name} is not empty" if path.is_dir() else f"the {name} is a file",
            where=path,
            expected=expected,
            hint="another --out" + (", or remove it yourself" if path.is_dir() else ""),
        )
    place = next(parent for parent in (path.absolute(), *path.absolute().parents) if os.path.lexists(parent))
    if not place.exists():
        why = f"{place} is a symbolic link to {place.readlink()}, which does not exist"
    elif not place.is_dir():
        why = f"{place} is a file"
    elif not os.access(place, os.W_OK | os.X_OK):
        why = f"no permission to write in {place}"
    elif not os.statvfs(place).f_blocks:
        why = f"no files can be stored in {place}"  # /proc, /sys
    else:
        return
    raise UsageError(
        f"the {name} cannot be created",
        where=path,
        got=why,
        expected="a directory that you can write to",
        hint="another --out",
    )


class RunDir:
    """The paths of one run, and access to its small files."""

    def __init__(self, path: Path, *, created: bool = False) -> None:
        """``created``: whether this process created the directory."""
        self.path = path
        self._created = created

    @classmethod
    def create(cls, path: Path) -> RunDir:
        """Make a fresh run directory. Raises UsageError as ``check_free`` does."""
        check_free(path)
        created = not path.exists()
        try:
            for part in PARTS:
                (path / part).mkdir(parents=True, exist_ok=True)
        except (NotADirectoryError, FileExistsError) as problem:
            raise UsageError("cannot create the run directory", where=path, got=problem.strerror) from None
        return cls(path, created=created)

    def discard(self) -> None:
        """Remove what the run created: its files, and the directory unless it existed before.

        Symbolic links are not followed, and other files are kept.
        """
        if self.path.is_symlink():
            return
        for part in (self.path / name for name in (*PARTS, "slices")):
            if not part.is_symlink():
                shutil.rmtree(part, ignore_errors=True)
        for file in (self.path / name for name in FILES):
            file.unlink(missing_ok=True)
        if self._created:
            with contextlib.suppress(OSError):
                self.path.rmdir()

    @classmethod
    def open(cls, path: Path) -> RunDir:
        """Open a run directory in a format that this version can read."""
        run = cls(path)
        if not run.manifest_path.is_file():
            several = next((words for name, words in CAMPAIGNS.items() if (path / name).is_file()), None)
            similar = _similar(path)
            raise UsageError(
                "not a run directory" + (f"; did you mean {similar}?" if similar else ""),
                where=path,
                got=several or _what_is_at(path),
                expected="a directory that `streamgauge run` wrote",
                hint=_next_step(path) if several else f"streamgauge run {defaults.SCENARIO}",
            )
        stored.read_format(run.manifest_path, FORMAT, name="the run directory")
        run.manifest()
        return run

    manifest_path = property(lambda self: self.path / "manifest.json")
    outcome_path = property(lambda self: self.path / "outcome.json")
    summary_path = property(lambda self: self.path / "summary.json")
    report_path = property(lambda self: self.path / "report.html")
    recorded_path = property(lambda self: self.path / "recorded")
    slice_bounds_path = property(lambda self: self.path / "bounds.json")
    slice_figures_path = property(lambda self: self.path / "figures.json")
    carried_path = property(lambda self: self.path / "carried")
    """These three in the directory of a slice."""

    reference_path = property(lambda self: self.path / "reference.py")
    reference_from_path = property(lambda self: self.path / "reference-from.json")

    @property
    def script_path(self) -> Path:
        """``job.py`` in earlier versions."""
        old = self.path / "job.py"
        return old if old.is_file() else self.path / "script.py"

    def log(self, role: str) -> Path:
        return self.path / "logs" / f"{role}.log"

    def ledger(self, worker: int) -> Path:
        return self.path / "ledger" / f"worker-{worker}.parquet"

    def ledgers(self) -> list[Path]:
        """Those of all workers that are complete."""
        return sorted((self.path / "ledger").glob("worker-*.parquet"))

    def recorded(self, stream: str) -> Path:
        return Path(self.recorded_path / stream)

    def slice_(self, number: int) -> RunDir:
        """The directory of a slice: it holds the slice's records like that of a run, until they are evaluated."""
        return RunDir(self.path / "slices" / f"{number:04}")

    def slices(self) -> list[SliceFigures]:
        """The figures of the slices that were evaluated, in order; none for a run that was evaluated whole."""
        figures: list[SliceFigures] = []
        while (path := self.slice_(len(figures) + 1).slice_figures_path).is_file():
            figures.append(_read_file(path, SliceFigures))
        return figures

    def measures(self, name: str) -> Path:
        return self.path / "measures" / f"{name}.parquet"

    def manifest(self) -> Manifest:
        """Raises UsageError if it is missing or damaged, like the next two."""
        return _read_file(self.manifest_path, Manifest, upgrade=manifests.upgrade)

    def outcome(self) -> Outcome:
        return _read_file(self.outcome_path, Outcome)

    def summary(self) -> Summary:
        command = f"streamgauge evaluate {shlex.quote(str(self.path))}"
        return _read_file(self.summary_path, Summary, hint=f"{command}, which regenerates it")

    def write_manifest(self, manifest: Manifest) -> None:
        write_json(self.manifest_path, manifest.as_json())

    def write_outcome(self, outcome: Outcome) -> None:
        write_json(self.outcome_path, outcome.as_json())

    def write_summary(self, summary: Summary) -> None:
        write_json(self.summary_path, summary.as_json())

    def keep_script(self, script: Script) -> None:
        """Copy the script. Raises UsageError if the file has changed since the run was planned."""
        content = Path(script.path).read_bytes()
        if (sha256 := hashlib.sha256(content).hexdigest()) != script.sha256:
            raise UsageError(
                "the script changed after the run was planned",
                where=script.path,
                got=f"sha256 {sha256}",
                expected=script.sha256,
                hint="run it again",
            )
        self.script_path.write_bytes(content)

    def keep_reference(self, file: Path) -> None:
        """Copy a file whose reference replaces the script's, and record its original path."""
        self.reference_path.write_bytes(file.read_bytes())
        write_json(self.reference_from_path, ReferenceFrom(path=str(file.absolute())).as_json())

    def reference_from(self) -> Path | None:
        """The original path of the file that ``keep_reference`` copied. Raises UsageError if the record is damaged."""
        if not self.reference_from_path.is_file():
            return None
        return Path(_read_file(self.reference_from_path, ReferenceFrom).path)

    def append_samples(self, *samples: Sample) -> None:
        """Append each sample to the file of its kind."""
        for kind, of_kind in groupby(samples, key=lambda sample: sample.kind):
            with self._samples(kind).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(sample.as_json(), separators=(",", ":")) + "\n" for sample in of_kind)

    def samples(self, kind: type[SampleKind]) -> list[SampleKind]:
        """All samples of a kind, oldest first; a truncated last line (from a kill) is skipped.

        Raises UsageError if the file is damaged in any other way.
        """
        path = self._samples(kind.kind)
        if not path.exists():
            return []
        *lines, _ = path.read_bytes().split(b"\n")
        return [stored.parse(path, line, kind, where=f"line {number}") for number, line in enumerate(lines, start=1)]

    def _samples(self, kind: str) -> Path:
        return self.path / "samples" / f"{kind}.jsonl"


def _next_step(campaign: Path) -> str:
    """What to do with the directory of several runs."""
    page = campaign / "report.html"
    return f"see {page}" if page.is_file() else "the command that wrote it, with the same --out, to resume it"


def _what_is_at(path: Path) -> str:
    return "no manifest.json" if path.is_dir() else "a file" if path.is_file() else "no such directory"


def _similar(path: Path) -> Path | None:
    """A run directory that may have been meant: the one that holds this file, or one with a similar name beside it."""
    if path.is_file():
        return path.parent if RunDir(path.parent).manifest_path.is_file() else None
    beside = path.parent
    if path.exists() or not beside.is_dir():
        return None
    names = [one.name for one in beside.iterdir() if RunDir(one).manifest_path.is_file()]
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return beside / near[0] if near else None


def _read_file(
    path: Path, kind: type[stored.Kind], hint: str | None = None, upgrade: stored.Upgrade | None = None
) -> stored.Kind:
    try:
        return stored.read(path, kind, hint, upgrade)
    except FileNotFoundError:
        raise UsageError("a file is missing in the run directory", where=path, hint=hint or "run it again") from None
