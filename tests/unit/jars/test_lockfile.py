from __future__ import annotations

import re
from importlib.resources import files

import pytest

from streamgauge import jars
from streamgauge.errors import UsageError
from streamgauge.jars import Artifact, Lock

JAR = Artifact("org.example.deep:thing_2.13:1.2", "ab" * 32, 7)
NATIVE = Artifact("org.example:native:1.0:linux-x86_64", "cd" * 32, 8)


def test_coordinates_give_names_and_paths() -> None:
    assert (JAR.group_id, JAR.artifact_id, JAR.version) == ("org.example.deep", "thing_2.13", "1.2")
    assert JAR.filename == "thing_2.13-1.2.jar"
    assert JAR.repository_path == "org/example/deep/thing_2.13/1.2/thing_2.13-1.2.jar"
    assert NATIVE.repository_path == "org/example/native/1.0/native-1.0-linux-x86_64.jar"
    assert NATIVE.filename == "native-1.0-linux-x86_64.jar"


def test_a_lock_survives_a_round_trip() -> None:
    lock = Lock({"b": (NATIVE, JAR), "a": (JAR,)})
    again = Lock.loads(lock.dumps())
    assert again.groups == {"a": (JAR,), "b": (JAR, NATIVE)}
    assert again.dumps() == lock.dumps()


def test_an_unknown_group_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="unknown jar group") as caught:
        jars.locked("kafak")
    assert "kafka" in str(caught.value)


def test_the_shipped_lock_matches_its_roots() -> None:
    assert jars.groups() == ("flink", "java", "kafka", "kafka-streams", "kafka-tools", "spark", "spark-35")
    assert {a.coordinates for a in jars.locked("spark")} == {
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.1",
        "org.apache.commons:commons-pool2:2.12.1",
    }
    broker = jars.versions("kafka")
    assert broker["scala-logging_2.13"], "a bundle, which resolvers that only accept type jar miss"
    assert broker["slf4j-simple"] == broker["slf4j-api"], "another back end would log nothing"
    assert broker["kafka-clients"] == broker["kafka_2.13"] == jars.versions("kafka-tools")["kafka-tools"]
    streams = jars.versions("kafka-streams")
    assert streams["slf4j-simple"] == streams["slf4j-api"]
    assert streams["jackson-core"] == jars.versions("java")["jackson-core"], "one of them is on the class path"


def test_the_shipped_lock_has_checksums_and_no_addresses() -> None:
    text = files("streamgauge.jars").joinpath("lock.toml").read_text()
    assert "//" not in text
    assert Lock.loads(text).dumps() == text
    for group in jars.groups():
        for artifact in jars.locked(group):
            assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256)
            assert artifact.size > 0
