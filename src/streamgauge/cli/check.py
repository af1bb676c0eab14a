"""``streamgauge check engine NAME``: the conformance suite, for our engines and yours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli import choices

if TYPE_CHECKING:
    from streamgauge.conformance.suite import Finding

check_app = typer.Typer(no_args_is_help=True, help="Run the conformance checks of an engine.")


@check_app.callback()
def check() -> None:
    """Run the conformance checks of an engine."""


@check_app.command()
def engine(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ENGINE",
            help=f"The engine to check: {', '.join(choices.names('engines'))}.",
            autocompletion=choices.complete_engine,
        ),
    ],
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM ARGS", help="Your own program, with the engine `command`."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload", metavar="NAME", help="Only this workload; `streamgauge list workloads` shows all. Repeatable."
        ),
    ] = None,
) -> None:
    """Run an engine through every check that its traits call for, on a real transport."""
    from streamgauge import registry
    from streamgauge.conformance.suite import bench, check_engine, workloads_to_check
    from streamgauge.errors import Unsupported
    from streamgauge.processes.supervisor import signals_as_interrupt

    known = registry.engine(name).traits.workloads
    for asked in workload or ():
        if asked not in known:
            if asked in registry.names("workloads"):
                reason = registry.engine(name).traits.gaps.get(asked, "it has no program for this workload")
                raise Unsupported(f"engine {name} does not run {asked}", got=reason, hint=f"streamgauge list {name}")
            raise registry.unknown("--workload", asked, known)

    def say(finding: Finding) -> None:
        mark = "ok    " if finding.problem is None else "FAILED"
        typer.echo(
            f"{mark}  {finding.subject:<32} {finding.check}" + (f": {finding.problem}" if finding.problem else "")
        )

    workloads_to_check(registry.engine(name))
    typer.echo("starting the transport …", err=True)
    with signals_as_interrupt(), bench() as shared:
        findings = check_engine(shared, name, tuple(program or ()), say, workload or ())
    failed = sum(finding.problem is not None for finding in findings)
    typer.echo(f"{name}: {len(findings) - failed} checks passed, {failed} failed")
    raise typer.Exit(4 if failed else 0)
