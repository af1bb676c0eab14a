"""``streamgauge lock``: the maintainer's command that resolves the jar groups anew."""

from __future__ import annotations


def lock() -> None:
    """Resolve groups.toml and write lock.toml, both inside the package. For maintainers."""
    from importlib.resources import files
    from pathlib import Path

    from rich.console import Console

    from streamgauge.errors import EnvironmentProblem
    from streamgauge.jars.lockfile import Lock
    from streamgauge.jars.resolve import resolve, write

    console = Console(stderr=True, highlight=False)
    folder = Path(str(files("streamgauge.jars")))
    target = folder / "lock.toml"
    previous = Lock.loads(target.read_text(encoding="utf-8")) if target.exists() else Lock({})
    now = resolve((folder / "groups.toml").read_text(encoding="utf-8"), previous, log=console.print)
    try:
        write(now, target)
    except OSError as error:
        raise EnvironmentProblem("the lock could not be written", where=target, got=error.strerror) from error
    for name, artifacts in sorted(now.groups.items()):
        console.print(f"{name}: {len(artifacts)} jars, {sum(a.size for a in artifacts) / 1e6:.1f} MB")
