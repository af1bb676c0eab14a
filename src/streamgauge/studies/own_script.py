"""A PySpark script of your own in place of a scenario: ``streamgauge run my_job.py --data …``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.studies.parsing import Setting
from streamgauge.workloads.yours.given import BETWEEN, parse

ENDING = ".py"
SCENARIO = "yours/script"


def is_own(scenario: str) -> bool:
    return scenario.endswith(ENDING)


def check(scenario: str, output: str | None, **at_output: str | None) -> None:
    """Raises UsageError if the script does not exist, or for options that need to know where its results are."""
    if not Path(scenario).expanduser().is_file():
        raise UsageError("the script was not found", where=Path(scenario).expanduser().absolute())
    if output is None and (typed := [f"--{key} {value}" for key, value in at_output.items() if value is not None]):
        raise UsageError(
            f"{typed[0]} needs --output, where results are looked for",
            expected="--output NAME, by the script's own name for it",
        )


def settings(
    data: Sequence[str] | None,
    mapped: Sequence[str] | None,
    python: str | None,
    submit: str | None,
    allow_sink: Sequence[str] | None,
    **measured: str | None,
) -> Iterator[Setting]:
    """What the options of the command line set. Raises UsageError for data that cannot be meant."""
    if data:
        parse(BETWEEN.join(data))
        yield Setting("data", BETWEEN.join(data), " ".join(f"--data {one}" for one in data))
    for key, option, many in (("map", "--map", mapped), ("allow_sink", "--allow-sink", allow_sink)):
        if many:
            yield Setting(key, ",".join(many), " ".join(f"{option} {one}" for one in many))
    for key, value in {"python": python, "submit": submit, **measured}.items():
        if value is not None:
            yield Setting(key, value, f"--{key} {value}")
    if typed := [f"--{key} {value}" for key, value in measured.items() if value is not None]:
        yield Setting("measured", "output", " ".join(typed))
