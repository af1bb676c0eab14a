"""Reads and writes the small JSON files: one model for each kind, validated before use.

Unknown keys of a newer version are kept. Keys that an older version did not write have an equivalent default.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from streamgauge.errors import UsageError

Content = Mapping[str, Any]
Upgrade = Callable[[Content], Content]


class Stored(BaseModel):
    """A file, or an object in one. Written with the keys that were set, in the order of the fields."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)

    def with_changes(self, **changes: Any) -> Self:
        """A validated copy. Raises pydantic's ValidationError for values that a reader would refuse."""
        return type(self).model_validate({**self.as_json(), **changes})


def _number(value: object) -> float:
    """Unchanged: an integer must not become 1.0 when it is written again."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise PydanticCustomError("number", "a number")
    return value


def at_least_zero(most: float = math.inf) -> PlainValidator:
    """Validates a number from 0 to ``most``."""
    text = "a number from 0" + ("" if math.isinf(most) else f" to {most:g}")

    def check(value: object) -> float:
        if not 0 <= (number := _number(value)) <= most:
            raise PydanticCustomError("number", text)
        return number

    return PlainValidator(check)


Number = Annotated[float, PlainValidator(_number)]
Positive = Annotated[float, at_least_zero()]
MOST = 2**62
"""Larger numbers are a mistake, and do not fit into a float or a column."""
Count = Annotated[int, Field(ge=0, le=MOST)]
AtLeastOne = Annotated[int, Field(ge=1)]
Moment = Annotated[int, Field(ge=0, le=MOST)]
Figures = Mapping[str, Number | None]

CAMPAIGN_HINT = "restore it from a copy, or use another --out"
"""For the damaged file of a campaign, beside which the results so far are kept."""

Kind = TypeVar("Kind", bound=BaseModel)


def read(path: Path, kind: type[Kind], hint: str | None = None, upgrade: Upgrade | None = None) -> Kind:
    """The file's content; ``upgrade`` converts content of an older version to what ``kind`` expects.

    Raises UsageError with file, key and what was expected, and FileNotFoundError.
    """
    text = path.read_bytes()
    if upgrade is not None:
        text = json.dumps(upgrade(read_object(path, hint))).encode()
    return parse(path, text, kind, hint)


def parse(path: Path, text: bytes, kind: type[Kind], hint: str | None = None, where: str = "") -> Kind:
    """Like ``read``, for a part of the file that ``where`` names."""
    try:
        return kind.model_validate_json(text, strict=True)
    except ValidationError as problem:
        error = problem.errors(include_url=False)[0]
        raise damaged(path, *_described(error, where), hint) from None


def read_object(path: Path, hint: str | None = None) -> dict[str, Any]:
    """The file's raw content. Raises UsageError if it is not a JSON object, and FileNotFoundError."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise damaged(path, f"not JSON: {problem}", None, hint) from None
    if not isinstance(content, dict):
        raise damaged(path, f"the content is {_shown(content)}", "an object", hint)
    return content


def read_format(path: Path, known: int, hint: str | None = None, name: str | None = None) -> dict[str, Any]:
    """Like ``read_object``; also raises UsageError for another format of the file, or of what it is the ``name`` of."""
    content = read_object(path, hint)
    if content.get("format") != known:
        raise UsageError(
            f"{name or path.name} has a format that this version does not read",
            where=path,
            got=_shown(content.get("format")),
            expected=known,
            hint="use the version of streamgauge that wrote it",
        )
    return content


def write_json(path: Path, content: Content) -> None:
    """Write it atomically: a reader never sees an incomplete file."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def damaged(path: Path, got: str, expected: str | None, hint: str | None = None) -> UsageError:
    return UsageError(
        f"{path.name} is damaged",
        where=path,
        got=got,
        expected=expected,
        hint=hint or "restore it from a copy, or run it again",
    )


_WORDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "model_type": "an object",
    "dict_type": "an object",
    "dataclass_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
}


def _described(error: ErrorDetails, where: str) -> tuple[str, str | None]:
    """What was found, and what was expected."""
    kind, context = error["type"], error.get("ctx", {})
    place = where
    for part in error["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    if kind == "json_invalid":
        return f"{f'{place} is ' if place else ''}not JSON: {context['error']}", None
    if kind == "missing":
        return f"{place} is missing", None
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{place} is unknown", "the version of streamgauge that wrote it"
    expected = _WORDS.get(kind)
    if kind == "literal_error":
        expected = f"one of {context['expected']}"
    elif kind in ("greater_than_equal", "less_than_equal"):
        expected = f"a number from {context['ge']:g}" if "ge" in context else f"a number up to {context['le']:g}"
    return f"{place or 'the content'} is {_shown(error['input'])}", expected or error["msg"]


def _shown(content: object) -> str:
    if isinstance(content, dict):
        return "an object"
    if isinstance(content, list):
        return "a list"
    return repr(content) if len(repr(content)) < 60 else f"{repr(content)[:60]}…"
