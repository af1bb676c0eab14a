from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from fake_repository import Answer, Repository, send_whole

from streamgauge import jars
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.jars import Lock
from streamgauge.jars.download import Progress

FETCH_PROGRAM = """
import sys
from streamgauge import jars
show = lambda progress: print(progress.state, progress.artifact.coordinates, flush=True)
jars.fetch(["first"], show, lock=jars.Lock.loads(sys.stdin.read()))
"""


def files_in(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file()}


def start_fetch(lock: Lock) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", FETCH_PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    process.stdin.write(lock.dumps())
    process.stdin.close()
    process.stdin = None
    return process


def half(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """A connection that drops in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def half_that_looks_whole(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    send_whole(handler, body[: len(body) // 2])


def test_fetched_jars_are_a_class_path(repository: Repository, lock: Lock, cache: Path) -> None:
    assert len(jars.missing(["first", "second"], lock=lock)) == 4
    seen: list[Progress] = []
    fetched = jars.fetch(["first", "second"], seen.append, lock=lock)
    assert [path.read_bytes() for path in fetched] == [
        repository.bodies[a.repository_path] for a in lock.artifacts(["first", "second"])
    ]
    assert jars.missing(["first", "second"], lock=lock) == []
    assert jars.paths("second", lock=lock) == fetched[1:]
    assert files_in(cache) == {f"jar-{n}-1.{n}.jar" for n in range(4)}
    assert [p.state for p in seen].count("fetched") == 4
    assert sorted(repository.requested) == sorted(set(repository.requested)), "a shared jar is fetched once"


def test_downloads_run_side_by_side(repository: Repository, lock: Lock) -> None:
    all_four = threading.Barrier(4)

    def wait_for_the_others(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        all_four.wait(timeout=60)
        send_whole(handler, body)

    for artifact in lock.artifacts(["first", "second"]):
        repository.answer(artifact, wait_for_the_others)
    assert len(jars.fetch(["first", "second"], lock=lock)) == 4


def test_a_missing_jar_names_the_next_command(lock: Lock, cache: Path) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        jars.paths("first", lock=lock)
    assert caught.value.hint == "streamgauge fetch first"
    assert "2 of 2" in caught.value.what
    assert caught.value.exit_code == 5


def test_no_request_is_made_when_nothing_is_missing(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.fetch(["first"], lock=lock)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("STREAMGAUGE_MAVEN_REPOSITORY", f"http://127.0.0.1:{server.getsockname()[1]}")
    states: list[str] = []
    jars.fetch(["first"], lambda progress: states.append(progress.state), lock=lock)
    assert states == ["cached", "cached"]


@pytest.mark.parametrize("damage", [b"", b"\xff" * 200_003], ids=["emptied", "same size, other bytes"])
def test_a_damaged_cached_jar_is_fetched_again(repository: Repository, lock: Lock, damage: bytes) -> None:
    path = jars.fetch(["first"], lock=lock)[0]
    path.write_bytes(damage)
    assert bool(jars.missing(["first"], lock=lock)) == (damage == b"")
    states: list[str] = []
    jars.fetch(["first"], lambda progress: states.append(progress.state), lock=lock)
    assert path.read_bytes() == repository.bodies[lock.group("first")[0].repository_path]
    assert (states.count("fetched"), states.count("cached")) == (1, 1)


def test_wrong_bytes_are_refused(repository: Repository, lock: Lock, cache: Path) -> None:
    artifact = lock.group("first")[0]
    repository.answer(artifact, lambda handler, body: send_whole(handler, body[::-1]))
    with pytest.raises(EnvironmentProblem, match="not the locked one") as caught:
        jars.fetch(["first"], lock=lock)
    assert artifact.coordinates in caught.value.what
    assert artifact.sha256 in str(caught.value.expected)
    assert "sha256" in str(caught.value.got)
    assert repository.requested.count(artifact.repository_path) == 1, "retrying is pointless"
    assert artifact.filename not in files_in(cache)
    assert not list(cache.rglob(".*"))


def test_a_longer_body_is_refused_early(repository: Repository, lock: Lock, cache: Path) -> None:
    artifact, let_go = lock.group("first")[0], threading.Event()

    def endless(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(body + bytes(1_000_000))
        let_go.wait(timeout=120)

    repository.answer(artifact, endless)
    with pytest.raises(EnvironmentProblem, match="not the locked one"):
        jars.fetch(["first"], lock=lock)
    let_go.set()
    assert artifact.filename not in files_in(cache)
    assert not list(cache.rglob(".*"))


@pytest.mark.parametrize("answer", [half, half_that_looks_whole])
def test_an_incomplete_body_is_never_stored(repository: Repository, lock: Lock, cache: Path, answer: Answer) -> None:
    artifact = lock.group("first")[0]
    repository.answer(artifact, answer)
    with pytest.raises(EnvironmentProblem, match="could not be downloaded") as caught:
        jars.fetch(["first"], lock=lock)
    assert "3 tries" in str(caught.value.got)
    assert repository.requested.count(artifact.repository_path) == 3
    assert artifact.filename not in files_in(cache)
    assert not list(cache.rglob(".*"))


def test_a_transient_failure_is_retried(repository: Repository, lock: Lock) -> None:
    first, second = lock.group("first")
    answers = {first: [half, send_whole], second: [lambda handler, _: handler.send_error(503), send_whole]}
    for artifact, sequence in answers.items():
        steps = iter(sequence)
        repository.answer(artifact, lambda handler, body, steps=steps: next(steps)(handler, body))
    jars.fetch(["first"], lock=lock)
    assert jars.missing(["first"], lock=lock) == []


def test_a_jar_that_the_repository_lacks(repository: Repository, lock: Lock, cache: Path) -> None:
    artifact = lock.group("first")[1]
    del repository.bodies[artifact.repository_path]
    with pytest.raises(EnvironmentProblem) as caught:
        jars.fetch(["first"], lock=lock)
    assert artifact.coordinates in caught.value.what
    assert "HTTP 404" in str(caught.value.got)
    assert "streamgauge fetch" in str(caught.value.hint)
    assert repository.requested.count(artifact.repository_path) == 1
    assert not list(cache.rglob(".*"))


def test_a_refused_connection_hides_the_password(lock: Lock, cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(EnvironmentProblem, match="could not be downloaded") as caught:
        jars.fetch(["first"], repository=f"http://user:s3cret@127.0.0.1:{port}/m2", lock=lock)
    assert os.strerror(errno.ECONNREFUSED) in str(caught.value.got)
    assert "s3cret" not in str(caught.value)
    assert files_in(cache) == set()


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/m2", "mirror.example/m2", "https://"])
def test_a_malformed_address_is_a_usage_error(lock: Lock, address: str) -> None:
    with pytest.raises(UsageError, match="--repository"):
        jars.fetch(["first"], repository=address, lock=lock)


def test_an_unknown_group_is_a_usage_error(lock: Lock) -> None:
    with pytest.raises(UsageError, match="unknown jar group"):
        jars.fetch(["first", "thrid"], lock=lock)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that one jar fits in, but not two."""
    point = tmp_path / "small"
    point.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(point)]
    if not mount or not umount or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield point
    subprocess.run([umount, str(point)], check=True)


def test_a_full_disk(lock: Lock, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(small_disk))
    check_full_disk(lock, small_disk)


def test_a_disk_that_is_full_only_at_fsync(lock: Lock, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    check_full_disk(lock, cache)
    assert files_in(cache) == set()


def check_full_disk(lock: Lock, folder: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="could not be stored") as caught:
        jars.fetch(["first"], lock=lock)
    assert caught.value.got == os.strerror(errno.ENOSPC)
    assert "STREAMGAUGE_CACHE" in str(caught.value.hint)
    assert not list(folder.rglob("*.part"))


def test_a_cache_that_cannot_be_created(lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentProblem, match="could not be stored") as caught:
        jars.fetch(["first"], lock=lock)
    assert "writable directory" in str(caught.value.hint)


def test_two_processes_fetch_the_same_jars(repository: Repository, lock: Lock, cache: Path) -> None:
    def whole_when_both_ask() -> Answer:
        both = threading.Barrier(2)

        def answer(handler: BaseHTTPRequestHandler, body: bytes) -> None:
            both.wait(timeout=60)
            send_whole(handler, body)

        return answer

    for artifact in lock.group("first"):
        repository.answer(artifact, whole_when_both_ask())
    for process in [start_fetch(lock), start_fetch(lock)]:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
    assert files_in(cache) == {artifact.filename for artifact in lock.group("first")}
    jars.fetch(["first"], lambda progress: pytest.fail() if progress.state != "cached" else None, lock=lock)


def test_ctrl_c_does_not_wait_for_a_silent_server(repository: Repository, lock: Lock, cache: Path) -> None:
    let_go = threading.Event()

    def half_then_silence(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        half(handler, body)
        let_go.wait(timeout=120)

    for artifact in lock.group("first"):
        repository.answer(artifact, half_then_silence)
    process = start_fetch(lock)
    try:
        assert process.stdout
        begun = {process.stdout.readline() for _ in lock.group("first")}
        assert begun == {f"receiving {artifact.coordinates}\n" for artifact in lock.group("first")}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=25)  # a download takes 30 s to time out
    finally:
        let_go.set()
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGINT
    assert files_in(cache) == set()


def test_files_of_a_killed_process_are_removed(lock: Lock, cache: Path) -> None:
    (cache / "org.example").mkdir(parents=True)
    abandoned = cache / "org.example" / ".jar-0-1.0.jar.abc.part"
    of_a_living_process = cache / "org.example" / ".jar-0-1.0.jar.def.part"
    abandoned.touch()
    of_a_living_process.touch()
    os.utime(abandoned, (0, 0))
    jars.fetch(["first"], lock=lock)
    assert not abandoned.exists()
    assert of_a_living_process.exists()
