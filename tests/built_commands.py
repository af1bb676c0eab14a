"""The command line, built once for all tests that call it in this process: that takes longer than most commands."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any
from unittest import mock

from typer.main import get_command

_BUILT = cache(get_command)


def built_once() -> AbstractContextManager[Any]:
    """Within it, a call of the command line uses the commands of the call before."""
    return mock.patch("typer.main.get_command", _BUILT)
