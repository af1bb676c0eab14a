"""Functions of the user's that make records, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_your_data import problem_with, write

from streamgauge.workloads.yours.data import YourRecords
from streamgauge.workloads.yours.given import parse


def test_a_function_makes_records(tmp_path: Path) -> None:
    file = write(
        tmp_path / "gen.py",
        "def one(n):\n    return f'k{n % 2}', f'v{n}'\n\ndef many(first, count):\n"
        "    return [(None, b'%d' % n) for n in range(first, first + count)]\n",
    )
    dataset = YourRecords(parse(f"a={file}:one;b={file}:many"), 100)
    built = dataset.build(10, 4)
    assert list(built["a"].values) == [b"v5", b"v6"] and list(built["a"].keys) == [b"k1", b"k0"]
    assert list(built["b"].values) == [b"5", b"6"] and list(built["b"].keys) == [None, None]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def make(n):\n    return 1 / 0\n", "line 2"),
        ("def make(n):\n    return 'only a value'\n", "a tuple of key and value"),
        ("def make(n):\n    return None, 7\n", "bytes or text"),
        ("def make(first, count):\n    return []\n", "0 records"),
        ("def make():\n    pass\n", "wrong arguments of make"),
        ("def other(n):\n    pass\n", "does not define make"),
        ("import nothing_of_that_name\n", "cannot be loaded"),
        ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
        ("import sys\ndef make(n):\n    sys.exit(0)\n", "SystemExit: 0"),
        ("class Odd(BaseException):\n    pass\ndef make(n):\n    raise Odd('no')\n", "Odd: no"),
        ("def make(n):\n    raise ValueError('\\ud800')\n", "ValueError: \\ud800"),
        ("make = dict\n", "wrong arguments of make"),
        ("make = int\n", "make"),
        ("def make(*, n):\n    pass\n", "wrong arguments of make"),
        ("async def make(n):\n    pass\n", "async def make(n)"),
        ("class make:\n    def __init__(self, n):\n        pass\n", "a tuple of key and value"),
        ("def make(n):\n    return None, '\\ud800'\n", "text that UTF-8 can encode"),
        ("def make(n):\n    return '\\ud800', 'x'\n", "text that UTF-8 can encode"),
        ("def make(n):\n    return None, bytearray(b'x')\n", "bytes or text"),
        ("def make(first, count):\n    return 7\n", "a list of keys and values"),
        ("def make(n):\n    return None, b'x' * 900_001\n", "a record is too large"),
        ("def make(n):\n    return b'x' * 900_001, b''\n", "a record is too large"),
        ("def make(first, count):\n    while True:\n        yield None, b'x'\n", "more than 10 records"),
    ],
)
def test_a_function_that_cannot_be_used(tmp_path: Path, code: str, said: str) -> None:
    assert said in problem_with(f"s={write(tmp_path / 'gen.py', code)}:make")


def test_further_arguments_by_name_are_not_a_count(tmp_path: Path) -> None:
    file = write(tmp_path / "gen.py", "def make(n, **options):\n    return None, f'v{n}'\n")
    assert list(YourRecords(parse(f"s={file}:make"), 10).build(3, 2)["s"].values) == [b"v3", b"v4"]


def test_ctrl_c_in_a_function_is_not_a_mistake_of_it(tmp_path: Path) -> None:
    file = write(tmp_path / "gen.py", "def make(n):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        YourRecords(parse(f"s={file}:make"), 1)


def test_a_missing_file_of_a_function(tmp_path: Path) -> None:
    assert "cannot be read" in problem_with(f"s={tmp_path / 'none.py'}:make")
