"""Properties of Java's Kafka clients, translated for librdkafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.jvm import kafka_clients

SCRAM = (
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
    '    username="alice" \\\n    password="s\\\\"ecret=\\u0041;";\n'
)


def config(tmp_path: Path, text: str) -> kafka_clients.ClientConfig:
    file = tmp_path / "client.properties"
    file.write_text(text)
    return kafka_clients.read(str(file))


def test_scram_over_tls(tmp_path: Path) -> None:
    read = config(
        tmp_path,
        "# a comment\nbootstrap.servers: kafka.example:9093\nsecurity.protocol = SASL_SSL\n"
        f"sasl.mechanism=SCRAM-SHA-512\n{SCRAM}ssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n",
    )
    assert read.bootstrap == "kafka.example:9093"
    assert read.java["ssl.truststore.location"] == str(tmp_path / "ca.pem")
    assert read.librdkafka == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": 's"ecret=A;',
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "ssl.endpoint.identification.algorithm": "https",
    }


def test_mutual_tls(tmp_path: Path) -> None:
    read = config(
        tmp_path,
        "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\nssl.keystore.type=PKCS12\n"
        "ssl.keystore.location=/me.p12\nssl.keystore.password=pw\nssl.endpoint.identification.algorithm=\n",
    )
    assert read.librdkafka == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
        "ssl.keystore.location": "/me.p12",
        "ssl.keystore.password": "pw",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("security.protocol=TLS\n", "invalid security.protocol"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\n", "one of PLAIN"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n", "no username and password"),
        ("fetch.min.bytes=7\n", "fetch.min.bytes"),
        ("security.protocol=SSL\nssl.keystore.location=/me.jks\n", "-deststoretype PKCS12"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = config(tmp_path, text).librdkafka
    assert said in caught.value.message()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        kafka_clients.read(str(tmp_path / "none.properties"))


def test_clients_without_a_configuration() -> None:
    assert kafka_clients.settings_for({"bootstrap": "a:1"}) == {"bootstrap.servers": "a:1"}
    assert kafka_clients.java_settings_for({"bootstrap": "a:1"}) == {"bootstrap.servers": "a:1"}
