"""A user's script: what it holds, found without running it; and its functions, run.

The file is code. It runs in the engine's Python process (``build``) and in the evaluator's (``reference``), nowhere
else.
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


def inspect(path: Path) -> Script:
    """What the file says of itself. It is read, not run. Raises UsageError with the line of the mistake."""
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
    if "build" not in names and not names.imports_all:
        raise UsageError("the script has no build", where=path, expected=_EXPECTED, hint=_TUTORIAL)
    names.check_function("build", ("spark", "source"))
    names.check_function("reference", ("inputs",))
    key = names.literal("key")
    if ("reference" in names) != (key is not None):
        given, lacking = ("reference", "key") if key is None else ("key", "reference")
        raise UsageError(
            f"the script has a {given} but no {lacking}",
            where=path,
            expected='def reference(inputs) and key = ["id", …], which names the columns that tell its rows apart',
            hint=_TUTORIAL,
        )
    return Script(
        path=str(path.absolute()),
        sha256=hashlib.sha256(content).hexdigest(),
        key=names.key(key),
        settles_s=names.settles_s(),
    )


class _Names:
    """What the file defines at its top level, also inside ``if`` and ``try``."""

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
        """A function that is written here takes that many arguments; of one from elsewhere nothing is known."""
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
                f"{name} takes other arguments than it is given",
                where=self._where(name),
                got=f"def {name}({ast.unparse(arguments)})",
                expected=expected,
            )

    def literal(self, name: str) -> Any:
        """The value of an assignment that can be read without running the file; None when there is none."""
        if name not in self._defined:
            return None
        statement = self._defined[name]
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        try:
            return ast.literal_eval(value) if value is not None else _NOT_WRITTEN_DOWN
        except (ValueError, TypeError):
            return _NOT_WRITTEN_DOWN

    def key(self, given: Any) -> tuple[str, ...]:
        if given is None:
            return ()
        names = list(given) if isinstance(given, list | tuple) else []
        if not names or not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
            raise UsageError(
                "key does not name columns",
                where=self._where("key"),
                got=given if given is _NOT_WRITTEN_DOWN else repr(given),
                expected='a list of names, each once, written down as it is: key = ["id", "window_end_ms"]',
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
                got=given if given is _NOT_WRITTEN_DOWN else repr(given),
                expected=f"a number of seconds from 0 to {SETTLES_MOST_S:g}, written down as it is: settles_s = 3",
            )
        return float(given)


_NOT_WRITTEN_DOWN = "a value that is known only when the file runs"


class ScriptCode:
    """The functions of a script that has been run. What they raise becomes a UsageError that names the line."""

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
        """The error that shows the user's own line and what was raised there."""
        frames = traceback.extract_tb(problem.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == self.script.path and frame.lineno]
        where = self.script.path
        if lines:
            where = f"{where}, line {lines[-1]}: {self._text.splitlines()[lines[-1] - 1].strip()}"
        return UsageError(what, where=where, got=one_line(problem))


@contextmanager
def running(copy: Path, original: Path, spark: SparkSession) -> Iterator[ScriptCode]:
    """Run the file ``copy``, as if it lay where the user has it, and give its functions.

    Modules beside the original can be imported, here and in Spark's Python workers on this machine. With the block
    they are forgotten again: the next file may have others of the same name.
    """
    from pyspark import cloudpickle

    script = replace(inspect(copy), path=str(original))
    text = decode_source(copy.read_bytes())
    module = ModuleType(MODULE)
    module.__file__ = str(original)
    code = ScriptCode(script, text, module)
    beside = str(original.parent)
    environment = spark.sparkContext.environment
    before = set(sys.modules)
    # Last, so that a file of the user's does not take the place of a library's.
    sys.path.append(beside)
    sys.modules[MODULE] = module
    environment["PYTHONPATH"] = beside
    # The workers do not have this module: what they need of it is sent to them.
    cloudpickle.register_pickle_by_value(module)
    try:
        try:
            exec(compile(text, str(original), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  it is code
        except (Exception, SystemExit) as problem:
            raise code.blamed("the script cannot be run", problem) from problem
        yield code
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del environment["PYTHONPATH"]
        sys.path.remove(beside)
        for name in [name for name in set(sys.modules) - before if _is_users(name, beside)]:
            del sys.modules[name]


def _is_users(module: str, directory: str) -> bool:
    """Whether it came from beside the script. A virtual environment, or we, may lie below the same directory."""
    file = getattr(sys.modules[module], "__file__", None) or ""
    return module == MODULE or (
        file.startswith(directory) and "site-packages" not in file and not module.startswith("streamgauge.")
    )


def one_line(problem: BaseException) -> str:
    """The exception in one line. Spark's own go on with a plan; a Python function's ends with what it raised."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    if not lines:
        return type(problem).__name__
    message = lines[-1] if type(problem).__name__ == "PythonException" else lines[0]
    return f"{type(problem).__name__}: {message}"
