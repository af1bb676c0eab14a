"""A function of the user's that makes records: ``--data STREAM=gen.py:function``."""

from __future__ import annotations

import hashlib
import inspect
import reprlib
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.workloads.yours.files import stat_regular
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.rows import check_size

EXPECTED = "def function(n), which returns key and value, or def function(first, count), which returns a list of those"
Pairs = tuple[list[bytes | None], list[bytes]]


class RecordFunction:
    """Keys and values of the records ``first`` … ``first + count − 1`` of a stream."""

    def __init__(self, given: Given) -> None:
        """Raises UsageError. Runs the file."""
        self._given = given
        changed_ns = stat_regular(Path(given.file), "the file of --data").st_mtime_ns
        self._function = _load(given.file, given.function, changed_ns)
        self._in_batches = self._needed() == 2

    def _needed(self) -> int:
        """How many arguments the function needs. Raises UsageError unless it is called with one or two."""
        name = self._given.function
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):
            got = f"{name} = {reprlib.repr(self._function)}"
        else:
            got = f"def {name}{signature}"
            needed = [
                one.kind
                for one in signature.parameters.values()
                if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            ]
            by_name = inspect.Parameter.KEYWORD_ONLY in needed
            if len(needed) in (1, 2) and not by_name and not inspect.iscoroutinefunction(self._function):
                return len(needed)
            if inspect.iscoroutinefunction(self._function):
                got = f"async {got}"
        raise UsageError(f"wrong arguments of {name}", where=self._given.file, got=got, expected=EXPECTED)

    def __call__(self, first: int, count: int) -> Pairs:
        """Raises UsageError, whatever the function does, except for Ctrl-C."""
        try:
            pairs = self._pairs(first, count)
        except (KeyboardInterrupt, UsageError):
            raise
        # Also sys.exit, which would end the run as if it had succeeded.
        except BaseException as problem:
            what = f"{self._given.function} of --data {self._given.stream} failed"
            raise failed(what, self._given.file, problem) from problem
        if len(pairs) != count:
            got = f"more than {count} records" if len(pairs) > count else f"{len(pairs)} records"
            raise self._wrong(got, f"{count}, the number asked for")
        return self._encoded(first, pairs)

    def _pairs(self, first: int, count: int) -> list[Any]:
        if not self._in_batches:
            return [self._function(n) for n in range(first, first + count)]
        returned = self._function(first, count)
        if not isinstance(returned, Iterable):
            raise self._wrong(reprlib.repr(returned), "a list of keys and values")
        # One more than asked for shows that there are too many; a generator may have no end.
        return list(islice(returned, count + 1))

    def _encoded(self, first: int, pairs: Sequence[Any]) -> Pairs:
        keys: list[bytes | None] = []
        values: list[bytes] = []
        for number, pair in enumerate(pairs, first):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise self._wrong(reprlib.repr(pair), "a tuple of key and value")
            try:
                key, value = (one.encode() if isinstance(one, str) else one for one in pair)
            except UnicodeEncodeError as problem:
                raise self._wrong(ascii(pair)[:80], f"text that UTF-8 can encode: {problem.reason}") from None
            if not isinstance(value, bytes) or not (key is None or isinstance(key, bytes)):
                raise self._wrong(reprlib.repr(pair), "bytes or text; the key may be None")
            check_size(key, value, f"{self._given.file}, record {number} of {self._given.function}")
            keys.append(key)
            values.append(value)
        return keys, values

    def _wrong(self, got: str, expected: str) -> UsageError:
        what = f"{self._given.function} returned something that is not a record"
        return UsageError(what, where=self._given.file, got=got, expected=expected)


@lru_cache(maxsize=8)
def _load(path: str, function: str, _changed_ns: int) -> Callable[..., Any]:
    name = f"streamgauge_data_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        raise failed("the file of --data cannot be loaded", path, problem) from problem
    made: Any = getattr(module, function, None)
    if not callable(made):
        raise UsageError(f"the file of --data does not define {function}", where=path, expected=EXPECTED)
    return made  # type: ignore[no-any-return]


def failed(what: str, path: str, problem: BaseException) -> UsageError:
    """The error with the line of the file and the exception raised there."""
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == path]
    where = f"{path}, line {lines[-1]}" if lines else path
    got = f"{type(problem).__name__}: {problem}".splitlines()[0]
    # A lone surrogate could not be printed.
    return UsageError(what, where=where, got=got.encode(errors="backslashreplace").decode())
