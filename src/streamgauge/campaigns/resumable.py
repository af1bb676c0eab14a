"""Files of campaigns that can be resumed: the results so far, and the settings that they were begun with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.stored import Schema, check, read_json


def read(path: Path, format_: int, schema: Schema) -> dict[str, Any]:
    """Raises UsageError for what is damaged, or of another format."""
    content = read_json(path, {})
    stored_format = content.get("format")
    if stored_format != format_:
        raise UsageError(
            f"{path.name} has a format that this version does not read", where=path, got=stored_format, expected=format_
        )
    check(path, content, schema)
    return content


def check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any], work: str) -> None:
    """Raises UsageError naming the first setting with which the ``work`` there was not begun."""
    for key in {**before, **now}:
        if before.get(key) != now.get(key):
            raise UsageError(
                f"the {work} there has another {key}",
                where=path,
                got="none" if now.get(key) is None else now[key],
                expected="none" if before.get(key) is None else before[key],
                hint="another --out, or the same settings as before",
            )
