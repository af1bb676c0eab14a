from importlib.metadata import EntryPoint

import pytest

from streamgauge import registry
from streamgauge.errors import UsageError


def test_finds_what_is_registered() -> None:
    assert registry.engine("echo").name == "echo"
    assert registry.workload("traffic/parse").name == "traffic/parse"
    assert {"spark", "echo", "command"} <= set(registry.names("engines"))


@pytest.mark.parametrize(("wrong", "near"), [("sparc", "spark"), ("ecko", "echo")])
def test_names_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{near}'") as problem:
        registry.engine(wrong)
    assert problem.value.exit_code == 2
    assert wrong in str(problem.value)


@pytest.mark.parametrize("value", ["no_such_module_exists", "json:no_such_class"])
def test_a_package_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    points = {"games": EntryPoint("games", value, "streamgauge.studies")}
    monkeypatch.setattr(registry, "_points", lambda kind: points)
    with pytest.raises(UsageError, match="the study games could not be loaded") as problem:
        registry.study("games")
    assert f"streamgauge.studies: {value}" in problem.value.message()
