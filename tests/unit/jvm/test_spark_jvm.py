import os
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.jvm.spark import check_master, file_url, jvm_argv, jvm_env, literal_path


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


@pytest.mark.parametrize(
    ("master", "measured", "kept_out"),
    [("yarn", False, False), ("spark://127.0.0.1:7077", False, False), ("yarn", True, True), ("local[2]", False, True)],
)
def test_settings_of_the_user_are_for_clusters_that_do_other_work(
    master: str, measured: bool, kept_out: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    found = jvm_env(tmp_path / "connection", tmp_path, master, measured=measured)["SPARK_CONF_DIR"]
    assert found == (str(tmp_path) if kept_out else "/etc/spark")
    monkeypatch.delenv("SPARK_CONF_DIR")
    assert jvm_env(tmp_path / "connection", tmp_path, master, measured=measured)["SPARK_CONF_DIR"] == str(tmp_path)


def test_the_driver_finds_the_cluster_that_it_is_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)

    def class_path(master: str) -> list[str]:
        argv = jvm_argv(Path("java"), master=master, conf={}, heap_mb=512, work_dir=tmp_path)
        return argv[argv.index("-cp") + 1].split(os.pathsep)[1:]

    assert class_path("yarn") == ["/etc/hadoop"]
    assert class_path("local[2]") == []


def test_paths_are_of_mounted_file_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert file_url(Path("runs/a [b]")) == "file:///runs/a [b]"
    assert literal_path(Path("/runs/a [b]")) == r"file:///runs/a \[b\]"
