"""A user's script: its content, inspected without running it, and its functions.

The file is code. It runs only in the engine's Python process (``build``) and in the evaluator's (``reference``).
"""

from __future__ import annotations

import ast
import hashlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from streamgauge.errors import UsageError
from streamgauge.model import Script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULE = "streamgauge_own_script"
SETTLES_MOST_S = 3600.0

_EXPECTED = "def build(spark, source), which returns a streaming DataFrame"
_TUTORIAL = "docs/tutorial/own-script.md and examples/own_script.py"


def inspect(path: Path, *, only_reference: bool = False) -> Script:
    """Inspect the file without running it. Raises UsageError with the line of the mistake.

    ``only_reference``: it is the reference of another program, so it need not define ``build``.
    """
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError("the script cannot be read", where=path, got=problem.strerror, hint=_TUTORIAL) from None
    try:
        tree = ast.parse(content, filename=path.name)
    except SyntaxError as problem:
        line = f"{path}:{problem.lineno}" if problem.lineno else str(path)
        shown = problem.text.strip() if problem.text else None
        raise UsageError(f"{line}: syntax error: {problem.msg}", got=shown, hint=_TUTORIAL) from None
    except ValueError as problem:  # a null byte
        raise UsageError(f"{path}: syntax error: {problem}", hint=_TUTORIAL) from None
    names = _Names(path, tree.body)
    if only_reference and "reference" not in names:
        raise UsageError(
            "the file has no reference", where=path, expected="def reference(inputs) and key = […]", hint=_TUTORIAL
        )
    if "build" not in names and not names.imports_all and not only_reference:
        raise UsageError("the script does not define build", where=path, expected=_EXPECTED, hint=_TUTORIAL)
    names.check_function("build", ("spark", "source"))
    names.check_function("reference", ("inputs",))
    key = names.literal("key")
    if ("reference" in names) != (key is not None):
        given, lacking = ("reference", "key") if key is None else ("key", "reference")
        raise UsageError(
            f"the script defines {given} but not {lacking}",
            where=path,
            expected='def reference(inputs), and key = ["id", …] with the columns that identify its rows',
            hint=_TUTORIAL,
        )
    return Script(
        path=str(path.absolute()),
        sha256=hashlib.sha256(content).hexdigest(),
        key=names.key(key),
        settles_s=names.settles_s(),
    )


class _Names:
    """The top-level definitions of the file, also inside ``if`` and ``try``."""

    def __init__(self, path: Path, body: Sequence[ast.stmt]) -> None:
        self._path = path
        self._defined: dict[str, ast.stmt] = {}
        self.imports_all = False
        self._gather(body)

    def __contains__(self, name: str) -> bool:
        return name in self._defined

    def _gather(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._defined[statement.name] = statement
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                self._defined |= {target.id: statement for target in targets if isinstance(target, ast.Name)}
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                self.imports_all |= any(name.name == "*" for name in statement.names)
                self._defined |= {name.asname or name.name: statement for name in statement.names}
            elif isinstance(statement, ast.If | ast.Try | ast.With):
                for part in ("body", "orelse", "finalbody"):
                    self._gather(getattr(statement, part, []))

    def _where(self, name: str) -> str:
        return f"{self._path}, line {self._defined[name].lineno}"

    def check_function(self, name: str, takes: Sequence[str]) -> None:
        """Check the number of arguments of a function that is defined here; an imported one cannot be checked."""
        definition = self._defined.get(name)
        if definition is None or isinstance(definition, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
            return
        expected = f"def {name}({', '.join(takes)})"
        if not isinstance(definition, ast.FunctionDef):
            raise UsageError(f"{name} must be an ordinary function", where=self._where(name), expected=expected)
        arguments = definition.args
        most = len(arguments.posonlyargs) + len(arguments.args)
        least = most - len(arguments.defaults)
        fits = least <= len(takes) and (most >= len(takes) or arguments.vararg is not None)
        if not fits or any(default is None for default in arguments.kw_defaults):
            raise UsageError(
                f"wrong arguments of {name}",
                where=self._where(name),
                got=f"def {name}({ast.unparse(arguments)})",
                expected=expected,
            )

    def literal(self, name: str) -> Any:
        """The value of a literal assignment; None if there is no assignment."""
        if name not in self._defined:
            return None
        statement = self._defined[name]
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        try:
            return ast.literal_eval(value) if value is not None else _NOT_LITERAL
        except (ValueError, TypeError):
            return _NOT_LITERAL

    def key(self, given: Any) -> tuple[str, ...]:
        if given is None:
            return ()
        names = list(given) if isinstance(given, list | tuple) else []
        if not names or not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise UsageError(
                "invalid key",
                where=self._where("key"),
                got=given if given is _NOT_LITERAL else repr(given),
                expected='a literal list of distinct column names, such as key = ["id", "window_end_ms"]',
            )
        return tuple(names)

    def settles_s(self) -> float:
        given = self.literal("settles_s")
        if given is None:
            return 0.0
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= SETTLES_MOST_S:
            raise UsageError(
                "invalid settles_s",
                where=self._where("settles_s"),
                got=given if given is _NOT_LITERAL else repr(given),
                expected=f"a literal number of seconds from 0 to {SETTLES_MOST_S:g}, such as settles_s = 3",
            )
        return float(given)


_NOT_LITERAL = "a value that is not a literal"


class ScriptCode:
    """The functions of a loaded script. Exceptions in them become a UsageError that names the line."""

    def __init__(self, script: Script, text: str, module: ModuleType) -> None:
        self.script = script
        self._text = text
        self._module = module

    def call(self, function: str, *arguments: Any) -> Any:
        member = getattr(self._module, function, None)
        if not callable(member):
            raise UsageError(f"{function} is not a function", where=self.script.path, got=type(member).__name__)
        try:
            return member(*arguments)
        except (Exception, SystemExit) as problem:
            raise self.blamed(f"{function} of the script failed", problem) from problem

    def blamed(self, what: str, problem: BaseException) -> UsageError:
        """The error with the line of the script and the exception raised there."""
        frames = traceback.extract_tb(problem.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == self.script.path and frame.lineno]
        where = self.script.path
        if lines:
            where = f"{where}, line {lines[-1]}: {self._text.splitlines()[lines[-1] - 1].strip()}"
        return UsageError(what, where=where, got=one_line(problem))


@contextmanager
def running(copy: Path, original: Path, spark: SparkSession, *, only_reference: bool = False) -> Iterator[ScriptCode]:
    """Load the file ``copy`` as if it were at ``original``, and return its functions.

    Modules next to the original can be imported, here and in Spark's Python workers on this machine. They are unloaded
    at the end of the block: the next script may have others of the same name.
    """
    from pyspark import cloudpickle

    script = replace(inspect(copy, only_reference=only_reference), path=str(original))
    text = decode_source(copy.read_bytes())
    module = ModuleType(MODULE)
    module.__file__ = str(original)
    code = ScriptCode(script, text, module)
    beside = str(original.parent)
    environment = spark.sparkContext.environment
    before = set(sys.modules)
    # Last, so that a user's file does not shadow a library.
    sys.path.append(beside)
    sys.modules[MODULE] = module
    environment["PYTHONPATH"] = beside
    # The workers cannot import this module: it is pickled by value.
    cloudpickle.register_pickle_by_value(module)
    try:
        try:
            exec(compile(text, str(original), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  runs the user's code
        except (Exception, SystemExit) as problem:
            raise code.blamed("the script cannot be loaded", problem) from problem
        yield code
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del environment["PYTHONPATH"]
        sys.path.remove(beside)
        for name in [name for name in set(sys.modules) - before if _is_users(name, beside)]:
            del sys.modules[name]


def _is_users(module: str, directory: str) -> bool:
    """Whether it came from the script's directory, which may also contain a virtual environment or streamgauge."""
    file = getattr(sys.modules[module], "__file__", None) or ""
    return module == MODULE or (
        file.startswith(directory) and "site-packages" not in file and not module.startswith("streamgauge.")
    )


def one_line(problem: BaseException) -> str:
    """The exception in one line. Spark appends a plan; a PythonException ends with the original exception."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    if not lines:
        return type(problem).__name__
    message = lines[-1] if type(problem).__name__ == "PythonException" else lines[0]
    return f"{type(problem).__name__}: {message}"
