from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.jvm.spark import check_master, jvm_argv, jvm_env


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[*]",
        "local[2]",
        "spark://host:7077",
        "spark://a:1,b.c:65535",
        "spark://[::1]:7077",
        "yarn",
        "k8s://https://host",
    ],
)
def test_valid_masters(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize(
    "master",
    [
        "",
        "bogus",
        "host:7077",
        "spark://",
        "local[",
        "spark://host",
        "spark://host:0",
        "spark://host:99999",
        "spark://host:port",
        "spark://:7077",
        "spark://a:7077,b",
        "spark://a:7077,",
        "spark://a/b:7077",
    ],
)
def test_invalid_masters(master: str) -> None:
    with pytest.raises(UsageError, match="invalid Spark master"):
        check_master(master)


@pytest.mark.parametrize(
    ("master", "loopback"),
    [
        ("local[2]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.1:7078", True),
        ("spark://elsewhere:7077", False),
        ("spark://localhost.example:7077", False),
        ("spark://127.0.0.10:7077", False),
        ("spark://localhost:7077,elsewhere:7077", False),
        ("yarn", False),
    ],
)
def test_only_a_local_driver_uses_loopback(master: str, loopback: bool, tmp_path: Path) -> None:
    argv = jvm_argv(Path("java"), master=master, conf={}, heap_mb=512, work_dir=tmp_path)
    assert ("spark.driver.host=127.0.0.1" in argv) == loopback
    assert ("spark.driver.bindAddress=127.0.0.1" in argv) == loopback
    assert ("SPARK_LOCAL_IP" in jvm_env(tmp_path / "connection", tmp_path, master)) == loopback
