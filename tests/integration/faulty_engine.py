"""A system under test for StreamBench's workloads and ``clicks/windowed`` that makes one mistake.

``faulty_engine.py MISTAKE RECORDS job.json``: reads that many records, computes all results, makes the mistake
(``MISTAKES``), publishes the results and waits until stopped. It never publishes before it has read everything, so that
a mistake affects the same results in every run.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

Result = tuple[bytes | None, bytes | None]
Results = list[Result]
Records = list[Any]


def emit(event: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def encoded(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def right_results(job: dict[str, Any], records: Records) -> Results:
    parameters = job["parameters"]
    programs: dict[str, Callable[[Records, dict[str, Any]], Iterable[Result]]] = {
        "streambench/identity": identity,
        "streambench/sample": sample,
        "streambench/projection": projection,
        "streambench/grep": grep,
        "streambench/wordcount": wordcount,
        "streambench/distinctcount": distinctcount,
        "streambench/statistics": statistics,
        "streambench/sink": lambda *_: (),
        "clicks/windowed": windowed,
    }
    return list(programs[job["workload"]](records, parameters))


def identity(records: Records, _: dict[str, Any]) -> Iterable[Result]:
    return ((record.key(), record.value()) for record in records)


def is_sampled(record: Any, percent: int) -> bool:
    return (int(record.key()) % 2**31 * 2_654_435_761) % 2**32 < percent * 2**32 // 100


def sample(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    percent = parameters["sample_percent"]
    return ((record.key(), record.value()) for record in records if is_sampled(record, percent))


def projection(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    return ((record.key(), record.value().split(b"\t")[parameters["field"]]) for record in records)


def grep(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    pattern = parameters["pattern"].encode()
    return ((record.key(), record.value()) for record in records if pattern in record.value())


def wordcount(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    counts: dict[str, int] = {}
    for record in records:
        for word in record.value().decode().split("\t")[parameters["field"]].split(" "):
            if word:
                counts[word] = counts.get(word, 0) + 1
                yield word.encode(), encoded(word=word, n=counts[word])


def distinctcount(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    known: set[bytes] = set()
    for record in records:
        value = record.value().split(b"\t")[parameters["field"]]
        if value not in known:
            known.add(value)
            yield b"distinct", encoded(n=len(known))


def statistics(records: Records, parameters: dict[str, Any]) -> Iterable[Result]:
    numbers: list[int] = []
    low = high = total = 0
    for record in records:
        number = int(record.value().split(b" ")[parameters["field"]])
        low, high = (min(low, number), max(high, number)) if numbers else (number, number)
        numbers.append(number)
        total += number
        n = len(numbers)
        yield b"statistics", encoded(n=n, min=low, max=high, sum=total, mean=total / n)


def windowed(records: Records, parameters: dict[str, Any], *, with_late: bool = False) -> Iterable[Result]:
    counts: dict[tuple[bytes, int], int] = {}
    newest: dict[int, int] = {}
    for record in records:
        event_ms, page = int(record.value().split(b"\t")[1]), record.value().split(b"\t")[2]
        end_ms = (event_ms // 1000 + 1) * 1000
        newest_ms = newest.get(record.partition(), 0)
        if with_late or newest_ms < end_ms + parameters["out_of_order_ms"]:
            counts[page, end_ms] = counts.get((page, end_ms), 0) + 1
        newest[record.partition()] = max(newest_ms, event_ms)
    for (page, end_ms), n in counts.items():
        yield page, encoded(page=page.decode(), window_end_ms=end_ms, n=n)


def fields_of(result: Result) -> dict[str, Any]:
    assert result[1] is not None
    fields: dict[str, Any] = json.loads(result[1])
    return fields


def changed(result: Result, **changes: Callable[[Any], Any]) -> Result:
    """The result with these fields changed."""
    fields = fields_of(result)
    return result[0], encoded(**{**fields, **{name: change(fields[name]) for name, change in changes.items()}})


def last_of_most_frequent(results: Results) -> int:
    """The index of the last result of the key with the most results."""
    keys = [key for key, _ in results]
    most = max(dict.fromkeys(keys), key=keys.count)
    return len(keys) - 1 - keys[::-1].index(most)


def replaced(results: Results, place: int, *by: Result) -> Results:
    return [*results[:place], *by, *results[place + 1 :]]


def low_at_end(results: Results) -> Results:
    """The last count of one word is never published."""
    return replaced(results, last_of_most_frequent(results))


def low_n_at_end(results: Results) -> Results:
    place = last_of_most_frequent(results)
    return replaced(results, place, changed(results[place], n=lambda n: n - 1))


def high_n_at_end(results: Results) -> Results:
    place = last_of_most_frequent(results)
    return replaced(results, place, changed(results[place], n=lambda n: n + 1))


def high_n_in_the_middle(results: Results) -> Results:
    """An additional result with a count that is too high."""
    middle = len(results) // 2
    return replaced(results, middle, changed(results[middle], n=lambda n: n + 10**6), results[middle])


def backwards(results: Results) -> Results:
    """One count is followed by the previous count, and then by the correct one."""
    place = last_of_most_frequent(results)
    return replaced(results, place, results[place], changed(results[place], n=lambda n: n - 1), results[place])


def backwards_at_end(results: Results) -> Results:
    place = last_of_most_frequent(results)
    return replaced(results, place, results[place], changed(results[place], n=lambda n: n - 1))


def twice(results: Results) -> Results:
    middle = len(results) // 2
    return replaced(results, middle, results[middle], results[middle])


def wrong_word(results: Results) -> Results:
    """An additional result for a word that does not occur."""
    middle = len(results) // 2
    return replaced(results, middle, (b"nosuchword", encoded(word="nosuchword", n=1)), results[middle])


def another_key(results: Results) -> Results:
    """An additional result under a key that no record has."""
    return [*results, (b"987654321", results[0][1])]


def padded_key(results: Results) -> Results:
    """The same number, but not the same key."""
    key, value = results[0]
    assert key is not None
    return replaced(results, 0, (b"0" + key, value))


def one_missing(results: Results) -> Results:
    return results[:3] + results[4:]


def wrong_value(results: Results) -> Results:
    key, value = results[3]
    assert value is not None
    return replaced(results, 3, (key, value[:-1] + b"~"))


def values_swapped(results: Results) -> Results:
    """Each of two results has the other's value."""
    (one, first), (other, second) = results[3:5]
    assert first != second
    return [*results[:3], (one, second), (other, first), *results[5:]]


def more(*extra: Result) -> Callable[[Results], Results]:
    return lambda results: [*results, *extra]


def of_last(**changes: Callable[[Any], Any]) -> Callable[[Results], Results]:
    return lambda results: [*results[:-1], changed(results[-1], **changes)]


def of_middle(**changes: Callable[[Any], Any]) -> Callable[[Results], Results]:
    def make(results: Results) -> Results:
        middle = len(results) // 2
        return replaced(results, middle, changed(results[middle], **changes))

    return make


MISTAKES: dict[str, Callable[[Results], Results]] = {
    "none": lambda results: results,
    "low-at-end": low_at_end,
    "low-n-at-end": low_n_at_end,
    "high-n-at-end": high_n_at_end,
    "high-n-in-the-middle": high_n_in_the_middle,
    "backwards": backwards,
    "backwards-at-end": backwards_at_end,
    "twice": twice,
    "all-twice": lambda results: results + results,
    "wrong-word": wrong_word,
    "another-key": another_key,
    "padded-key": padded_key,
    "one-missing": one_missing,
    "wrong-value": wrong_value,
    "values-swapped": values_swapped,
    "nothing": lambda _: [],
    "max-at-end": of_last(max=lambda high: high + 1),
    "mean-9th-digit": of_last(mean=lambda mean: mean * (1 + 2e-9)),
    "mean-last-digit": of_last(mean=lambda mean: mean * (1 + 3e-16)),
    "mean-nan": of_last(mean=lambda _: float("nan")),
    "mean-as-text": of_last(mean=str),
    "n-as-text": of_last(n=str),
    "n-as-fraction": of_last(n=lambda n: n + 0.5),
    "sum-in-the-middle": of_middle(sum=lambda total: total + 10**15),
    "mean-in-the-middle": of_middle(mean=lambda mean: mean * (1 + 2e-9)),
    "reversed": lambda results: results[::-1],
    "garbage": more((b"\xff\xfe", b"\x00\xff\x80garbage")),
    "not-json": more((b"car", b"{")),
    "trailing": lambda results: [*results[:-1], (results[-1][0], (results[-1][1] or b"") + b"}, garbage")],
    "in-array": lambda results: [*results[:-1], (results[-1][0], b"[" + (results[-1][1] or b"") + b"]")],
    "empty-key": more((b"", b"x")),
    "null-key": more((None, b"x")),
    "null-value": more((b"0", None)),
    "null-value-instead": lambda results: replaced(results, 3, (results[3][0], None)),
    "huge-value": more((b"0", b"x" * 900_000)),
    "window-missing": one_missing,
    "window-twice-right-last": lambda results: [changed(results[3], n=lambda n: n - 10**6), *results],
    "window-twice-wrong-last": lambda results: [*results, changed(results[3], n=lambda n: n - 10**6)],
    "window-high": lambda results: replaced(results, 3, changed(results[3], n=lambda n: n + 10**6)),
}
"""Functions that alter the correct results. Other mistakes need the records: see ``mistaken``."""


def mistaken(mistake: str, job: dict[str, Any], records: Records) -> Results:
    parameters, results = job["parameters"], right_results(job, records)
    if mistake == "one-too-many":
        kept = {key for key, _ in results}
        first = next(record for record in records if record.key() not in kept)
        return [*results, (first.key(), first.value())]
    if mistake == "wrong-records":
        kept = {key for key, _ in results}
        return [(record.key(), record.value()) for record in records if record.key() not in kept][: len(results)]
    if mistake == "wrong-field":
        return list(projection(records, {"field": (parameters["field"] + 1) % 5}))
    if mistake == "late-counted":
        return list(windowed(records, parameters, with_late=True))
    return MISTAKES[mistake](results)


def main() -> None:
    mistake, wanted = sys.argv[1], int(sys.argv[2])
    job: dict[str, Any] = json.loads(Path(sys.argv[-1]).read_text())
    stopping: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    servers = {"bootstrap.servers": job["endpoints"]["bootstrap"]}
    consumer = Consumer({**servers, "group.id": job["run"], "enable.auto.commit": False, "fetch.wait.max.ms": 20})
    producer = Producer({**servers, "linger.ms": 5})
    (topic,) = job["inputs"].values()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(job["partitions"])])
    emit("ready")
    reports = mistake != "half-silent"
    if reports:
        emit("progress", consumed=0)  # so that the drain waits for it even on a slow machine
    if mistake == "slow":
        slow(consumer, stopping)
        return
    records: Records = []
    target = wanted // 2 if mistake.startswith("half") else wanted
    while not stopping and len(records) < target:
        records += [message for message in consumer.consume(1000, timeout=0.05) if not message.error()]
        records = records[:target]
    if "output" in job:
        where = {"partition": 0} if mistake == "one-partition" else {}
        known = "none" if mistake == "one-partition" or mistake.startswith("half") else mistake
        for key, value in mistaken(known, job, records):
            while True:
                try:
                    producer.produce(job["output"], value, key, **where)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        producer.flush()
    if reports:
        emit("progress", consumed=len(records))
    while not stopping:
        time.sleep(0.02)
    consumer.close()
    emit("stopped")


def slow(consumer: Any, stopping: list[bool]) -> None:
    """Reads a hundred records per second, and reports them."""
    consumed = 0
    while not stopping:
        consumed += len(consumer.consume(10, timeout=0.02))
        emit("progress", consumed=consumed)
        time.sleep(0.1)
    consumer.close()
    emit("stopped")


if __name__ == "__main__":
    main()
