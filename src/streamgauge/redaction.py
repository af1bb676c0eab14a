"""Keeps secrets out of manifest, command line, report and messages.

The names that mark a secret, and the replacement text, are those of Spark's ``spark.redaction.regex``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

REDACTED = "*********(redacted)"

_NAMES = r"secret|password|token|access[.]?key"
_NAME = re.compile(_NAMES, re.IGNORECASE)
# A setting inside a value, as in a JAAS configuration or a JSON text.
_INSIDE = re.compile(rf"(?:{_NAMES})[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/?#\s@]*:[^/?#\s]*(?=@)")


def redact_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with secret values replaced, at any depth; a name or a value can mark a secret."""
    return {name: _redact_value(str(name), value) for name, value in options.items()}


def redact_arguments(words: Sequence[str]) -> list[str]:
    """A command line with secrets replaced: ``--name value``, ``--name=value``, ``NAME=value``, ``scheme://user:…@``.

    The first word, the program, is never changed.
    """
    redacted: list[str] = []
    follows_name = False
    for argument in words:
        if follows_name and not argument.startswith("--"):
            redacted.append(REDACTED)
            follows_name = False
            continue
        name, equals, value = argument.partition("=")
        follows_name = not equals and argument.startswith("-") and bool(_NAME.search(argument))
        if equals and value and (_NAME.search(name) or _INSIDE.search(value)):
            redacted.append(f"{name}={REDACTED}")
        elif redacted and not equals and _INSIDE.search(argument):
            redacted.append(REDACTED)
        else:
            redacted.append(_without_userinfo(argument))
    return redacted


def is_redacted(text: str) -> bool:
    """Whether a secret was removed from this text."""
    return REDACTED in text


def _redact_value(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return redact_options(value)
    if isinstance(value, str):
        marked = value and (_NAME.search(name) or _INSIDE.search(value))
        return REDACTED if marked else _without_userinfo(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_redact_value(name, item) for item in value]
    return value


def _without_userinfo(text: str) -> str:
    return _USERINFO.sub(REDACTED, text)
