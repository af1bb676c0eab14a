"""The data set of threat detection: synthetic flows of three classes, or the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.errors import UsageError
from streamgauge.workloads.seed_file import place, read_records, shown
from streamgauge.workloads.seed_records import SEED_RECORDS, SeedRecords, random_numbers
from streamgauge.workloads.threat import CLASSES, DIGITS_MAX, FEATURES, LABEL, SEPARATOR

Integers = npt.NDArray[np.int64]

SHARES = (0.70, 0.18, 0.12)
"""The share of each class."""
TCP, UDP, ICMP = 6, 17, 1
SERVICES = (80, 443, 53, 22, 25, 123)

_STREAM = 3
_NUMBER = re.compile(rb"\d{1,%d}" % DIGITS_MAX)


class Flows(SeedRecords):
    """Flows as lines of ``FEATURES`` and a label."""

    name: ClassVar[str] = "flows"

    def __init__(self, seed: int, seed_file: str = "") -> None:
        """Raises UsageError for an unusable seed file."""
        super().__init__(_read(seed_file) if seed_file else _lines(*flows(seed)))


def flows(seed: int, number: int = SEED_RECORDS) -> tuple[Integers, Integers]:
    """Features (a row per flow) and class of each flow."""
    random = random_numbers(seed, _STREAM)
    classes = np.searchsorted(np.cumsum(SHARES)[:-1], random.random(number), side="right")
    features = np.zeros((number, len(FEATURES)), np.int64)
    for place_, build in enumerate((_normal, _denial_of_service, _probe)):
        rows = np.flatnonzero(classes == place_)
        columns = build(random, len(rows))
        features[rows] = np.stack([np.asarray(columns[name]).astype(np.int64) for name in FEATURES], axis=1)
    return features, classes


def _normal(random: np.random.Generator, number: int) -> dict[str, npt.NDArray[np.generic]]:
    """Sessions with a service: packets and bytes in both directions. Some are short or refused, as attacks are."""
    protocol = random.choice([TCP, UDP, ICMP], number, p=[0.75, 0.22, 0.03])
    tcp = protocol == TCP
    refused = tcp & (random.random(number) < 0.04)
    packets_out = 1 + random.lognormal(1.8, 1.1, number)
    packets_in = np.where(refused, 1, packets_out * random.lognormal(0.1, 0.6, number))
    flows_2s = 1 + random.lognormal(1.0, 1.0, number)
    return {
        "duration_ms": np.where(refused, 1, random.lognormal(5.5, 1.8, number)),
        "protocol": protocol,
        "port": np.where(protocol == ICMP, 0, random.choice(SERVICES, number)),
        "packets_out": packets_out,
        "packets_in": packets_in,
        "bytes_out": packets_out * random.lognormal(5.0, 0.8, number),
        "bytes_in": packets_in * random.lognormal(6.0, 0.9, number),
        "syn": np.where(tcp, 1 + (random.random(number) < 0.05), 0),
        "rst": np.where(refused | (tcp & (random.random(number) < 0.05)), 1, 0),
        "fin": np.where(tcp & ~refused, 1 + (random.random(number) < 0.8), 0),
        "flows_2s": flows_2s,
        "ports_2s": np.minimum(flows_2s, 1 + random.lognormal(0.2, 0.6, number)),
    }


def _denial_of_service(random: np.random.Generator, number: int) -> dict[str, npt.NDArray[np.generic]]:
    """Many flows of one source to one service, nearly without answers."""
    protocol = random.choice([TCP, UDP, ICMP], number, p=[0.7, 0.2, 0.1])
    tcp = protocol == TCP
    packets_out = 1 + random.lognormal(1.5, 1.3, number)
    packets_in = packets_out * (random.random(number) < 0.35) * random.random(number)
    return {
        "duration_ms": random.lognormal(3.5, 1.8, number),
        "protocol": protocol,
        "port": np.where(protocol == ICMP, 0, random.choice(SERVICES[:3], number)),
        "packets_out": packets_out,
        "packets_in": packets_in,
        "bytes_out": packets_out * random.lognormal(4.4, 0.6, number),
        "bytes_in": packets_in * random.lognormal(4.2, 0.6, number),
        "syn": np.where(tcp, packets_out, 0),
        "rst": np.where(tcp & (random.random(number) < 0.2), 1, 0),
        "fin": np.where(tcp & (random.random(number) < 0.1), 1, 0),
        "flows_2s": 1 + random.lognormal(4.2, 1.2, number),
        "ports_2s": 1 + random.lognormal(0.1, 0.4, number),
    }


def _probe(random: np.random.Generator, number: int) -> dict[str, npt.NDArray[np.generic]]:
    """Short flows of one source to many ports, mostly refused."""
    protocol = random.choice([TCP, UDP, ICMP], number, p=[0.85, 0.10, 0.05])
    tcp = protocol == TCP
    answered = random.random(number) < 0.6
    packets_out = 1 + random.lognormal(-0.5, 0.8, number)
    ports_2s = 1 + random.lognormal(2.6, 1.1, number)
    return {
        "duration_ms": random.lognormal(1.5, 1.5, number),
        "protocol": protocol,
        "port": np.where(protocol == ICMP, 0, 1 + random.random(number) * 65_534),
        "packets_out": packets_out,
        "packets_in": answered,
        "bytes_out": packets_out * random.lognormal(4.1, 0.3, number),
        "bytes_in": answered * random.lognormal(4.0, 0.3, number),
        "syn": np.where(tcp, 1, 0),
        "rst": np.where(tcp & answered & (random.random(number) < 0.8), 1, 0),
        "fin": np.where(tcp & (random.random(number) < 0.05), 1, 0),
        "flows_2s": ports_2s * random.lognormal(0.3, 0.3, number),
        "ports_2s": ports_2s,
    }


def _lines(features: Integers, classes: Integers) -> list[bytes]:
    columns: list[Sequence[str]] = [list(map(str, column)) for column in features.T.tolist()]
    columns.append([CLASSES[one] for one in classes.tolist()])
    return "\n".join(map(SEPARATOR.join, zip(*columns, strict=True))).encode().split(b"\n")


def _is_header(texts: Sequence[bytes]) -> bool:
    """A line of names: none of its fields begins like a number."""
    return not any(text[:1].isdigit() or text[:1] == b"-" for text in texts)


def _read(path: str) -> list[bytes]:
    separator = SEPARATOR.encode()
    lines = read_records(path, separator, (*FEATURES, LABEL))
    is_number: Callable[[bytes], re.Match[bytes] | None] = _NUMBER.fullmatch
    for number, line in enumerate(lines, 1):
        *features, label = line.split(separator)
        for name, text in zip(FEATURES, features, strict=True):
            if not is_number(text):
                raise UsageError(
                    "the seed file has a feature that is not a number",
                    where=place(path, number),
                    got=f"{name}: {shown(text)}",
                    expected=f"an integer from 0 on, of at most {DIGITS_MAX} digits",
                    hint="remove the header: tail -n +2 FILE > FIXED" if number == 1 and _is_header(features) else None,
                )
        if not label:
            raise UsageError(
                "the seed file has a record without a label",
                where=place(path, number),
                got=shown(line),
                expected=f"a text in the last field, such as {CLASSES[0]}",
            )
    return lines
