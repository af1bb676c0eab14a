"""Every reason and warning has an entry in the troubleshooting page, and nothing else words one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import streamgauge
from streamgauge.notices import NOTICES, Notice, notice

SOURCE = Path(streamgauge.__file__).parent
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "troubleshooting.md"
ENTRY = re.compile(r"^### (.+)\n\n> (.+)\n\n((?:.+\n)+)", re.MULTILINE)


def calls(name: str, without: str = "") -> Iterator[ast.Call]:
    """Calls of a function or method of that name, in all of the source but one folder."""
    for path in sorted(path for path in SOURCE.rglob("*.py") if path.parent.name != without):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and name in (
                getattr(node.func, "id", None),
                getattr(node.func, "attr", None),
            ):
                yield node


def used() -> list[str]:
    return [ast.literal_eval(call.args[0]) for call in calls("notice")]


def entries() -> dict[str, tuple[str, str]]:
    found = ENTRY.findall(PAGE.read_text(encoding="utf-8"))
    return {name: (quoted, text) for name, quoted, text in found}


def test_every_notice_is_used_and_every_used_one_is_listed() -> None:
    assert set(used()) == set(NOTICES)


def test_every_notice_has_an_entry_and_every_entry_a_notice() -> None:
    assert set(entries()) == set(NOTICES)
    assert PAGE.read_text(encoding="utf-8").count("\n### ") == len(NOTICES), "an entry has another form"


@pytest.mark.parametrize("name", NOTICES)
def test_an_entry_quotes_the_text_and_says_what_to_do(name: str) -> None:
    quoted, text = entries()[name]
    assert quoted == re.sub(r"\{[^{}]*\}", "…", NOTICES[name])
    cause, found, remedy = text.partition("**What to do:** ")
    assert cause.strip() and found and remedy.strip()


def test_no_text_is_worded_elsewhere() -> None:
    """mypy refuses a plain text where a Notice is expected; what a reporter shows at once has no such type."""
    shown = [call.args[0] for call in calls("warn", without="cli") if call.args]
    assert shown
    assert [ast.unparse(text) for text in shown if isinstance(text, ast.JoinedStr | ast.Constant)] == []
    made = [call for call in calls("Notice") if call.args]
    allowed = {"NOTICES[name].format(**values)", "'; '.join(notices)", "facts.outcome.hopeless"}
    assert {ast.unparse(call.args[0]) for call in made} == allowed


def test_a_notice_is_a_text() -> None:
    text = notice("generator-late", late_ms=250.04, second=3, limit_ms=200.0)
    assert isinstance(text, Notice)
    assert text == "the generator was 250.0 ms late in second 3 of the load; the limit is 200.0 ms"


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        notice("generator-late", late_ms=1.0)
