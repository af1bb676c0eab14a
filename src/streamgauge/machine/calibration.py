"""The latency floor and the throughput ceiling of this machine, measured once with the engine `echo` and stored."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from streamgauge import dirs, stored
from streamgauge.errors import EngineFailed, EnvironmentProblem, InvalidMeasurement, StreamgaugeError, UsageError
from streamgauge.machine import description as machine
from streamgauge.model import Scenario, Verdict
from streamgauge.model.calibration import FORMAT, Calibration, Calibrations, Floor, Floors, RepeatedRun
from streamgauge.model.summary import Summary
from streamgauge.stored import read_object, write_json

ATTEMPTS = 2
"""A stall of the machine must not count as its ceiling."""
FIRST_RATE_PER_S = 2_000
LAST_RATE_PER_S = 2_000_000

Run = Callable[[Scenario], Summary]
"""One run of a scenario in fresh processes; returns its summary."""


def path() -> Path:
    return dirs.state_dir() / "calibration.json"


def read() -> Calibration | None:
    """The calibration of this machine; None if there is none, or none that this version can read.

    Raises UsageError when the file is damaged.
    """
    return _known().get(machine_key())


def write(calibration: Calibration) -> Path:
    """Store it for this machine, next to those of others that share the home directory. Replaces a damaged file."""
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    others: Mapping[str, Calibration] = {}
    with contextlib.suppress(UsageError):
        others = _known()
    machines = {**others, machine_key(): calibration}
    write_json(target, Calibrations(format=FORMAT, machines=machines).as_json())
    return target


def machine_key() -> str:
    """Model, cores and kernel: if one of them differs, it is another machine."""
    about = machine.describe()
    return f"{about.cpu}, {about.cores} cores, {about.system} {about.kernel}"


def calibrate(scenario: Scenario, run: Run, say: Callable[[str], None] = lambda text: None) -> Calibration:
    """Measure floor and ceiling with a scenario of the engine `echo`. Writes nothing.

    The floor is the latency at the scenario's rate. For the ceiling the rate is doubled as long as runs are VALID and
    sustained; it is the output rate of the last one. Raises InvalidMeasurement or EngineFailed if there is no floor.
    """
    say(f"floor: {scenario.load.rate_per_s:,}/s")
    repeated: list[RepeatedRun] = []
    summary = _run_until_valid(scenario, run, repeated)
    if (problem := _problem(summary)) is not None:
        raise problem
    ceiling_per_s, stopped_by = _ceiling(scenario, run, summary.rate_per_s.output or 0.0, say, repeated)
    return Calibration(
        scenario=f"{scenario.study}/{scenario.name}",
        workload=scenario.workload,
        rate_per_s=scenario.load.rate_per_s,
        measured_s=scenario.load.measured_s,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        floor_ms=Floors(total=_floor(summary, "total"), latest=_floor(summary, "latest")),
        ceiling_per_s=ceiling_per_s,
        ceiling_because=stopped_by,
        repeated=repeated,
    )


def _floor(summary: Summary, kind: str) -> Floor:
    return Floor(p50=summary.percentile_ms(kind, "p50"), p99=summary.percentile_ms(kind, "p99"))


def _ceiling(
    scenario: Scenario, run: Run, output_per_s: float, say: Callable[[str], None], repeated: list[RepeatedRun]
) -> tuple[float, str]:
    """The output rate of the highest sustained rate, and why the next one failed."""
    rate_per_s = max(FIRST_RATE_PER_S, 2 * scenario.load.rate_per_s)
    while rate_per_s <= LAST_RATE_PER_S:
        say(f"ceiling: {rate_per_s:,}/s")
        faster = replace(scenario, load=replace(scenario.load, rate_per_s=rate_per_s))
        try:
            summary = _run_until_valid(faster, run, repeated)
        except EnvironmentProblem as problem:
            return output_per_s, f"{rate_per_s:,}/s: {problem.what}"
        if (failure := _problem(summary)) is not None:
            return output_per_s, f"{rate_per_s:,}/s: {failure.got}"
        if summary.sustained is False:
            return output_per_s, f"{rate_per_s:,}/s: not sustained"
        output_per_s = summary.rate_per_s.output or 0.0
        rate_per_s *= 2
    return output_per_s, "highest rate tried"


def _run_until_valid(scenario: Scenario, run: Run, repeated: list[RepeatedRun]) -> Summary:
    """The last attempt; INVALID ones before it are added to ``repeated`` with their reasons and figures."""
    summary = run(scenario)
    for _ in range(ATTEMPTS - 1):
        if summary.verdict != Verdict.INVALID.value:
            break
        repeated.append(
            RepeatedRun(
                rate_per_s=scenario.load.rate_per_s,
                reasons=list(summary.reasons),
                total_p50=summary.percentile_ms("total", "p50"),
                total_p99=summary.percentile_ms("total", "p99"),
                rate_output=summary.rate_per_s.output,
            )
        )
        summary = run(scenario)
    return summary


def _problem(summary: Summary) -> StreamgaugeError | None:
    why = f"{summary.verdict}: {'; '.join(summary.reasons)}"
    if summary.verdict == Verdict.INVALID.value:
        hint = "run streamgauge calibrate again, with nothing else running"
        return InvalidMeasurement("cannot calibrate this machine", got=why, hint=hint)
    if summary.verdict == Verdict.FAILED.value:
        return EngineFailed("cannot calibrate this machine", got=why)
    return None


def _known() -> Mapping[str, Calibration]:
    """The stored calibrations by machine."""
    hint = "run streamgauge calibrate, which replaces it, or remove it"
    try:
        content = read_object(path(), hint)
    except OSError:
        return {}
    return stored.read(path(), Calibrations, hint).machines if content.get("format") == FORMAT else {}
