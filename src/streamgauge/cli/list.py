"""``streamgauge list``: studies, scenarios, workloads and engines, and what an engine lacks."""

from __future__ import annotations

import typer

from streamgauge.cli.layout import wrapped


def list_everything() -> None:
    """List scenarios, workloads and engines."""
    from streamgauge import registry
    from streamgauge.run.requirements import lacks
    from streamgauge.studies import scenario as scenarios

    every = [*scenarios.names(), *registry.names("workloads"), *registry.names("engines")]
    width = max(map(len, every))
    typer.echo("Every value and option below is set with --set KEY=VALUE.\n\nscenarios")
    for name in scenarios.names():
        described = scenarios.describe(name)
        choices = f"{described.choice}: {', '.join(described.workloads)}"
        typer.echo(wrapped(f"  {name:<{width}} ", f"{described.title}; {choices}"))
        fields = {**scenarios.parameter_fields(name), **scenarios.Values.model_fields}
        for key, field in fields.items():
            default = field.get_default(call_default_factory=True)
            values = {
                profile: scenarios.profile_values(name, profile).get(key, default) for profile in scenarios.PROFILES
            }
            same = len({str(value) for value in values.values()}) == 1
            shown = str(values["laptop"]) if same else ", ".join(f"{value} ({at})" for at, value in values.items())
            typer.echo(wrapped(f"      {key} = ", f"{shown}: {field.description}", 4))
    typer.echo("workloads")
    for name in registry.names("workloads"):
        typer.echo(wrapped(f"  {name:<{width}} ", registry.workload(name).title))
    typer.echo("engines")
    for name in registry.names("engines"):
        engine = registry.engine(name)
        problems = lacks(engine)
        state = "ready" if not problems else "lacks " + "; ".join(problems)
        typer.echo(wrapped(f"  {name:<{width}} ", f"{engine.title}: {engine.traits.delivery}; {state}"))
        for option, field in engine.options.model_fields.items():
            default = field.get_default(call_default_factory=True)
            typer.echo(wrapped(f"      {option} = ", f"{default!r}: {field.description}", 4))
        for workload, reason in engine.traits.gaps.items():
            typer.echo(wrapped(f"      does not run {workload}: ", reason, 4))
        for limit in engine.traits.limits:
            settings = ", ".join(f"{key}={value}" for key, value in limit.options.items())
            workloads = ", ".join(sorted(limit.workloads))
            typer.echo(wrapped(f"      with {settings} ", f"does not run {workloads}: {limit.reason}", 4))
