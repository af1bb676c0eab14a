"""Code in the how-to pages works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from streamgauge.contracts import Engine

HOWTO = Path(__file__).parents[3] / "docs" / "howto"


def test_the_engine_of_the_page_keeps_the_contract() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (HOWTO / "add-an-engine.md").read_text(encoding="utf-8"), re.DOTALL)
    made: dict[str, object] = {}
    exec(code, made)  # our own page
    made_engine = made["MyEngine"]
    assert isinstance(made_engine, type) and issubclass(made_engine, Engine)
    engine = made_engine()
    assert engine.options().threads == 2  # type: ignore[attr-defined]
    assert engine.traits.workloads.isdisjoint(engine.traits.gaps)
    assert list(engine.versions()) == [engine.name]
