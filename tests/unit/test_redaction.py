"""Secrets in options, arguments and addresses are replaced; everything else is kept."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.cli.request import build
from streamgauge.errors import UsageError
from streamgauge.measure import manifest
from streamgauge.measure import plan as plans
from streamgauge.measure.repeat import request_of
from streamgauge.redaction import REDACTED, redact_arguments, redact_options
from streamgauge.rundir import RunDir
from streamgauge.studies.scenario import Values

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--password", SECRET, "x"], ["run", "--password", REDACTED, "x"]),
        (["run", f"--api-token={SECRET}"], ["run", f"--api-token={REDACTED}"]),
        (
            ["run", f"-Djavax.net.ssl.keyStorePassword={SECRET}"],
            ["run", f"-Djavax.net.ssl.keyStorePassword={REDACTED}"],
        ),
        (["run", f"AWS_SECRET_ACCESS_KEY={SECRET}"], ["run", f"AWS_SECRET_ACCESS_KEY={REDACTED}"]),
        (["run", f"fs.s3a.access.key={SECRET}"], ["run", f"fs.s3a.access.key={REDACTED}"]),
        (["run", f"--set=spark.x.Password={SECRET}"], ["run", f"--set={REDACTED}"]),
        (["run", f"kafka://me:{SECRET}@host:1/p?q"], ["run", f"kafka://{REDACTED}@host:1/p?q"]),
        (["run", f'{{"password": "{SECRET}"}}'], ["run", REDACTED]),
        (["run", f"sasl.jaas.config=Plain required password='{SECRET}';"], ["run", f"sasl.jaas.config={REDACTED}"]),
        (["run", "--token", "--verbose", "x"], ["run", "--token", "--verbose", "x"]),
        (["/opt/tokens/secret.py", "/run/secrets/file", "a=b", "http://host/x@y"],) * 2,
    ],
)
def test_arguments(words: list[str], expected: list[str]) -> None:
    assert redact_arguments(words) == expected


def test_options_at_any_depth() -> None:
    options = {
        "heap_mb": 512,
        "conf": {"spark.ssl.keyPassword": SECRET, "spark.x": "y", "spark.url": f"a://b:{SECRET}@c"},
    }
    assert redact_options(options) == {
        "heap_mb": 512,
        "conf": {"spark.ssl.keyPassword": REDACTED, "spark.x": "y", "spark.url": f"a://{REDACTED}@c"},
    }


def test_built_in_names_are_not_secrets() -> None:
    names = [
        *Values.model_fields,
        *(key for e in registry.names("engines") for key in registry.engine(e).options.model_fields),
    ]
    options = dict.fromkeys(names, "value")
    assert redact_options(options) == options


def requests_with_secrets(out: Path) -> list[plans.Request]:
    return [
        build("ospbench/latency", engine="spark", settings=[f"spark.x.password={SECRET}", "spark.y=1"], out=out),
        build("ospbench/latency", engine="command", program=["cat", "--token", SECRET, f"u://a:{SECRET}@b"], out=out),
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_secrets_reach_the_engine_but_not_manifest_or_command(number: int, tmp_path: Path) -> None:
    request = requests_with_secrets(tmp_path / "out")[number]
    plan = plans.draw(request, "run", tmp_path / "work")
    text = repr(manifest.describe(plan))
    assert SECRET not in text and REDACTED in text
    assert SECRET not in repr(CapacitySearch(request, 0.1).settings())
    texts = [*(word for spec in plan.engine for word in spec.argv), *(t for s in plan.engine for t in s.files.values())]
    assert any(SECRET in word for word in texts), "the engine needs the true value"


@pytest.mark.parametrize("number", [0, 1])
def test_a_run_with_secrets_is_not_repeated(number: int, tmp_path: Path) -> None:
    request = requests_with_secrets(tmp_path / "out")[number]
    run = RunDir.create(request.out)
    run.write_manifest(manifest.describe(plans.draw(request, "run", tmp_path / "work")))
    with pytest.raises(UsageError, match="secrets are not in the run directory"):
        request_of(run, tmp_path / "again")


def test_a_placeholder_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="redacted value"):
        build("ospbench/latency", settings=[f"spark.x.password={REDACTED}"], out=tmp_path)
    with pytest.raises(UsageError, match="redacted value"):
        build("ospbench/latency", engine="command", program=["cat", REDACTED], out=tmp_path)


def test_the_rest_of_the_command_stays_readable(tmp_path: Path) -> None:
    words = shlex.split(requests_with_secrets(tmp_path)[0].command)
    (conf,) = [word for word in words if word.startswith("conf=")]
    assert '"spark.y" = "1"' in conf
