"""A broker with security: SASL_SSL (PLAIN and SCRAM) and TLS on both sides, with certificates made for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from streamgauge import jars
from streamgauge.jvm.java import find_java
from streamgauge.jvm.kafka_clients import keytool
from streamgauge.processes.ports import free_port
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import broker

USER, PASSWORD, STORE_PASSWORD = "bench", "hunter2-is-secret", "store-is-secret"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class Secured:
    sasl_port: int
    tls_port: int
    home: Path

    def plain(self, password: str = PASSWORD) -> Path:
        jaas = f'sasl.jaas.config={PLAIN} required username="{USER}" password="{password}";'
        return self._write("plain", f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n{jaas}\n{self._trust()}")

    def scram(self) -> Path:
        """With a trust store in Java's format."""
        jaas = f'sasl.jaas.config={SCRAM} required username="{USER}" password="{PASSWORD}";'
        trust = f"ssl.truststore.location=trust.jks\nssl.truststore.password={STORE_PASSWORD}\n"
        text = f"bootstrap.servers=127.0.0.1:{self.sasl_port}\nsecurity.protocol=SASL_SSL\n"
        return self._write("scram", f"{text}sasl.mechanism=SCRAM-SHA-512\n{jaas}\n{trust}")

    def mutual(self) -> Path:
        key = f"ssl.keystore.type=PKCS12\nssl.keystore.location=client.p12\nssl.keystore.password={STORE_PASSWORD}\n"
        return self._write("mutual", f"security.protocol=SSL\n{self._trust()}{key}")

    def _trust(self) -> str:
        return "ssl.truststore.type=PEM\nssl.truststore.location=ca.pem\n"

    def _write(self, name: str, text: str) -> Path:
        file = self.home / f"{name}.properties"
        file.write_text(text)
        return file


def _keytool(*words: str) -> str:
    tool = keytool()
    assert tool is not None
    done = subprocess.run([tool, *words], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def _make_stores(home: Path) -> None:
    secret = ("-storepass", STORE_PASSWORD)
    for name in ("server", "client"):
        store = ("-keystore", str(home / f"{name}.p12"), "-storetype", "PKCS12", *secret)
        names = ("-dname", f"CN={name}", "-ext", "san=ip:127.0.0.1,dns:localhost")
        _keytool("-genkeypair", "-alias", name, "-keyalg", "RSA", "-validity", "30", *names, *store)
        (home / f"{name}.pem").write_text(_keytool("-exportcert", "-rfc", "-alias", name, *store))
    (home / "ca.pem").write_bytes((home / "server.pem").read_bytes())
    for name, trusted in (("trust.jks", "server"), ("of-server.p12", "client")):
        target = ("-keystore", str(home / name), *secret)
        _keytool("-importcert", "-noprompt", "-alias", trusted, "-file", str(home / f"{trusted}.pem"), *target)


def _properties(home: Path, port: int, controller_port: int, sasl_port: int, tls_port: int) -> str:
    listeners = f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{sasl_port},SSL://127.0.0.1:{tls_port}"
    scram = "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config"
    settings = {
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} required user_{USER}="{PASSWORD}";',
        scram: f"{SCRAM} required;",
        "ssl.keystore.location": home / "server.p12",
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.keystore.type": "PKCS12",
        "ssl.truststore.location": home / "of-server.p12",
        "ssl.truststore.password": STORE_PASSWORD,
        "listener.name.ssl.ssl.client.auth": "required",
    }
    # Of a key that is there twice, the last one counts.
    return "".join(f"{name}={value}\n" for name, value in settings.items())


@contextmanager
def secured_broker(home: Path) -> Iterator[Secured]:
    _make_stores(home)
    port, controller_port, sasl_port, tls_port = (free_port() for _ in range(4))
    with Supervisor(f"secured-{home.name}", home / "logs") as supervisor:
        format_, server = broker.plan(
            supervisor.work_dir,
            java=find_java().path,
            jars=jars.paths("kafka"),
            port=port,
            controller_port=controller_port,
        )
        more = _properties(home, port, controller_port, sasl_port, tls_port)
        scram = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
        files = {path: text + more for path, text in format_.files.items()}
        supervisor.start(replace(format_, files=files, argv=[*format_.argv, "--add-scram", scram]))
        supervisor.start(server)
        yield Secured(sasl_port, tls_port, home)
