"""Whether faults leave nothing behind, and whether every loss is counted exactly: random faults on real engines.

    python bench/fault_campaign.py [--runs 50] [--seed 1] [--engines spark flink kafka-streams] [--only 17] [--out DIR]

Each run draws an engine, a program, a broker (its own, or one that all runs share) and one or two faults; the seed and
its number decide, so that `--only` repeats it. After each run

* no process that it started is alive, so none of its ports is open; its temporary and state directories are empty, and
  the shared broker has no topic more than before;
* what was lost and duplicated is counted again from the recorded streams, record by record in Python, and must be what
  `summary.json` says.

INVALID is not a mistake of the campaign if the reason is stated: a fault may find its process gone. Goal: no run leaves
anything behind or miscounts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds
from confluent_kafka.admin import AdminClient

from streamgauge import jars
from streamgauge.model import NS_PER_S
from streamgauge.processes.ports import free_ports
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.transports.kafka import Kafka

STREAMGAUGE = Path(sys.executable).with_name("streamgauge")
RATE_PER_S, WARMUP_S, MEASURED_S = 400, 8, 20
BROKER = "broker"
GONE_WITHIN_S = 30.0
RUN_DEADLINE_S = 600.0


@dataclass(frozen=True)
class System:
    """An engine as the campaign runs it, with the roles that a fault may name."""

    engine: str
    settings: Mapping[str, str]
    roles: Sequence[str]
    restartable: Sequence[str]
    """The roles that `kill … for` starts again."""


SYSTEMS = (
    System("spark", {}, ("driver",), ("driver",)),
    System(
        "spark",
        {"cluster": "standalone", "workers": "2", "worker_memory_mb": "512"},
        ("worker-1", "worker-2", "executor-1", "executor-2", "driver"),
        ("worker-1", "worker-2", "driver"),
    ),
    System(
        "flink",
        {"taskmanagers": "2", "slots": "1", "spare": "1", "checkpoint_ms": "2000"},
        ("taskmanager-1", "taskmanager-2", "spare-1"),
        ("taskmanager-1", "taskmanager-2"),
    ),
    System("kafka-streams", {"instances": "2", "threads": "1"}, ("streams-1", "streams-2"), ("streams-1", "streams-2")),
    System(
        "kafka-streams",
        {"instances": "2", "threads": "1", "delivery": "exactly-once"},
        ("streams-1", "streams-2"),
        ("streams-1", "streams-2"),
    ),
)


@dataclass(frozen=True)
class Draw:
    """One run of the campaign."""

    number: int
    system: System
    program: str
    faults: tuple[str, ...]
    shared_broker: bool

    def command(self, out: Path, bootstrap: str) -> list[str]:
        changes = {"program": self.program, **self.system.settings}
        return [
            *(str(STREAMGAUGE), "run", "streambench/latency", "--engine", self.system.engine, "--json"),
            *(word for key, value in changes.items() for word in ("--set", f"{key}={value}")),
            *("--rate", f"{RATE_PER_S}/s", "--warmup", f"{WARMUP_S}s", "--for", f"{MEASURED_S}s"),
            *(word for fault in self.faults for word in ("--fault", fault)),
            *(("--bootstrap", bootstrap) if self.shared_broker else ()),
            *("--out", str(out)),
        ]


def draw(seed: int, number: int, engines: Sequence[str]) -> Draw:
    """Run ``number`` of the campaign with this seed."""
    chance = random.Random(f"{seed}/{number}")
    engine = chance.choice(engines)
    system = chance.choice([one for one in SYSTEMS if one.engine == engine])
    roles = chance.sample([*system.roles, BROKER], k=chance.choice((1, 1, 2)))
    while {role.replace("executor", "worker") for role in roles} in ({"worker-1"}, {"worker-2"}) and len(roles) > 1:
        # An executor belongs to its Worker: with the Worker killed, a fault on it would be refused.
        roles = chance.sample([*system.roles, BROKER], k=2)
    faults = []
    for place, role in enumerate(roles):
        at_s = round(chance.uniform(5, 8) + 6 * place, 2)
        moment = chance.choice((f"{at_s}s", f"{100 * at_s / MEASURED_S:.1f}%"))
        length_s = round(chance.uniform(0.5, 3), 2)
        kinds = [f"pause {role} for {length_s}s at {moment}"]
        if role != BROKER:
            kinds += [f"cut {role} from broker for {length_s}s at {moment}", f"kill {role} at {moment}"]
        if role in (*system.restartable, BROKER):
            kinds.append(f"kill {role} for {length_s}s at {moment}")
        if len(roles) == 1:
            kinds.append(f"pause {role} for {length_s}s at {moment} every 6s")
        faults.append(chance.choice(kinds))
    program = chance.choice(("identity", "grep", "wordcount"))
    # Only a broker of the run's own can be cut off, paused or killed.
    shared = chance.random() < 0.5 and not any("broker" in fault for fault in faults)
    return Draw(number, system, program, tuple(faults), shared)


@dataclass
class Finding:
    """What became of one run."""

    drawn: Draw
    verdict: str = "?"
    seconds: float = 0.0
    guarantee: str = ""
    reasons: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def show(self) -> None:
        drawn = self.drawn
        options = " ".join(f"{key}={value}" for key, value in drawn.system.settings.items())
        print(f"{drawn.number:>3} {drawn.system.engine} {options} {drawn.program}: {'; '.join(drawn.faults)}")
        reasons = "; ".join(self.reasons) if self.verdict == "INVALID" else ""
        print(f"    {self.verdict} in {self.seconds:.0f} s · {self.guarantee} {reasons}")
        for problem in self.problems:
            print(f"    PROBLEM: {problem}")
        sys.stdout.flush()


def carry_out(drawn: Draw, home: Path, bootstrap: str) -> Finding:
    """Run it with directories of its own, then look for what it left and count its results."""
    finding = Finding(drawn)
    temp, state, out = home / "tmp", home / "state", home / "run"
    temp.mkdir(parents=True)
    topics = topics_of(bootstrap)
    began_s = time.monotonic()
    with (home / "stderr").open("w") as stderr, (home / "stdout").open("w") as stdout:
        done = subprocess.run(
            drawn.command(out, bootstrap),
            env={**os.environ, "TMPDIR": str(temp), "STREAMGAUGE_STATE": str(state)},
            stdout=stdout,
            stderr=stderr,
            timeout=RUN_DEADLINE_S,
            check=False,
        )
    finding.seconds = time.monotonic() - began_s
    finding.problems += left_behind(home, temp, state)
    if new := topics_of(bootstrap) - topics:
        finding.problems.append(f"topics left: {', '.join(sorted(new))}")
    if done.returncode not in (0, 1, 3, 4):
        finding.problems.append(f"exit code {done.returncode}: {(home / 'stderr').read_text()[-500:]}")
        return finding
    summary = json.loads((out / "summary.json").read_text())
    finding.verdict, finding.reasons = summary["verdict"], summary["reasons"]
    finding.guarantee = describe_guarantee(summary)
    if finding.verdict == "INVALID" and not finding.reasons:
        finding.problems.append("INVALID without a reason")
    if any((out / "recorded").glob("*/*.parquet")):
        finding.problems += miscounted(out, drawn.program, summary["results"])
    elif finding.verdict == "VALID":
        finding.problems.append("VALID, although nothing was recorded")
    else:
        finding.guarantee += ", nothing recorded"
    return finding


def describe_guarantee(summary: Mapping[str, Any]) -> str:
    counts = summary["results"]
    return ", ".join(f"{counts[name]} {name}" for name in ("lost", "unfinished", "wrong", "duplicates"))


def left_behind(home: Path, temp: Path, state: Path) -> list[str]:
    """Processes and files of the run that are there after its command has ended."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (alive := processes_of(home)) and time.monotonic() < deadline:
        time.sleep(0.2)
    problems = [f"process {process.pid} left: {' '.join(process.cmdline())[:120]}" for process in alive]
    files = [path for path in temp.iterdir() if not path.name.startswith("hsperfdata")]
    problems += [f"left in the temporary directory: {path.name}" for path in files]
    problems += [f"journal left: {path.name}" for path in state.rglob("*.jsonl")]
    return problems


def processes_of(home: Path) -> list[psutil.Process]:
    """Every process that has the run's directories in its environment or on its command line."""
    mark, found = str(home), []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                words = [*process.cmdline(), *process.environ().values()]
                if any(mark in word for word in words):
                    found.append(process)
        except psutil.Error:
            continue
    return found


def topics_of(bootstrap: str) -> set[str]:
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=20).topics
    return {name for name in topics if not name.startswith("__")}


def miscounted(out: Path, program: str, results: Mapping[str, int]) -> list[str]:
    """How the summary differs from a count of the recorded streams."""
    # Lost or unfinished: a missing result is one or the other, by what else was published.
    said = {"missing": results["lost"] + results["unfinished"], "wrong": results["wrong"]}
    if program == "wordcount":
        counted = count_words(out)
        # A word that was counted twice makes all records wrong that no right count covers: how many are not compared,
        # and records that also lack another word are not missing but wrong.
        if counted["wrong"] and said["wrong"] and said["missing"] <= counted["missing"]:
            return []
    else:
        counted = count_records(out)
        said |= {"duplicates": results["duplicates"], "unexpected": results["unexpected"]}
    return [] if counted == said else [f"the summary counts {said}, the streams hold {counted}"]


def rows(out: Path, stream: str, *columns: str) -> list[tuple[Any, ...]]:
    table = ds.dataset(out / "recorded" / stream).to_table(columns=list(columns))
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def parameters(out: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((out / "manifest.json").read_text())["scenario"]["parameters"]
    return content


def before_tail(out: Path) -> int:
    """Records that count; those after them only where a running total shows that one was lost."""
    plan = RunDir.open(out).manifest().scenario.load.plan()
    return plan.count_before(round((plan.warmup_s + plan.measured_s) * NS_PER_S))


def count_records(out: Path) -> dict[str, int]:
    """Of a program that publishes a record unchanged, or not at all."""
    end = before_tail(out)
    pattern = parameters(out).get("pattern", "")
    expected = {key: value for key, value in rows(out, "records", "key", "value") if pattern in value}
    published = Counter(rows(out, "output", "key", "value"))
    right = {key: published[key, value] for key, value in expected.items() if int(key) < end}
    answered = {key for key, _ in published}
    return {
        "missing": sum(not count and key not in answered for key, count in right.items()),
        "wrong": sum(not count and key in answered for key, count in right.items()),
        "duplicates": sum(max(count - 1, 0) for count in right.values()),
        "unexpected": sum(count for (key, _), count in published.items() if key not in expected),
    }


def count_words(out: Path) -> dict[str, int]:
    """Records with a word that the last count of that word does not cover, and words that were counted too often."""
    last: dict[str, tuple[tuple[int, int, int], int]] = {}
    for word, value, *place in rows(out, "output", "key", "value", "appended_ms", "partition", "offset"):
        moment = (place[0], place[1], place[2])
        if word not in last or moment > last[word][0]:
            last[word] = moment, json.loads(value)["n"]
    totals: Counter[str] = Counter()
    missing, field_number, end = 0, parameters(out)["field"], before_tail(out)
    quiet = json.loads((out / "outcome.json").read_text())["drain"] == "quiet"
    for *_, n_seq, value in sorted(rows(out, "records", "appended_ms", "partition", "offset", "n_seq", "value")):
        words = [word for word in value.split("\t")[field_number].split(" ") if word]
        totals.update(words)
        # In the tail, what is missing is known to be lost only after a quiet drain.
        if quiet or n_seq < end:
            missing += any(word not in last or totals[word] > last[word][1] for word in words)
    return {"missing": missing, "wrong": sum(count > totals[word] for word, (_, count) in last.items())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="+", default=["spark", "flink", "kafka-streams"])
    parser.add_argument("--only", type=int, help="the number of one run to repeat")
    parser.add_argument("--out", type=Path, help="keeps the run directories")
    asked = parser.parse_args()
    numbers = [asked.only] if asked.only else range(1, asked.runs + 1)
    findings = []
    with ExitStack() as stack:
        home = asked.out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamgauge-bench-")))
        supervisor = stack.enter_context(Supervisor("fault-campaign"))
        jars.fetch(("kafka", "spark"))
        kafka = Kafka.prepare(None, free_ports(2))
        supervisor.start_all(kafka.plan(supervisor.work_dir))
        for number in numbers:
            drawn = draw(asked.seed, number, asked.engines)
            findings.append(carry_out(drawn, home.absolute() / f"{number:03d}", kafka.address))
            findings[-1].show()
    verdicts = Counter(finding.verdict for finding in findings)
    bad = [finding.drawn.number for finding in findings if finding.problems]
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    good = len(findings) - len(bad)
    print(f"{good} of {len(findings)} runs left nothing behind and counted exactly; not: {bad or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
