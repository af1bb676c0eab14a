"""Writes the parts of the documentation that follow from the code: `make docs`.

docs/reference/cli.md, docs/reference/environment.md and the table of studies in README.md. tests/unit/docs compares
them with what this script makes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from typer.main import get_command

from streamgauge import registry
from streamgauge.cli.main import app
from streamgauge.report.glossary import as_markdown
from streamgauge.studies import scenario as scenarios

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
TABLE = re.compile(r"(?<=<!-- studies: make docs -->\n).*?(?=<!-- /studies -->)", re.DOTALL)


def cli() -> str:
    """Every command with its arguments and options."""
    parts = [
        "# Command line",
        "",
        "Made from the commands themselves by `make docs`; `streamgauge COMMAND --help` prints the same.",
        "",
        "Durations: `30s`, `5m`, `500ms`. Rates: `400/s`, `10k/s`. See also [exit codes](exit-codes.md) and "
        "[environment variables](environment.md).",
        "",
    ]
    root = get_command(app)
    context = root.context_class(root, info_name="streamgauge")
    parts += _described("streamgauge", root, context)
    for name, command, below in _commands(root, context):
        parts += _described(name, command, below)
    return "\n".join(parts).rstrip() + "\n"


def _commands(group: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    """All commands below a group, in the order of `--help`; those that are hidden are left out."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        below = command.context_class(command, info_name=name, parent=context)
        if getattr(command, "hidden", False):
            continue
        if hasattr(command, "list_commands"):
            yield from _commands(command, below)
        else:
            yield below.command_path, command, below


def _described(name: str, command: Any, context: Any) -> list[str]:
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", f"```console\n$ {usage}\n```", "", _text(command.help or ""), ""]
    records = [record for one in command.get_params(context) if (record := one.get_help_record(context)) is not None]
    if records:
        lines += ["| | |", "|---|---|"]
        lines += [f"| `{_cell(names)}` | {_cell(_text(text))} |" for names, text in records]
        lines.append("")
    return lines


def _text(text: str) -> str:
    return re.sub(r"[ \t]*\n[ \t]*", "\n", text.replace("\f", "").replace("\b", "")).strip()


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def variables() -> dict[str, dict[str, str]]:
    """Every environment variable with its meaning, by section."""
    return tomllib.loads((DOCS / "environment.toml").read_text(encoding="utf-8"))


def environment() -> str:
    """Every environment variable."""
    parts = [
        "# Environment variables",
        "",
        "Made by `make docs`; a test compares the names with the source code.",
        "",
    ]
    for title, listed in variables().items():
        parts += [f"## {title}", "", "| variable | meaning |", "|---|---|"]
        parts += [f"| `{name}` | {text} |" for name, text in listed.items()]
        parts.append("")
    parts += [
        "## Not passed on",
        "",
        "Variables that change how Java, Spark, log4j or Python run do not reach the processes of a run, so that they "
        "change nothing in it: `_JAVA_OPTIONS`, `JAVA_TOOL_OPTIONS`, `JDK_JAVA_OPTIONS`, `SPARK_*`, `PYSPARK_*`, "
        "`LOG4J_*` and the debugging variables of Python. A warning names those that are set. Your own program "
        "(`--engine command`) and an unchanged script keep them ([protocol](protocol.md#environment)).",
    ]
    return "\n".join(parts).rstrip() + "\n"


def studies() -> str:
    """The table of studies and systems."""
    content = tomllib.loads((DOCS / "studies.toml").read_text(encoding="utf-8"))
    systems: dict[str, str] = content["systems"]
    lines = [
        f"| study | {' | '.join(systems)} |",
        f"|---|{'---|' * len(systems)}",
    ]
    for study in content["study"]:
        cells = [_state(study, title, engine) for title, engine in systems.items()]
        lines.append(f"| `{study['name']}`: {study['paper']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _state(study: Mapping[str, Any], title: str, engine: str) -> str:
    """Bold for the systems of the paper."""
    measured = title in study["measured"]
    state = _here(study["name"], engine)
    if state == "done" and "to_come" in study:
        state = "partly"
    if state is None:
        return "**to come**" if measured else "–"
    return f"**{state}**" if measured else state


def _here(study: str, engine: str) -> str | None:
    """*done*: the engine runs every workload of the study, if not every experiment. *partly*: some of them."""
    if study not in registry.names("studies") or engine not in registry.names("engines"):
        return None
    gaps = registry.engine(engine).traits.gaps
    workloads = {name for scenario in scenarios.names() if scenario.startswith(f"{study}/") for name in _of(scenario)}
    runnable = [name for name in workloads if name in registry.engine(engine).traits.workloads and name not in gaps]
    if not runnable:
        return None
    complete = bool(registry.study_description(study).experiments) and len(runnable) == len(workloads)
    return "done" if complete else "partly"


def _of(scenario: str) -> list[str]:
    """The workloads of a scenario."""
    study, _, name = scenario.partition("/")
    text = (resources.files(registry.study(study)) / f"{name}.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["workloads"].values())


def readme() -> str:
    """README.md with the table of studies as it should be."""
    text, count = TABLE.subn(lambda _: studies(), README.read_text(encoding="utf-8"))
    assert count == 1, "README.md has no place for the table of studies"
    return text


FILES = {
    DOCS / "reference" / "cli.md": cli,
    DOCS / "reference" / "environment.md": environment,
    DOCS / "reference" / "glossary.md": as_markdown,
    README: readme,
}


if __name__ == "__main__":
    for path, made in FILES.items():
        path.write_text(made(), encoding="utf-8")
