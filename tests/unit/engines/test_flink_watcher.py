"""How the watcher interprets the answers of a JobManager's REST API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from streamgauge.engines.flink.program import Cluster, Failed, await_ready, root_of, watch

JOB = {
    "transport": "kafka",
    "inputs": {"flow": "a.flow", "speed": "a.speed"},
    "partitions": 2,
    "options": {"taskmanagers": 2},
}


class Answers:
    """Scripted answers by path; the last one of each path is repeated."""

    def __init__(self) -> None:
        self.by_path: dict[str, list[Any]] = {}
        self.address = ""

    def say(self, path: str, *answers: Any) -> None:
        self.by_path[path] = list(answers)

    def next(self, path: str) -> Any:
        answers = self.by_path.get(path, [None])
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
def answers() -> Iterator[Answers]:
    canned = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = canned.next(self.path)
            content = json.dumps(answer).encode()
            self.send_response(503 if answer is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        canned.address = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield canned
        server.shutdown()
        thread.join()


def job_is(state: str, running: int = 4) -> dict[str, Any]:
    return {"jobs": [{"jid": "j", "state": state, "tasks": {"running": running, "total": 4}}]}


def failures(*entries: tuple[int, str]) -> dict[str, Any]:
    return {"exceptionHistory": {"entries": [{"timestamp": when, "stacktrace": text} for when, text in entries]}}


def registered(*slots: int) -> dict[str, Any]:
    return {"taskmanagers": [{"slotsNumber": number} for number in slots]}


def metrics(*partitions: str) -> list[dict[str, str]]:
    return [{"id": f"0.Source__x.KafkaSourceReader.topic.{where}.currentOffset"} for where in partitions]


ALL_HELD = metrics("a_flow.partition.0", "a_flow.partition.1", "a_speed.partition.0", "a_speed.partition.1")


@pytest.fixture
def usable(answers: Answers) -> Answers:
    answers.say("/jobs/overview", job_is("RUNNING"))
    answers.say("/jobs/j/exceptions", failures())
    answers.say("/taskmanagers", registered(1, 1))
    answers.say("/jobs/j", {"vertices": [{"id": "v"}]})
    answers.say("/jobs/j/vertices/v/metrics", ALL_HELD)
    return answers


def looks(answers: Answers) -> int:
    """How often the watcher polls before it reports that the job is ready."""
    count = 0

    class Counting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal count
            count += 1
            return count > 20

    assert await_ready(Cluster(answers.address), JOB, Counting())
    return count


def test_ready_when_every_task_runs_and_every_partition_is_assigned(usable: Answers) -> None:
    assert looks(usable) == 1


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/jobs/overview", None),
        ("/jobs/overview", {"jobs": []}),
        ("/jobs/overview", job_is("CREATED", running=0)),
        ("/jobs/overview", job_is("RUNNING", running=3)),
        ("/taskmanagers", registered(1)),
        ("/taskmanagers", registered(1, 0)),
        ("/jobs/j/vertices/v/metrics", ALL_HELD[:3]),
    ],
)
def test_waits_until_nothing_is_missing(usable: Answers, path: str, first: Any) -> None:
    usable.say(path, first, *usable.by_path[path])
    assert looks(usable) == 2


def test_a_job_that_fails_during_startup_is_not_waited_for(usable: Answers) -> None:
    usable.say("/jobs/overview", job_is("RESTARTING", running=0))
    usable.say("/jobs/j/exceptions", failures((7, "java.lang.Exception: outer\nCaused by: a.B: no such topic\n\tat x")))
    with pytest.raises(Failed, match=r"^a\.B: no such topic$"):
        await_ready(Cluster(usable.address), JOB, threading.Event())


class NoPause(threading.Event):
    """Set after the given number of looks at the job, without waiting between them."""

    def __init__(self, looks_at_job: int) -> None:
        super().__init__()
        self._looks = 4 * looks_at_job

    def wait(self, timeout: float | None = None) -> bool:
        self._looks -= 1
        return self._looks < 0


@pytest.mark.parametrize("state", ["FAILED", "FINISHED", "CANCELED"])
def test_a_job_that_is_over_has_failed(usable: Answers, state: str) -> None:
    usable.say("/jobs/overview", job_is("RUNNING"), job_is(state, running=0))
    usable.say("/jobs/j/exceptions", failures((7, "a.B: out of luck\n\tat x")))
    with pytest.raises(Failed, match=f"{state}: a.B: out of luck"):
        watch(Cluster(usable.address), JOB, NoPause(5))


def test_a_job_manager_that_is_gone_has_failed(usable: Answers) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        address = f"127.0.0.1:{closed.server_address[1]}"
    with pytest.raises(Failed, match="JobManager is gone"):
        watch(Cluster(address), JOB, NoPause(5))


def test_an_interruption_is_reported_once(usable: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    usable.say("/jobs/overview", job_is("RUNNING"), job_is("RESTARTING", 0), job_is("RESTARTING", 0), job_is("RUNNING"))
    usable.say(
        "/jobs/j/exceptions",
        failures(),
        failures((1, "first")),
        failures((2, "second"), (1, "first")),
        failures((2, "second"), (1, "first")),
        failures((9, "third"), (2, "second"), (1, "first")),
    )
    watch(Cluster(usable.address), JOB, NoPause(6))
    messages = [json.loads(line)["message"] for line in capsys.readouterr().out.splitlines()]
    assert messages == ["the job was interrupted: first", "the job was interrupted: third"]


def test_queues_know_themselves_what_was_read(usable: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    job = {**JOB, "transport": "queue"}
    assert await_ready(Cluster(usable.address), job, threading.Event())
    watch(Cluster(usable.address), job, NoPause(5))
    assert "progress" not in capsys.readouterr().out


def test_reports_the_records_read_from_all_partitions(usable: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    names = [metric["id"] for metric in ALL_HELD]
    asked = f"/jobs/j/vertices/v/metrics?get={','.join(names)}"
    usable.say(
        asked,
        [{"id": name, "value": "-1"} for name in names],
        [{"id": name, "value": "9"} for name in names[:3]],  # one offset is unknown: nothing is reported
        [{"id": name, "value": str(offset)} for offset, name in enumerate(names, 9)],
    )
    usable.say("/jobs/j/vertices/v/metrics", ALL_HELD[:3], ALL_HELD)
    # Two looks at the job until all partitions are assigned; three looks at what was read follow each.
    watch(Cluster(usable.address), JOB, NoPause(2))
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["consumed"] for event in events] == [0, 10 + 11 + 12 + 13]
    assert {event["event"] for event in events} == {"progress"}
    by_topic = events[-1]["offsets"]
    assert sorted(offset for partitions in by_topic.values() for offset in partitions.values()) == [10, 11, 12, 13]
    assert all(partitions.keys() == {"0", "1"} for partitions in by_topic.values())


def test_many_partitions_are_queried_in_requests_short_enough_for_flink(answers: Answers) -> None:
    names = [f"0.Source__x.KafkaSourceReader.topic.a_flow.partition.{number}.currentOffset" for number in range(45)]
    for part in (names[:20], names[20:40], names[40:]):
        answers.say(f"/v?get={','.join(part)}", [{"id": name, "value": "9"} for name in part])
    offsets = Cluster(answers.address).offsets({("a_flow", name): ("/v", name) for name in names})
    assert offsets == {"a_flow": dict.fromkeys(names, 10)}


def test_an_error_response_does_not_end_the_job(usable: Answers) -> None:
    usable.say("/jobs/overview", None)
    watch(Cluster(usable.address), JOB, NoPause(3))


def test_the_root_is_the_innermost_cause() -> None:
    trace = "a.Outer: all\n\tat a.b(c)\nCaused by: a.Middle\n\t... 3 more\nCaused by: a.Inner: why\nand how\n\tat x\n"
    assert root_of(trace) == "a.Inner: why\nand how"
    assert root_of("a.Only: this\n\tat x\n") == "a.Only: this"
