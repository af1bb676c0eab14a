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
