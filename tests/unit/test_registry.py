from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.model import LoadPlan


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
    points = {"games": [EntryPoint("games", value, "streamgauge.studies")]}
    monkeypatch.setattr(registry, "_points", lambda kind: points)
    with pytest.raises(UsageError, match="the study games could not be loaded") as problem:
        registry.study("games")
    assert f"streamgauge.studies: {value}" in problem.value.message()


@pytest.mark.parametrize(
    ("code", "got"),
    [
        ("def (:", "SyntaxError: "),
        ("raise ValueError('no licence')", "ValueError: no licence"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("Shop = 5", "TypeError: 'int' object is not callable"),
        ("from streamgauge.contracts import Workload as Shop", "TypeError: Can't instantiate abstract class"),
    ],
)
def test_a_package_that_fails_in_any_other_way_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, got: str
) -> None:
    module = f"shop_{abs(hash(code))}"
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    points = {"shop/sales": [EntryPoint("shop/sales", f"{module}:Shop", "streamgauge.workloads")]}
    monkeypatch.setattr(registry, "_points", lambda kind: points)
    with pytest.raises(UsageError, match="the workload shop/sales could not be loaded") as problem:
        registry.workload("shop/sales")
    assert f"got: {got}" in problem.value.message()


def test_a_failing_data_set_is_a_usage_error_only_for_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shop:
        def dataset(self, *_: object) -> None:
            raise KeyError("till")

    points = {
        name: [EntryPoint(name, f"{module}:Shop", "streamgauge.workloads")]
        for name, module in (("shop/sales", "shop"), ("traffic/shop", "streamgauge.workloads"))
    }
    monkeypatch.setattr(registry, "_points", lambda kind: points)
    monkeypatch.setattr(registry, "workload", lambda name: Shop())
    load = LoadPlan(100, 1.0, 1.0, 0.0)
    with pytest.raises(UsageError, match="workload shop/sales cannot create its data set") as problem:
        registry.dataset("shop/sales", {}, 1, load)
    assert "got: KeyError: 'till'" in problem.value.message()
    with pytest.raises(KeyError):
        registry.dataset("traffic/shop", {}, 1, load)


def test_a_name_that_two_packages_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "streamgauge.workloads"
    ours = EntryPoint("traffic/parse", "streamgauge.workloads.traffic.stages:Parse", group)
    theirs = EntryPoint("traffic/parse", "their.workload:Parse", group)
    installed = [ours, ours, theirs, EntryPoint("their/own", "json:loads", group)]
    monkeypatch.setattr(registry, "entry_points", lambda group: installed)
    registry._points.cache_clear()
    try:
        with pytest.raises(UsageError, match="two packages have a workload traffic/parse") as problem:
            registry.workload("traffic/parse")
        assert f"got: {ours.value}, {theirs.value}" in problem.value.message()
        installed.remove(theirs)
        registry._points.cache_clear()
        assert registry.workload("traffic/parse").name == "traffic/parse", "one package installed twice"
    finally:
        registry._points.cache_clear()
