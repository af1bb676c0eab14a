"""What a command imports before it does anything: nobody waits for numpy to read a list."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    *("confluent_kafka", "jinja2", "numpy", "pandas", "plotly", "prometheus_client", "psutil", "pyarrow", "pyspark"),
    *("requests", "scipy"),
}

CODE = """
import sys
sys.argv = ["streamgauge", *sys.argv[1:]]
from streamgauge.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("\\n".join(sys.modules), file=sys.stderr)
"""


def modules_of(*arguments: str, before: str = "") -> set[str]:
    """The modules that are loaded when the command has ended."""
    done = subprocess.run(
        [sys.executable, "-c", before + CODE, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["list", "--help"]])
def test_help_imports_the_command_line_alone(arguments: list[str]) -> None:
    loaded = modules_of(*arguments)
    assert loaded & HEAVY == set()
    own = {name for name in loaded if name.startswith("streamgauge.") and not name.startswith("streamgauge.cli")}
    assert own == {"streamgauge.defaults", "streamgauge.errors"}


def test_list_imports_nothing_that_computes_draws_or_connects() -> None:
    loaded = modules_of("list")
    assert loaded & HEAVY == set()
    assert {"streamgauge.workloads.traffic.stages", "streamgauge.engines.spark"} <= loaded, "it has looked at them"


def test_a_heavy_import_would_be_noticed() -> None:
    assert modules_of("--version", before="import numpy, psutil") & HEAVY == {"numpy", "psutil"}
