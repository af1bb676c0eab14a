"""Threat detection: the reference, what it finds, and the programs in Spark and Java."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from streamgauge import dirs, jars
from streamgauge.engines.java import compile_java, libraries
from streamgauge.engines.spark import programs
from streamgauge.engines.spark.workloads import threat as spark_program
from streamgauge.evaluate import tally
from streamgauge.evaluate.match import compare, judge
from streamgauge.jvm.java import find_java
from streamgauge.workloads.threat import network
from streamgauge.workloads.threat.classify import Classify
from streamgauge.workloads.threat.data import Flows
from threat_network import EXTREMES, classify

T0_MS = 1_767_225_600_000
VALUES = [*(value.decode() for value in Flows(1).values[:500]), *EXTREMES]
DEFINED = [classify(value, network()) for value in VALUES]
PARAMETERS = {"seed_file": ""}
HARNESS = """package test;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import streamgauge.Job;
import streamgauge.threat.Network;

public final class Main {
  public static void main(String[] args) throws Exception {
    Network network = Network.of(Job.read(Path.of(args[0])));
    for (String line : Files.readAllLines(Path.of(args[1]), StandardCharsets.UTF_8)) {
      System.out.println(new String(network.classify(line.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8));
    }
    try {
      network.classify("1,x,3".getBytes(StandardCharsets.UTF_8));
    } catch (NumberFormatException problem) {
      System.out.println(problem.getMessage());
    }
  }
}
"""


@pytest.fixture(scope="module")
def answer(spark: Any) -> Any:
    rows = [(n, value, n % 2, n // 2, T0_MS + n, n, n * 1000, 1 << n % 2) for n, value in enumerate(VALUES)]
    schema = (
        "key string, value string, partition int, offset bigint, appended_ms bigint, n_seq bigint, intended_ns bigint, "
        "partition_bit bigint"
    )
    return Classify().reference({"records": spark.createDataFrame(rows, schema)}, PARAMETERS).cache()


def results(spark: Any, outputs: list[tuple[str, str]]) -> Any:
    rows = [(key, value, 0, place, T0_MS + 10_000 + place) for place, (key, value) in enumerate(outputs)]
    output = spark.createDataFrame(rows, "key string, value string, partition int, offset bigint, appended_ms bigint")
    return Classify().decode(output, PARAMETERS).withColumnRenamed("appended_ms", "emitted_ms")


def as_json(class_: str, score: float) -> str:
    return json.dumps({"class": class_, "score": score})


def right() -> list[tuple[str, str]]:
    return [(str(n), as_json(*one)) for n, one in enumerate(DEFINED)]


def fates(spark: Any, answer: Any, outputs: list[tuple[str, str]]) -> tuple[Counter[int], int]:
    """How often each fate occurs, and the duplicates."""
    rows = judge(compare(answer, results(spark, outputs), Classify.key)).select("fate", "duplicates").collect()
    return Counter(row["fate"] for row in rows), sum(row["duplicates"] for row in rows)


def test_the_reference_is_the_definition(answer: Any) -> None:
    rows = {row["n_seq"]: row for row in answer.collect()}
    assert len(rows) == len(VALUES)
    assert [rows[n]["class"] for n in range(len(VALUES))] == [class_ for class_, _ in DEFINED]
    assert [rows[n]["score"] for n in range(len(VALUES))] == pytest.approx([score for _, score in DEFINED], rel=1e-12)
    assert (rows[3]["inputs"], rows[3]["appended_max_ms"], rows[3]["partitions"]) == (1, T0_MS + 3, 2)


def test_right_results_match(spark: Any, answer: Any) -> None:
    outputs = [(key, value.replace(": ", ":  ")) for key, value in reversed(right())]
    assert fates(spark, answer, outputs) == ({tally.MATCHED: len(VALUES)}, 0)


@pytest.mark.parametrize("what", ["dropped", "class", "score", "null", "not JSON", "another key"])
def test_every_error_is_found(spark: Any, answer: Any, what: str) -> None:
    outputs = right()
    key, _ = outputs[7]
    class_, score = DEFINED[7]
    other = next(one for one in network()["classes"] if one != class_)
    replaced = {
        "dropped": [],
        "class": [(key, as_json(other, score))],
        "score": [(key, as_json(class_, score * (1 - 1e-8)))],
        "null": [(key, '{"class": null, "score": null}')],
        "not JSON": [(key, "no JSON")],
        "another key": [("07", as_json(class_, score))],
    }
    outputs[7:8] = replaced[what]
    fate = tally.MISSING if what in ("dropped", "another key") else tally.WRONG
    assert fates(spark, answer, outputs) == ({tally.MATCHED: len(VALUES) - 1, fate: 1}, 0)


def test_a_duplicate_is_counted(spark: Any, answer: Any) -> None:
    assert fates(spark, answer, [*right(), right()[7]]) == ({tally.MATCHED: len(VALUES)}, 1)


def test_the_program_for_spark(spark: Any, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(n).encode(), value.encode()) for n, value in enumerate(VALUES)]
    records = spark.createDataFrame(rows, "key binary, value binary")
    monkeypatch.setattr(spark_program, "read", lambda *_: records)
    frame = programs.find("threat/classify")(spark, {"data": {"network": network()}})
    outputs = [(row["key"].decode(), row["value"]) for row in frame.collect()]
    assert fates(spark, answer, outputs) == ({tally.MATCHED: len(VALUES)}, 0)


def test_the_network_in_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars.fetch(["java"])
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(dirs.cache_dir() / "jars")
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    main = tmp_path / "java" / "test" / "Main.java"
    main.parent.mkdir(parents=True)
    main.write_text(HARNESS)
    (tmp_path / "job.json").write_text(json.dumps({"data": {"network": network()}}))
    (tmp_path / "records").write_text("".join(f"{value}\n" for value in VALUES))
    classes = compile_java("test", tmp_path / "java", libraries(), lambda _: None)
    class_path = os.pathsep.join(map(str, (classes, *libraries())))
    argv = [find_java().path, "-cp", class_path, "test.Main", tmp_path / "job.json", tmp_path / "records"]
    done = subprocess.run(argv, capture_output=True, check=True)
    *lines, problem = done.stdout.decode().splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["class"] for one in found] == [class_ for class_, _ in DEFINED]
    assert [one["score"] for one in found] == pytest.approx([score for _, score in DEFINED], rel=1e-12)
    assert problem == "expected a digit, got byte 120"
