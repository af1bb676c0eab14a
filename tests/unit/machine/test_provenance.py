"""Provenance, which never fails."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from streamgauge.machine import description as machine
from streamgauge.machine import provenance


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "repo" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(package.parent), *words], check=True)
    return package


def test_commit_and_changes_of_the_checkout(checkout: Path) -> None:
    clean = provenance.git_state(checkout)
    assert clean is not None
    assert len(clean.commit) == 40 and clean.dirty is False
    (checkout / "__init__.py").write_text("changed")
    provenance.git_state.cache_clear()
    assert provenance.git_state(checkout) == clean.with_changes(dirty=True)


def test_an_installed_package_does_not_report_the_commit_of_a_surrounding_repository(checkout: Path) -> None:
    installed = checkout.parent / ".venv" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert provenance.git_state(installed) is None


def test_git_variables_of_another_repository_are_ignored(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonsense")
    assert provenance.git_state(checkout) is not None


def test_without_git_there_is_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert provenance.git_state(checkout) is None


def test_date_and_packages() -> None:
    description = provenance.describe()
    assert datetime.fromisoformat(description.date).utcoffset() is not None
    assert description.packages["pyspark"] == "4.2.0"


@pytest.mark.parametrize(
    ("files", "environment", "kind"),
    [
        ({}, {}, None),
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({"proc/1/environ": "PATH=/docker\0container=lxc\0"}, {}, "lxc"),
        ({"proc/1/environ": "PATH=/docker\0HOME=/\0"}, {}, None),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, {}, "kubernetes"),
        ({"proc/1/cgroup": "12:cpu:/docker/abc\n"}, {}, "docker"),
        ({"run/systemd/container": "podman\n"}, {}, "podman"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
    ],
)
def test_the_kind_of_container(files, environment, kind, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert machine.container(tmp_path, environment) == kind


def test_the_governor(tmp_path: Path) -> None:
    assert machine.governor(tmp_path) is None
    for cpu, word in enumerate(("powersave", "performance", "powersave")):
        (tmp_path / f"cpu{cpu}" / "cpufreq").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "cpufreq" / "scaling_governor").write_text(f"{word}\n")
    assert machine.governor(tmp_path) == "performance, powersave"
