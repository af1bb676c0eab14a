"""The settings of Kafka clients from a file in Java's format (``--kafka-config client.properties``).

Java's clients get them as they are; librdkafka gets the same under its own names. Only the path of the file travels:
its content is in no manifest, log or argument list.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.jvm.java import find_java

BOOTSTRAP = "bootstrap.servers"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
FILES = ("ssl.truststore.location", "ssl.keystore.location")
KNOWN = frozenset(
    {
        *("security.protocol", "sasl.mechanism", "sasl.jaas.config"),
        *("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "ssl.truststore.certificates"),
        *("ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.key.password"),
        *("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.endpoint.identification.algorithm"),
        *("ssl.enabled.protocols", "ssl.protocol"),
    }
)
_JAAS = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\s+(.*?);?\s*$", re.DOTALL)
_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s;]+))')
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEYTOOL_S = 60.0


@dataclass(frozen=True)
class ClientConfig:
    """The settings, as the file has them, with absolute paths."""

    path: str
    java: Mapping[str, str]
    bootstrap: str = ""

    @property
    def librdkafka(self) -> dict[str, Any]:
        """The same for librdkafka. Raises UsageError for what it has no setting for."""
        return _translated(self.path, self._changed_ns())

    def _changed_ns(self) -> int:
        return Path(self.path).stat().st_mtime_ns


def read(path: str) -> ClientConfig:
    """Raises UsageError for a file that cannot be read, and for settings that are not for security."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError("the Kafka configuration cannot be read", where=path, got=reason) from None
    given = dict(_properties(text))
    bootstrap = given.pop(BOOTSTRAP, "")
    if unknown := sorted(given.keys() - KNOWN):
        raise UsageError(
            "the Kafka configuration has a property that is not used",
            where=path,
            got=", ".join(unknown),
            expected=f"{BOOTSTRAP} and what security needs: {', '.join(sorted(KNOWN))}",
            hint="leave it out of a copy of the file",
        )
    for name in FILES:
        if name in given:
            given[name] = str((Path(path).absolute().parent / Path(given[name]).expanduser()).absolute())
    if given.get("security.protocol", "PLAINTEXT") not in PROTOCOLS:
        raise _wrong(path, "security.protocol", given["security.protocol"], f"one of {', '.join(PROTOCOLS)}")
    return ClientConfig(str(Path(path).absolute()), given, bootstrap)


def settings_for(endpoints: Mapping[str, str]) -> dict[str, Any]:
    """The address and the security of a client of librdkafka, from the endpoints of a job."""
    config = endpoints.get("config")
    return {BOOTSTRAP: endpoints["bootstrap"], **(read(config).librdkafka if config else {})}


def java_settings_for(endpoints: Mapping[str, str]) -> dict[str, str]:
    """The same of a Java client."""
    config = endpoints.get("config")
    return {BOOTSTRAP: endpoints["bootstrap"], **(read(config).java if config else {})}


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Of a file in Java's format: comments, continued lines and escapes included."""
    lines = iter(text.splitlines())
    for line in lines:
        stripped = line.lstrip()
        if not stripped or stripped[0] in "#!":
            continue
        while len(stripped) - len(stripped.rstrip("\\")) & 1:
            stripped = stripped[:-1] + next(lines, "").lstrip()
        match = re.match(r"((?:[^\\=:\s]|\\.)+)\s*[=:]?\s*(.*)$", stripped)
        if match:
            yield _unescaped(match[1]), _unescaped(match[2])


def _unescaped(text: str) -> str:
    def exchange(match: re.Match[str]) -> str:
        return chr(int(match[1][1:], 16)) if match[1].startswith("u") else _ESCAPES.get(match[1], match[1])

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", exchange, text)


@lru_cache(maxsize=4)
def _translated(path: str, _changed_ns: int) -> dict[str, Any]:
    given = dict(read(path).java)
    settings: dict[str, Any] = {}
    if "security.protocol" in given:
        settings["security.protocol"] = given["security.protocol"]
    if given.get("security.protocol", "").startswith("SASL"):
        settings |= _sasl(path, given)
    if given.get("security.protocol", "").endswith("SSL"):
        settings |= _ssl(path, given)
    return settings


def _sasl(path: str, given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise _wrong(path, "sasl.mechanism", mechanism, f"one of {', '.join(MECHANISMS)}")
    module = _JAAS.match(given.get("sasl.jaas.config", ""))
    options = {
        name: next(filter(None, values), "") for name, *values in _JAAS_OPTION.findall(module[2] if module else "")
    }
    if not {"username", "password"} <= options.keys():
        raise UsageError(
            "the Kafka configuration has no username and password",
            where=path,
            expected='sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="…" '
            'password="…"; (or ScramLoginModule)',
        )
    return {
        "sasl.mechanisms": mechanism,
        "sasl.username": _unescaped(options["username"]),
        "sasl.password": _unescaped(options["password"]),
    }


def _ssl(path: str, given: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    # Java checks the host name unless it is told not to with an empty value.
    checked = given.get("ssl.endpoint.identification.algorithm", "https")
    settings["ssl.endpoint.identification.algorithm"] = "https" if checked.lower() == "https" else "none"
    if "ssl.truststore.certificates" in given:
        settings["ssl.ca.pem"] = given["ssl.truststore.certificates"]
    elif location := given.get("ssl.truststore.location"):
        kind = given.get("ssl.truststore.type", "JKS").upper()
        if kind == "PEM":
            settings["ssl.ca.location"] = location
        else:
            settings["ssl.ca.pem"] = _certificates(path, location, given.get("ssl.truststore.password", ""))
    if "ssl.keystore.key" in given:
        settings["ssl.key.pem"] = given["ssl.keystore.key"]
        settings["ssl.certificate.pem"] = given.get("ssl.keystore.certificate.chain", "")
    elif location := given.get("ssl.keystore.location"):
        settings |= _key_store(path, location, given)
    if "ssl.key.password" in given:
        settings["ssl.key.password"] = given["ssl.key.password"]
    return settings


def _key_store(path: str, location: str, given: Mapping[str, str]) -> dict[str, str]:
    kind = given.get("ssl.keystore.type", "JKS").upper()
    if kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if kind == "PKCS12":
        return {"ssl.keystore.location": location, "ssl.keystore.password": given.get("ssl.keystore.password", "")}
    target = Path(location).with_suffix(".p12")
    raise UsageError(
        f"a key store of type {kind} cannot be used",
        where=path,
        got=f"ssl.keystore.location={location}",
        expected="ssl.keystore.type=PKCS12 or PEM",
        hint=f"keytool -importkeystore -srckeystore {location} -destkeystore {target} -deststoretype PKCS12",
    )


def _certificates(path: str, location: str, password: str) -> str:
    """The certificates of a trust store, as PEM."""
    tool = keytool()
    if tool is None:
        raise EnvironmentProblem(
            "the trust store cannot be read without keytool",
            where=location,
            got="no keytool beside java or on the PATH",
            expected="ssl.truststore.type=PEM, or a Java with keytool",
            hint=f"keytool -list -rfc -keystore {location} > ca.pem",
        )
    # By a variable: arguments of a process can be seen by other users.
    words = [tool, "-list", "-rfc", "-keystore", location, "-storepass:env", "STREAMGAUGE_STORE_PASSWORD"]
    try:
        done = subprocess.run(
            words,
            env={**os.environ, "STREAMGAUGE_STORE_PASSWORD": password},
            capture_output=True,
            text=True,
            timeout=_KEYTOOL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(
            "keytool did not read the trust store", where=location, expected=f"an answer in {_KEYTOOL_S:g} s"
        ) from None
    found = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", done.stdout, re.DOTALL)
    if done.returncode != 0 or not found:
        reason = next((line for line in done.stdout.splitlines() if "error" in line.lower()), "no certificate in it")
        raise UsageError("the trust store cannot be read", where=f"{path}: {location}", got=reason)
    return "\n".join(found)


def keytool() -> str | None:
    """Java's tool for key stores; small runtimes do not have it."""
    beside = find_java().path.resolve().parent / "keytool"
    return str(beside) if beside.is_file() else shutil.which("keytool")


def _wrong(path: str, name: str, got: str, expected: str) -> UsageError:
    return UsageError(f"invalid {name} in the Kafka configuration", where=path, got=got, expected=expected)
