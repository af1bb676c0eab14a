"""``streamgauge schema``: the JSON schema of a scenario file."""

from __future__ import annotations

from streamgauge.cli.layout import echo_json


def schema() -> None:
    """Print the JSON schema of scenario files (`streamgauge run my.toml`), with which an editor completes them."""
    from streamgauge.studies.own_file import schema

    echo_json(schema())
