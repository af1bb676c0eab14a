"""What the number of results shows during a run."""

from __future__ import annotations

from streamgauge import registry
from streamgauge.model import ResultKind, Scenario


def is_one_to_one(scenario: Scenario) -> bool:
    """Whether each record has one result, and the output's end counts them. Unknown for a user's script.

    Not so with transactions: the mark of each commit takes a place in the output, too.
    """
    if scenario.script is not None or registry.engine(scenario.engine).traits.is_transactional(scenario.engine_options):
        return False
    return registry.workload(scenario.workload).kind is ResultKind.ONE_TO_ONE


def is_missing(inputs: int, consumed: int | None, output: int, *, quiet: bool) -> bool:
    """After the drain: whether results are missing of input that was consumed. ``quiet``: nothing came any more."""
    return output < inputs and (quiet or (consumed is not None and consumed >= inputs))
