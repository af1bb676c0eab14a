"""The evaluator's process: takes requests on standard input, one JSON object a line, until it ends.

``{"do": "record", "run": PATH}`` is answered by ``{"event": "recorded", "run": PATH}``, ``{"do": "evaluate",
"run": PATH}`` by ``{"event": "evaluated", "run": PATH}``, ``{"do": "evaluate-slice", "run": PATH, "number": N}`` by
``{"event": "evaluated-slice", "run": PATH}``; each by ``{"event": "failed", "message": …}`` when it cannot be done.
``progress`` events come in between.
"""

from __future__ import annotations

import json
import signal
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.evaluate import evaluate
from streamgauge.evaluate.record import record
from streamgauge.evaluate.slices import evaluate_slice
from streamgauge.jvm.spark import connect
from streamgauge.protocol import emit
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> int:
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command line handles Ctrl-C

    @cache
    def spark() -> SparkSession:
        return connect(Path(settings["connection_file"]))

    def progress(text: str) -> None:
        emit("progress", message=text)

    emit("ready")
    for line in sys.stdin:
        try:
            request = json.loads(line)
            run = RunDir.open(Path(request["run"]))
            if request["do"] == "record":
                record(spark(), run, progress)
                emit("recorded", run=request["run"])
            elif request["do"] == "evaluate":
                evaluate(spark, run, progress)
                emit("evaluated", run=request["run"])
            elif request["do"] == "evaluate-slice":
                evaluate_slice(spark(), run, request["number"], progress)
                emit("evaluated-slice", run=request["run"])
            else:
                expected = "record, evaluate or evaluate-slice"
                raise UsageError("unknown request", got=request["do"], expected=expected)
        except StreamgaugeError as problem:
            emit("failed", message=problem.message(), usage=isinstance(problem, UsageError))
        except Exception as problem:  # reported to the command line, which may send other requests
            traceback.print_exc()
            first_line = next(iter(str(problem).splitlines()), "")
            emit("failed", message=f"the evaluation failed: {type(problem).__name__}: {first_line}")
    return 0


def _end(*_: object) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
