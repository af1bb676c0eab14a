"""What `make docs` writes is what lies there, and leaves out no option, variable, study or system."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.main import get_command

import streamgauge
from streamgauge.cli.main import app

ROOT = Path(__file__).parents[3]
SOURCE = Path(streamgauge.__file__).parent
UNRESOLVED = {("dirs.py", "own"), ("dirs.py", "xdg")}
"""Parameters; the names are arguments in the same file."""


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["docs/reference/cli.md", "docs/reference/environment.md", "README.md"])
def test_the_file_is_up_to_date(generate: ModuleType, name: str) -> None:
    made = generate.FILES[ROOT / name]()
    assert (ROOT / name).read_text(encoding="utf-8") == made, "run `make docs`"


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands(get_command(app), "streamgauge"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_in_the_reference(name: str) -> None:
    if COMMANDS[name].hidden:
        return
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text.partition(f"\n## {name}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    assert section
    for parameter in COMMANDS[name].params:
        if not getattr(parameter, "hidden", False):
            shown = parameter.opts if parameter.param_type_name == "option" else [""]
            assert all(f"`{option}" in section or f" {option}" in section for option in shown), parameter.name


@pytest.mark.parametrize("name", ["streamgauge capacity", "streamgauge scale"])
def test_a_search_offers_no_faults_and_to_resume(name: str) -> None:
    options = {option: parameter for parameter in COMMANDS[name].params for option in parameter.opts}
    assert options["--fault"].hidden
    assert "resume" in options["--out"].help
    section = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8").partition(f"\n## {name}\n")[2]
    assert "--fault" not in section.partition("\n## ")[0]


def literals(tree: ast.AST) -> dict[str, str]:
    """Constants of a module by name."""
    return {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def keys_read(path: Path) -> Iterator[str]:
    """Names of variables that a module takes from an environment; raises where one cannot be resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = literals(tree)
    for node in ast.walk(tree):
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv", "environment.get"):
            key = node.args[0]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            key = node.slice
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) in ("os.environ", "environment"):
            key = node.left
        if key is None:
            continue
        if isinstance(key, ast.Constant):
            yield key.value
        elif isinstance(key, ast.Name) and key.id in known:
            yield known[key.id]
        elif (path.name, ast.unparse(key)) not in UNRESOLVED:
            raise AssertionError(f"{path}: which variable is {ast.unparse(key)}?")


def test_every_variable_is_documented(generate: ModuleType) -> None:
    documented = {name for listed in generate.variables().values() for name in listed}
    sources = [(path, path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    read = {name for path, _ in sources for name in keys_read(path)}
    ours = {name for _, text in sources for name in re.findall(r"\b(?:STREAMGAUGE|XDG)_[A-Z_]+", text)}
    assert "JAVA_HOME" in read
    assert read | ours <= documented
    assert {name for name in documented if name.startswith("STREAMGAUGE_")} <= ours


def test_every_study_and_engine_is_in_the_table(generate: ModuleType) -> None:
    content = tomllib.loads((ROOT / "docs" / "studies.toml").read_text(encoding="utf-8"))
    names = [study["name"] for study in content["study"]]
    assert len(names) == 7
    assert {*generate.registry.own_names("studies")} - {"checks", "yours"} <= {*names}
    assert {*generate.registry.own_names("engines")} - {"echo", "command", "pyspark"} <= {*content["systems"].values()}
    assert all(set(study["measured"]) <= set(content["systems"]) for study in content["study"])
