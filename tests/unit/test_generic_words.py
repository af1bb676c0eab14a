"""Generic code never names a particular study, workload, data set or transport.

Exceptions are listed below: names in file formats or on the command line, names of rules, and defaults. An exception
that is no longer needed must be removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import streamgauge

ROOT = Path(streamgauge.__file__).parent
SPECIFIC = ("studies", "workloads", "transports", "engines")
"""Their folders are the particular studies, workloads, transports and engines."""
JVM = ("jars", "jvm")
"""Java support for these."""
OWN = "own"
"""The workload of a user's script is generic."""
USERS = (OWN, "yours")
"""Families of workloads for what a user brings; their names are ordinary words."""
TEXT = (".py", ".j2", ".css", ".js")

NAME = re.compile(r"^    name: ClassVar\[str\] = \"(.+)\"", re.MULTILINE)
TRANSPORT_WORDS = {"kafka", "broker", "topic", "bootstrap"}
ORDINARY = {
    *("aggregation", "checks", "games", "identity", "ingest", "join", "parse", "power", "projection", "sample"),
    *("queue", "sink", "statistics", "sustainable"),
}
"""Names that are also ordinary words: they count only as a string that is or begins a name (`join`, `checks/…`)."""

FORMATS = {
    "api.py": {
        "bootstrap: str": "the name of the option, as on the command line",
        'options.get("bootstrap")': "the same",
        "kafka_config: Path | str": "the name of the option, as on the command line",
        'options.get("kafka_config")': "the same",
    },
    "campaigns/capacity.py": {
        '"bootstrap": request.transport_address,': "a setting of a search, in capacity.json",
    },
    "campaigns/capacity_comparison.py": {
        '"bootstrap": "the transport is compared by what its probes ran on",': "the same setting, read",
    },
    "campaigns/reproduction_plan.py": {
        "bootstrap: str | None = None": "the fields of a request are the settings in reproduction.json",
        "campaign.bootstrap": "the same field, read",
    },
    "campaigns/resumable.py": {'"slo", "bootstrap", "load_master"': "the names of options"},
    "cli/clean.py": {
        '"--kafka", metavar="HOST:PORT", help="List topics that killed runs left on your broker."': "the option",
        "With --kafka: also remove these topics.": "the same option",
    },
    "cli/compare.py": {'"transport.topic_settings"': "a key of the manifest"},
    "cli/reproduce.py": {"bootstrap=transport_address": "a setting of reproduction.json"},
    "cli/request.py": {
        '"--bootstrap", metavar="HOST:PORT", help="Use your own Kafka broker instead of starting one."': "the option",
        '"--kafka-config"': "the option",
        "Properties of a Java client of Kafka with the security of your broker": "its help",
        'metavar="STREAM=TOPIC"': "the option --map",
        "The topic that your script reads where --data has another name for it; kafka://HOST:PORT": "its help",
        'metavar="TOPIC", help="Measure at this topic, which': "the option --output",
        'settings.get("broker_port")': "a key of scenarios, also for --set",
        "'cut ROLE from broker for 5s at 20s'": "the group of a process, as faults name it",
        'f"--bootstrap {address} and {port.typed} conflict: broker_port is': "the option, and the same key",
    },
    "evaluate/summary.py": {"broker_offset_ms=": "a key of the summary"},
    "identity.py": {
        '"broker_port": "any free port works"': "a key of scenarios",
        '"topic_settings"': "a key of the manifest",
    },
    "measure/load_processes.py": {'hint="--bootstrap HOST:PORT"': "the option"},
    "model/manifest.py": {
        "topic: str": "a key of the streams in a manifest",
        "topic=stream.address": "the same key, written",
        "self.topic": "the same key, read",
        'stage == "sliding"': "early manifests name a stage, but not its parameters",
        'study == "stage-latency"': "the same",
        'f"traffic/{stage}"': "early manifests name a stage, but not its workload",
    },
    "model/processes.py": {
        '"broker", "load", "evaluate"]': "the group of a process in manifests, outcomes, samples and summaries",
        'TRANSPORT_GROUP: Final = "broker"': "the same group, for everything else",
    },
    "model/scenario.py": {"broker_port: int = 0": "a key of scenarios"},
    "model/summary.py": {"broker_offset_ms: Bounds": "a key of the summary"},
    "report/history.py": {'"transport.topic_settings": "belong': "a key of the manifest"},
    "report/tables.py": {"clock.broker_offset_ms": "a key of the summary"},
    "measure/command.py": {
        '{"broker_port"} if': "a key of scenarios",
        '["--bootstrap", request': "the option",
    },
    "measure/plan.py": {
        "scenario.broker_port": "a key of scenarios",
        "another --set broker_port=…": "a key of scenarios",
    },
    "measure/faults.py": {
        'got="--bootstrap"': "the option",
        'expected="a run without --bootstrap"': "the option",
        "or leave out --bootstrap": "the option",
    },
    "studies/configuration.py": {'"engine", "seed", "broker_port"': "a key of scenarios"},
    "studies/scenario.py": {
        "broker_port: Annotated": "a key of scenarios",
        "broker_port=checked.broker_port": "a key of scenarios",
        '"seed", "broker_port", "generators"': "a key of scenarios",
    },
}
RULES = {
    "evaluate/sustained.py": {
        "def ospbench(": "a rule for sustained rates has the name of the study that published it",
        'rule="ospbench"': "the name of the rule, in a message",
        '"ospbench": ospbench': "the name of the rule, as scenarios have it",
        "def scalability(": "a rule with the name of a study, as above",
        '"scalability": scalability': "the name of the rule, as scenarios have it",
        'rule == "scalability"': "the same",
        '"sustainable": sustainable': "the name of the rule, as scenarios have it",
        'rule in ("slope", "ospbench")': "the names of two rules",
    },
    "notices.py": {"place of scalability": "the name of the rule, in a message"},
    "studies/scenario.py": {
        '"slope", "ospbench", "sustainable", "scalability"': "the names of the rules, as scenarios have them",
    },
}
DEFAULTS = {
    "defaults.py": {
        'SCENARIO = "ospbench/latency"': "what `calibrate` and hints use where the user names none",
        'TRANSPORT = "kafka"': "the one of runs that choose no other",
    },
}
ALLOWED = [(file, text) for part in (FORMATS, RULES, DEFAULTS) for file, texts in part.items() for text in texts]


def generic_files() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*")) if path.suffix in TEXT and is_generic(path.relative_to(ROOT))]


def is_generic(path: Path) -> bool:
    package, *below = path.parts
    return package not in JVM and (package not in SPECIFIC or len(below) == 1 or below[0] == OWN)


def known_words() -> set[str]:
    """Names of the built-in studies, workload families, workloads, data sets and transports."""
    names = set(TRANSPORT_WORDS)
    for kind in ("studies", "workloads", "transports"):
        points = entry_points(group=f"streamgauge.{kind}")
        built_in = {point.name for point in points if point.value.startswith("streamgauge.")}
        names |= {name for name in built_in if name.split("/")[0] not in USERS}
        for file in ROOT.glob(f"{kind}/*/*.py"):
            if file.parent.name not in USERS:
                names |= {file.parent.name.replace("_", "-"), *NAME.findall(file.read_text("utf-8"))}
    return {part for name in names for part in name.split("/")}


def pattern_of(words: set[str]) -> re.Pattern[str]:
    """Matches each word, also inside an identifier; ordinary words only as a string that is or begins a name."""
    spelled = {word: re.escape(word).replace(r"\-", "[-_ ]?") for word in words}
    plain = "|".join(spelled[word] for word in sorted(words - ORDINARY))
    quoted = "|".join(spelled[word] for word in sorted(words & ORDINARY))
    return re.compile(rf"(?:{plain})|(?<=[\"'])(?:{quoted})(?=[\"'/])", re.IGNORECASE)


def occurrences(text: str, pattern: re.Pattern[str], allowed: list[str]) -> Iterator[tuple[int, str]]:
    covered = [(at, at + len(part)) for part in allowed for at in starts(text, part)]
    for match in pattern.finditer(text):
        if not any(start <= match.start() and match.end() <= end for start, end in covered):
            line = text.count("\n", 0, match.start())
            yield line + 1, text.splitlines()[line].strip()


def starts(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


@pytest.fixture(scope="module")
def pattern() -> re.Pattern[str]:
    return pattern_of(known_words())


def test_the_words_cover_everything_registered() -> None:
    words = known_words()
    assert {"ospbench", "stage-latency", "streambench"} <= words
    assert {"traffic", "tumbling", "sliding", "wordcount", "grep", "searchlog", "packets"} <= words
    assert words >= ORDINARY


@pytest.mark.parametrize("file", generic_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_word_of_a_single_study_or_transport(file: Path, pattern: re.Pattern[str]) -> None:
    name = str(file.relative_to(ROOT))
    allowed = [text for where, text in ALLOWED if where == name]
    hits = [f"{file}:{line}: {text}" for line, text in occurrences(file.read_text("utf-8"), pattern, allowed)]
    assert not hits, "a word of one study, workload or transport in generic code:\n" + "\n".join(hits)


@pytest.mark.parametrize(("file", "text"), ALLOWED)
def test_every_exception_is_needed(file: str, text: str, pattern: re.Pattern[str]) -> None:
    assert text in (ROOT / file).read_text("utf-8")
    assert pattern.search(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("own_broker = True", [1]),
        ("class KafkaThing: pass", [1]),
        ("x = 1\n# as stage_latency and Stage-Latency have it\n", [2, 2]),
        ('if stage == "join":', [1]),
        ("resolve('checks/late-records')", [1]),
        ('", ".join(parts); parse(text); "it checks"', []),
        ("the Topics of a run", [1]),
    ],
)
def test_a_word_is_found(text: str, lines: list[int], pattern: re.Pattern[str]) -> None:
    assert [line for line, _ in occurrences(text, pattern, [])] == lines
