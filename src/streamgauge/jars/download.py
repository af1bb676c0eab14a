"""Downloads locked jars into the cache. A file with a jar's name is always complete, with the locked checksum."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import queue
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import requests

from streamgauge.errors import EnvironmentProblem, StreamgaugeError, UsageError
from streamgauge.jars.cache import cached_path, has_locked_size, jars_dir
from streamgauge.jars.lockfile import Artifact

REPOSITORY_VARIABLE = "STREAMGAUGE_MAVEN_REPOSITORY"
_WORKERS = 8
_TRIES = 3
_BACKOFF_S = 0.5
_TIMEOUT_S = (10.0, 30.0)  # to connect, and between two chunks of the body
_CHUNK_BYTES = 1 << 16
_PART_SUFFIX = ".part"
_ABANDONED_S = 3600.0  # far longer than an active download may pause
_CANCEL_GRACE_S = 1.0
_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Progress:
    """Progress of a jar: ``cached`` and ``fetched`` are final; ``receiving`` restarts from 0 with each try."""

    artifact: Artifact
    state: Literal["cached", "receiving", "fetched"]
    received_bytes: int


OnProgress = Callable[[Progress], None]


def repository_address(given: str | None) -> str:
    """The Maven repository to use: the given one, else the environment variable, else the default of jgo.

    Raises UsageError when it is not an http(s) address.
    """
    address = given or os.environ.get(REPOSITORY_VARIABLE)
    if not address:
        from jgo.constants import MAVEN_CENTRAL_URL  # costs 0.2 s

        address = str(MAVEN_CENTRAL_URL)
    if not re.match(r"https?://[^/]", address):
        raise UsageError(
            "invalid address of a Maven repository",
            where="--repository" if given else REPOSITORY_VARIABLE,
            got=repr(without_credentials(address)),
            expected="http://… or https://…",
        )
    return address.rstrip("/")


def without_credentials(address: str) -> str:
    return re.sub(r"//[^/]*@", "//", address)


def fetch_artifacts(
    artifacts: Iterable[Artifact], on_progress: OnProgress | None = None, repository: str | None = None
) -> list[Path]:
    """Ensure that every jar is in the cache with the locked checksum; returns their paths.

    Cached files are verified too; no connection is made if all are correct. Raises EnvironmentProblem for the first
    jar that cannot be downloaded or stored; then, and on KeyboardInterrupt, it returns within about a second and leaves
    no incomplete file. ``on_progress`` is called from one thread at a time.
    """
    artifacts = list(artifacts)
    _Fetch(artifacts, on_progress or (lambda _: None), repository_address(repository)).run()
    return [cached_path(artifact) for artifact in artifacts]


class _Cancelled(Exception):
    """Another jar failed, or the user gave up."""


class _Transient(Exception):
    """Worth another try."""


class _Fetch:
    """One call of ``fetch_artifacts``.

    Uses daemon threads, not an executor: a thread that waits for a silent server must not delay Ctrl-C.
    """

    def __init__(self, artifacts: list[Artifact], on_progress: OnProgress, repository: str) -> None:
        self._todo: queue.SimpleQueue[Artifact] = queue.SimpleQueue()
        for artifact in artifacts:
            self._todo.put(artifact)
        self._on_progress = on_progress
        self._repository = repository
        self._mutex = threading.Lock()
        self._parts: list[Path] = []
        self._stop = threading.Event()
        self._ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._workers = min(_WORKERS, len(artifacts))

    def run(self) -> None:
        _remove_abandoned_parts()
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._workers)]
        try:
            for thread in threads:
                thread.start()
            for _ in threads:
                if error := self._ended.get():
                    raise error
        finally:
            self._stop.set()
            deadline = time.monotonic() + _CANCEL_GRACE_S
            for thread in threads:
                if thread.ident:
                    thread.join(max(0.0, deadline - time.monotonic()))
            with self._mutex:
                for part in self._parts:
                    part.unlink(missing_ok=True)

    def _work(self) -> None:
        error: Exception | None = None
        try:
            with requests.Session() as session:
                while not self._stop.is_set():
                    self._ensure(session, self._todo.get_nowait())
        except (queue.Empty, _Cancelled):
            pass
        except Exception as problem:
            error = problem
        finally:
            self._ended.put(error)

    def _ensure(self, session: requests.Session, artifact: Artifact) -> None:
        target = cached_path(artifact)
        try:
            if has_locked_size(artifact) and _sha256(target, self._stop) == artifact.sha256:
                self._report(artifact, "cached", artifact.size)
                return
            self._download(session, artifact, target)
        except OSError as error:
            raise _disk_problem(error, artifact) from error
        self._report(artifact, "fetched", artifact.size)

    def _download(self, session: requests.Session, artifact: Artifact, target: Path) -> None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for attempt in range(1, _TRIES + 1):
            try:
                handle, part = self._new_part(target)
                with os.fdopen(handle, "wb") as file:
                    self._receive(session, artifact, file)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(target)
                return
            except _Transient as error:
                if attempt == _TRIES:
                    raise self._problem(
                        "a jar could not be downloaded", artifact, f"{error} ({_TRIES} tries)"
                    ) from error
            if self._stop.wait(_BACKOFF_S * 2 ** (attempt - 1)):
                raise _Cancelled

    def _new_part(self, target: Path) -> tuple[int, Path]:
        """An open temporary file beside the target; ``run`` removes it unless it was renamed."""
        with self._mutex:
            if self._stop.is_set():
                raise _Cancelled
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_PART_SUFFIX)
            self._parts.append(Path(name))
        return handle, Path(name)

    def _receive(self, session: requests.Session, artifact: Artifact, file: BinaryIO) -> None:
        """Write the body to the file; returns only if size and checksum match the lock."""
        digest, received = hashlib.sha256(), 0
        for chunk in self._chunks(session, artifact):
            received += len(chunk)
            if received > artifact.size:
                break
            digest.update(chunk)
            file.write(chunk)
            self._report(artifact, "receiving", received)
        if received < artifact.size:
            raise _Transient(f"the download ended after {received} of {artifact.size} bytes")
        if received > artifact.size:
            raise self._problem(
                "a downloaded jar is not the locked one",
                artifact,
                f"more than {artifact.size} bytes",
                f"{artifact.size} bytes, sha256 {artifact.sha256}",
            )
        if digest.hexdigest() != artifact.sha256:
            raise self._problem(
                "a downloaded jar is not the locked one",
                artifact,
                f"sha256 {digest.hexdigest()}",
                f"sha256 {artifact.sha256}",
            )

    def _chunks(self, session: requests.Session, artifact: Artifact) -> Iterator[bytes]:
        """The body in chunks. Only network errors become _Transient; the caller's errors pass through."""
        try:
            response = session.get(
                f"{self._repository}/{artifact.repository_path}",
                stream=True,
                timeout=_TIMEOUT_S,
                headers={"Accept-Encoding": "identity"},
            )
        except requests.RequestException as error:
            raise _Transient(reason(error)) from error
        with response:
            if response.status_code in _TRANSIENT_STATUS:
                raise _Transient(f"HTTP {response.status_code} {response.reason}")
            if response.status_code != 200:
                raise self._problem(
                    "the repository refused a jar",
                    artifact,
                    f"HTTP {response.status_code} {response.reason}",
                    "HTTP 200",
                )
            body = response.iter_content(_CHUNK_BYTES)
            while True:
                try:
                    chunk = next(body, None)
                except requests.RequestException as error:
                    raise _Transient(reason(error)) from error
                if chunk is None:
                    return
                yield chunk

    def _report(self, artifact: Artifact, state: Literal["cached", "receiving", "fetched"], received: int) -> None:
        with self._mutex:
            if self._stop.is_set():
                raise _Cancelled
            self._on_progress(Progress(artifact, state, received))

    def _problem(self, what: str, artifact: Artifact, got: str, expected: str | None = None) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"{what}: {artifact.coordinates}",
            where=f"{without_credentials(self._repository)}/{artifact.repository_path}",
            got=got,
            expected=expected or f"{artifact.size} bytes, sha256 {artifact.sha256}",
            hint="run streamgauge fetch again, or use another repository: streamgauge fetch --repository URL",
        )


def reason(error: BaseException) -> str:
    """The innermost cause of a network error; the message of requests itself contains object addresses and URLs."""
    cause = error
    while nested := [
        inner for inner in (getattr(cause, "reason", None), *cause.args) if isinstance(inner, BaseException)
    ]:
        cause = nested[0]
    text = str(cause)
    if "[Errno" in text:
        text = text[text.index("[Errno") :].rstrip(")")
    return without_credentials(text) or type(cause).__name__


def _sha256(path: Path, stop: threading.Event) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            if stop.is_set():
                raise _Cancelled
            digest.update(chunk)
    return digest.hexdigest()


def _disk_problem(error: OSError, artifact: Artifact) -> StreamgaugeError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some space, or set STREAMGAUGE_CACHE to another directory, then: streamgauge fetch"
    else:
        hint = "set STREAMGAUGE_CACHE to a writable directory, then: streamgauge fetch"
    return EnvironmentProblem(
        f"a jar could not be stored: {artifact.coordinates}",
        where=jars_dir(),
        got=error.strerror or str(error),
        expected=f"a writable directory with {artifact.size} bytes of space",
        hint=hint,
    )


def _remove_abandoned_parts() -> None:
    """Remove the temporary files of killed processes. Those of active downloads have been written to recently."""
    oldest = time.time() - _ABANDONED_S
    for part in jars_dir().glob(f"*/*{_PART_SUFFIX}"):
        with contextlib.suppress(OSError):
            if part.stat().st_mtime < oldest:
                part.unlink()
