"""A function of the user's that makes records: ``--data STREAM=gen.py:function``."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.workloads.yours.given import Given

EXPECTED = "def function(n), which returns key and value, or def function(first, count), which returns a list of those"
Pairs = tuple[list[bytes | None], list[bytes]]


class RecordFunction:
    """Keys and values of the records ``first`` … ``first + count − 1`` of a stream."""

    def __init__(self, given: Given) -> None:
        """Raises UsageError. Runs the file."""
        self._given = given
        self._function = _load(given.file, given.function, Path(given.file).stat().st_mtime_ns)
        parameters = inspect.signature(self._function).parameters.values()
        needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
        if len(needed) not in (1, 2):
            raise UsageError(
                f"wrong arguments of {given.function}",
                where=given.file,
                got=f"def {given.function}{inspect.signature(self._function)}",
                expected=EXPECTED,
            )
        self._in_batches = len(needed) == 2

    def __call__(self, first: int, count: int) -> Pairs:
        try:
            if self._in_batches:
                pairs = list(self._function(first, count))
            else:
                pairs = [self._function(n) for n in range(first, first + count)]
        except Exception as problem:
            raise self._failed(problem) from problem
        if len(pairs) != count:
            raise self._wrong(f"{len(pairs)} records", f"{count}, the number asked for")
        return self._encoded(pairs)

    def _encoded(self, pairs: Sequence[Any]) -> Pairs:
        keys: list[bytes | None] = []
        values: list[bytes] = []
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise self._wrong(repr(pair)[:80], "a tuple of key and value")
            key, value = (one.encode() if isinstance(one, str) else one for one in pair)
            if not isinstance(value, bytes) or not (key is None or isinstance(key, bytes)):
                raise self._wrong(repr(pair)[:80], "bytes or text; the key may be None")
            keys.append(key)
            values.append(value)
        return keys, values

    def _wrong(self, got: str, expected: str) -> UsageError:
        what = f"{self._given.function} returned something that is not a record"
        return UsageError(what, where=self._given.file, got=got, expected=expected)

    def _failed(self, problem: Exception) -> UsageError:
        return failed(f"{self._given.function} of --data {self._given.stream} failed", self._given.file, problem)


@lru_cache(maxsize=8)
def _load(path: str, function: str, _changed_ns: int) -> Callable[..., Any]:
    name = f"streamgauge_data_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        raise failed("the file of --data cannot be loaded", path, problem) from problem
    made: Any = getattr(module, function, None)
    if not callable(made):
        raise UsageError(f"the file of --data does not define {function}", where=path, expected=EXPECTED)
    return made  # type: ignore[no-any-return]


def failed(what: str, path: str, problem: BaseException) -> UsageError:
    """The error with the line of the file and the exception raised there."""
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == path]
    where = f"{path}, line {lines[-1]}" if lines else path
    return UsageError(what, where=where, got=f"{type(problem).__name__}: {problem}".splitlines()[0])
