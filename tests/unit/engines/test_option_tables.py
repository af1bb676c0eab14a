"""The documentation of an engine has a table with all of its options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.engines.settings import as_text

PAGES = Path(__file__).parents[3] / "docs" / "reference"
ROW = re.compile(r"^\| `(\w+)` \| `?([^|`]+)`? \|", re.MULTILINE)


@pytest.mark.parametrize("engine", ["flink", "kafka-streams"])
def test_every_option_is_in_the_table_with_its_default(engine: str) -> None:
    table = (PAGES / f"{engine}.md").read_text().partition("\n## Options")[2]
    fields = registry.engine(engine).options.model_fields
    # Settings by their own name are described below the table.
    expected = {name: as_text(field.default) for name, field in fields.items() if name != "conf"}
    assert dict(ROW.findall(table)) == expected
