"""``streamgauge fetch``: brings the JVM artifacts onto this machine and checks those that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from streamgauge.jars import Artifact
    from streamgauge.jars.download import OnProgress, Progress


def fetch(
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Engines or jar groups to fetch. Without any: all that runs need, except those of engines whose "
            "Python package is not installed.",
            show_default=False,
        ),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Maven repository to download from. Also: the variable STREAMGAUGE_MAVEN_REPOSITORY.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Download the jars of transport, engines and evaluation, and check the SHA-256 of those already here.

    `streamgauge doctor` lists the groups and who needs them. The largest is about 100 MB.
    """
    from rich.console import Console

    from streamgauge import jars, registry
    from streamgauge.measure.requirements import without_package

    known, engines = jars.groups(), registry.names("engines")
    left_out = {} if groups else without_package()
    named = groups or [name for name in known if name not in jars.ON_REQUEST and name not in left_out]
    for name in named:
        if name not in known and name not in engines:
            raise registry.unknown("engine or jar group", name, [*engines, *known], hint="streamgauge fetch --help")
    # Of an engine, all that it needs: a compiler besides its own jars, say.
    wanted = list(
        dict.fromkeys(
            group
            for name in named
            for group in (registry.engine(name).traits.jar_groups if groups and name in engines else (name,))
        )
    )
    artifacts = sorted({artifact for name in wanted for artifact in jars.locked(name)})
    fetched: list[Artifact] = []

    def count(progress: Progress) -> None:
        if progress.state == "fetched":
            fetched.append(progress.artifact)

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        _with_bar(console, wanted, artifacts, count, repository)
    else:
        _with_lines(console, wanted, count, repository)
    total_mb = sum(artifact.size for artifact in artifacts) / 1e6
    fetched_mb = sum(artifact.size for artifact in fetched) / 1e6
    console.print(
        f"{len(artifacts)} jars, {total_mb:.1f} MB, all with the locked SHA-256, in {jars.jars_dir()}"
        f" ({len(fetched)} fetched now, {fetched_mb:.1f} MB)",
        soft_wrap=True,
    )
    for name, install in left_out.items():
        console.print(f"left out: {name}, whose engine is not installed ({install})", soft_wrap=True, markup=False)


def _with_lines(console: Console, groups: list[str], count: OnProgress, repository: str | None) -> None:
    from streamgauge import jars

    def show(progress: Progress) -> None:
        count(progress)
        if progress.state == "fetched":
            size_mb = progress.artifact.size / 1e6
            console.print(f"fetched {progress.artifact.coordinates} ({size_mb:.1f} MB)", soft_wrap=True)

    jars.fetch(groups, show, repository)


def _with_bar(
    console: Console, groups: list[str], artifacts: list[Artifact], count: OnProgress, repository: str | None
) -> None:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    from streamgauge import jars

    received: dict[str, int] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("jars", total=sum(artifact.size for artifact in artifacts))

        def show(progress: Progress) -> None:
            count(progress)
            received[progress.artifact.coordinates] = progress.received_bytes
            bar.update(task, completed=sum(received.values()), description=progress.artifact.artifact_id)

        jars.fetch(groups, show, repository)
