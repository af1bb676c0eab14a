"""Every reason and warning that a run, a probe or a campaign can carry, worded in one place.

``summary.json`` and the other result files hold the finished texts. docs/reference/troubleshooting.md has an entry for
each name here, with its cause and what to do; tests/unit/docs/test_troubleshooting.py compares the two and the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Notice(str):
    """The text of a reason or a warning. Only this module makes them, so mypy refuses any text that is not listed."""

    __slots__ = ()


NOTHING = Notice()

NOTICES: Mapping[str, str] = {
    # INVALID: the measurement
    "interrupted": "the run was interrupted",
    "load-failed": "the load worker failed: {error}",
    "load-overrun": "the load worker was not done {limit_s:.0f} s after the end of its plan",
    "load-stalled": "the load worker sent nothing for {limit_s:.0f} s",
    "load-killed": "{roles} was killed by a fault",
    "load-never-started": "the load never started",
    "bystander-died": "process {role} ended unexpectedly{message}; it is not part of the system under test",
    "generator-late": "the generator was {late_ms:.1f} ms late in second {second} of the load; the limit is "
    "{limit_ms:.1f} ms",
    "generator-often-late": "the generator was more than {often_ms:.1f} ms late for {percent:.2f} % of the records; "
    "the limit is {limit:g} %",
    "generator-sent-too-little": "the generator sent {sent} of the {offered} records of the measured interval in time; "
    "the limit is {limit:g} %",
    "generator-behind": "the generator did not send the load: offered − appended grew by {growth}",
    "server-behind": "the {server} did not take the load: offered − appended grew by {growth}",
    "undelivered": "{count} records of the measured interval could not be delivered",
    "no-ledger": "the load worker left no ledger",
    "bursts-too-wide": "{wide} of {bursts} bursts took longer than {limit_ms:g} ms to send, the longest "
    "{widest_ms:.1f} ms; the limit is {limit:g} % of them",
    "backlog-incomplete": "the backlog was incomplete when the engine was started: {appended} of its {records} records "
    "had been appended; the limit is {limit:g} %",
    "load-clocks-differ": "the clocks of the load workers differ by at least {apart_ms:.1f} ms; the limit is "
    "{limit_ms:g} ms",
    "clock-stepped": "the machine's clock was set during the run, by {step_ms:.1f} ms; the limit is {limit_ms:g} ms",
    "not-recorded": "the {streams} were not recorded, so no result could be checked",
    "slices-missing": "the run was evaluated only up to second {until_s:.0f} of {whole_s:.0f}{why}",
    "never-visible": "{count} results were recorded, but it is not known when they became visible",
    "undeclared-transactions": "{engine} writes in transactions without declaring it ({places} offsets of the output "
    "hold no record), and nothing recorded when its results became visible{option}",
    "consumption-unknown": "the engine did not report how much input it consumed, and the workload has no results that "
    "would show it",
    "reference-not-unique": "{count} keys of the reference answer are not unique",
    "fault-without-effect": "the fault {fault!r} did not take effect: {why}",
    "fault-late": "the fault {fault!r} acted {late_s:.1f} s late; the limit is {limit_s:g} s",
    "fault-outside-engine": "the fault {fault!r} killed a process that is not under test: nothing can be measured "
    "without it",
    "load-cut": "the fault {fault!r} kept the load from the {server}: its records arrived late",
    # FAILED: the system under test
    "engine-not-usable": "process {role} did not become usable{message}",
    "engine-reported": "{message}",
    "engine-died": "process {role} ended unexpectedly (exit code {code}){message}",
    "wrong-results": "{wrong} of {expected} results are wrong{detail}",
    "unexpected-results": "{count} results should not have been produced",
    "lost-results": "{lost} of {expected} results were lost; the engine claims {delivery}",
    "duplicates": "{count} results were produced twice; the engine claims {delivery}",
    "fell-silent": "the system under test fell silent: {what} in the last {silent_s:.1f} s (quiet time {quiet_s:.1f} "
    "s), and {unfinished} of {expected} results are unfinished",
    "silent-after-fault": "no output after the fault {fault!r}: {unfinished} results are unfinished",
    # Whether the rate was sustained
    "overloaded": "overloaded: {findings}",
    "undecided": "whether the rate is sustained is undecided: {findings}",
    "missing-results": "not sustained: {share} of the expected results are missing; the limit is {limit}",
    "no-result": "overloaded: no result of the measured interval was produced",
    "median-too-high": "the median latency is {median_s:.1f} s; the limit is {limit_s:g} s",
    "backlog-grew": "the backlog grew by {growth} of the offered rate (at least {low}); the limit is {limit}",
    "backlog-may-have-grown": "the backlog may have grown by up to {high} of the offered rate (best estimate "
    "{growth}); the limit is {limit}; use a longer --for",
    "rose-throughout": "the {series} rose throughout, by {growth} ({low} to {high}); the limit is {limit}",
    "may-have-risen": "the {series} may have risen, by {growth} ({low} to {high}); the limit is {limit}; use a longer "
    "--for",
    "medians-rose": "the median latency rose from each fifth of the measured interval to the next: {medians} ms",
    "results-still-missing": "results were still missing when the drain ended",
    "drained-late": "the last result came {drained_s:.0f} s after the end of the load; the limit is {limit_s:g} s",
    "cpu-limit": "the engine used {used:.0f} % of its cores; the limit is {limit:g} %",
    "cpu-limit-not-applied": "the CPU limit of the rule {rule} was not applied: {why}",
    "fifth-without-result": "a fifth of the measured interval has no result",
    "lag-grew": "overloaded: the mean backlog of the last {window_s} s is {grown:.0f} records above that of the first; "
    "the limit is {limit:g}",
    "lag-in-steps": "the backlog moves by more than 100 records within a second, so the rule slope decided in the "
    "place of scalability",
    "too-short": "the measured interval is too short to tell whether the rate is sustained: {seconds} whole seconds "
    "are needed",
    "unknown-rule": "the rule {rule!r} for a sustained rate is not known; known: {known}",
    "backlog-only": "of the rule {rule}, only the slope of the backlog was checked: the latency is not known",
    "point-estimate": "undecided; by the point estimate the backlog grew by {growth} of the offered rate, "
    "limit {limit}",
    "catching-up": "not sustained, but it was still catching up with its start: {findings}",
    # State
    "drifting": "the median latency {direction} by {percent:.0f} % of its level over the measured interval (95 % "
    "interval {low} to {high}, {per_s:+.2f} ms per second): the run had not settled",
    "steady": "no drift of the median latency: {percent} of its level over the measured interval (95 % interval {low} "
    "to {high}, {per_s:+.2f} ms per second)",
    "steady-unsure": "no drift of the median latency is certain, but the run was too short to rule it out: {percent} "
    "of its level over the measured interval (95 % interval {low} to {high}, {per_s:+.2f} ms per second)",
    "steady-but-moved": "the median latency {direction} by {percent:.0f} % of its level over the measured interval "
    "(95 % interval {low} to {high}, {per_s:+.2f} ms per second), {why}",
    "drift-undecided": "whether the run had settled is undecided: the median latency {direction} by {percent:.0f} % of "
    "its level over the measured interval, but with an uncertainty of {low} to {high} (95 % interval)",
    "drift-too-few-seconds": "drift was not checked: only {seconds} whole seconds of the measured interval have "
    "results, {least} are needed",
    "drift-not-checked": "no overload was found; drift is not checked {why}",
    "overload-not-judged": "the scenario has no rule for a sustained rate, and its load changes: neither overload nor "
    "drift is judged",
    "settled-late": "the measured interval settled late: try --warmup {advised_s}s",
    "no-rate-offered": "all input was sent before the engine started: no rate was offered",
    # Capacity: probes and searches
    "gave-out": "the engine did not keep up: {reason}",
    "hopeless-lag": "the lag grew by {per_s:,.0f} records/s (at least {low:,.0f}) to {load_s:.1f} s of load",
    "hopeless-wait": "records wait {wait_s:.1f} s; the limit of the median is {limit_s:g} s",
    "drained-for-guess": "the backlog was drained only to see how fast that goes",
    "engine-behind-too": "the engine fell behind as well as the {server}; {reason}",
    "slo-missed": "SLO missed: {slo}, was {value}",
    "probe-missing-results": "{percent:.1f} % of the expected results are missing",
    "probe-undecided": "the rule had too little data to decide",
    "probes-invalid": "the probes at {value} were INVALID, twice",
    "probes-invalid-wide": "the probes at {value} were INVALID, twice: the interval stayed wide",
    "confirming-invalid": "the confirming run was INVALID, twice",
    "not-confirmed": "{values}: not sustained in the confirming run, so a lower value was tried",
    "ceiling": "at least {value} ({limited_by})",
    "nothing-sustained": "{value} is the end of the range",
    "probe-failed": "the system under test failed at {value:,} {unit}",
    "drain-failed": "the system under test failed while it drained a backlog",
    "scale-limited": "{at}: the {limit} was the limit, not the engine: the capacity is {bound}",
    "scale-range": "{at}: the search came to the end of its range: the capacity is {bound}",
    "scale-failed": "{at}: {why}",
    # Studies
    "engine-lacks-option": "engine {engine} has no option {options}",
    "engine-refuses": "{what}: {why}",
    "settings-refused": "not selected, and it does not accept the settings of this command: {what}",
    "no-rate": "its rate follows from what {experiment} found, which is {ended}",
    "no-time": "its fault comes at half of the time of {experiment}, which is {ended}",
    "engine-gap": "{engine} does not run it: {why}",
    "engine-not-in-study": "the study defines this experiment for {engines} only, not for {engine}",
    "too-few-cores": "it needs more cores than the {cores} of this machine",
    # Warnings: results
    "unfinished": "{unfinished} of {expected} results were not out when the drain ended; latencies count them as "
    "longer than all others",
    "many-partitions": "the inputs have more than {most} partitions: unfinished results may be lost",
    "recounted": "{recounted} of {expected} results are wrong after a fault: the engine may count an input twice when "
    "it reads it again, which at-least-once delivery allows",
    "unvalidated": "unvalidated: the script has no reference, so its answers were not checked",
    "answers-unchecked": "unvalidated: the answers of your program were not checked",
    "latency-by-field": "latency covers only outputs whose field names an input; records without an output are not "
    "counted",
    "field-not-found": "no output has the field of an input, so latency is unknown",
    "latency-by-commit": "a result counts as out when the script's checkpoint has the batch of its record: an upper "
    "bound of its latency, some 15 to 50 ms too high; the checkpoint was moved to this machine's disk",
    "no-output": "the script produced no output",
    "output-without-n-seq": "the latency is not known: the output carries no n_seq that names its input",
    "latency-by-n-seq": "each result was matched with the input whose n_seq it carries; nothing confirms that n_seq",
    "throughput-unknown": "the throughput is not known: not every record has a result, and the engine did not report "
    "when it had consumed all of them",
    "throughput-by-consumption": "not every record has a result, so the throughput is known only within bounds: the "
    "engine reports late that it has consumed all",
    "served-slowly": "the {server} served {served:,.0f} records/s to a plain reader and the engine took "
    "{taken:,.0f}/s: it may have waited for the {server}",
    "did-not-catch-up": "the engine did not catch up: {open} of the {results} results of the backlog had no right "
    "answer when the run ended",
    "burst-latencies": "records that were sent while the engine started and caught up had to wait for it: their "
    "latencies are not those of a running engine",
    "includes-wait": "all input was sent before the engine started: latencies include the wait for it",
    "closed-loop": "closed loop: the load waited for acknowledgements, so end-to-end latency counts from when a record "
    "was sent, not from when it was due; do not compare it with that of a load with a schedule",
    "ran-with-faults": "latencies, backlog and whether the rate was sustained are those of a run with faults; drift is "
    "not checked",
    "member-lost": "{role} ended unexpectedly ({times} ×), and the system under test continued: the figures include "
    "the loss",
    "no-output-before-fault": "there were fewer than two outputs in the measured interval before the first fault: "
    "outages have nothing to be compared with",
    "partitions-silent": "{silent} of {partitions} output partitions produced no output any more after the fault "
    "{fault!r}",
    "fault-on-idle-node": "{role} had read no input when the fault {fault!r} acted: it may have had nothing to lose",
    # Warnings: the load
    "generator-nearly-late": "the generator was up to {late_ms:.1f} ms late, worst in second {second} of the load",
    "undelivered-outside": "{count} records outside the measured interval could not be delivered",
    "arrival-uncertain": "cannot tell whether the {server} took the whole load: offered − appended grew by {growth}",
    "some-bursts-wide": "{wide} of {bursts} bursts took longer than {limit_ms:g} ms to send, the longest "
    "{widest_ms:.1f} ms",
    "mostly-generator": "more than half of the end-to-end latency ({percentiles}) passed before the transport had the "
    "record; what the engine took is the processing latency",
    # Warnings: the machine
    "machine-busy": "the machine was busy: {percent:.0f} % of all cores in the measured interval",
    "others-busy": "programs that do not belong to this run used {percent:.0f} % of all cores in the measured interval",
    "cpu-stolen": "the hypervisor took {percent:.0f} % of the cores in the measured interval",
    "waited-for-core": "processes waited for a core {percent:.0f} % of the time in the measured interval",
    "near-floor": "the median {kind}, {p50_ms:g} ms, is near the floor of this machine, {floor_ms:g} ms: the "
    "engine may be faster than this machine can show",
    "near-ceiling": "the rate, {rate_per_s:,.0f}/s, is near the ceiling of this machine, {ceiling_per_s:,.0f}/s: load "
    "and transport may limit it, not the engine",
    "unknown-setting": "{system} does not know the setting {name}{meant}",
    "variables-removed": "environment variables not passed on to what is measured: {names}{exception}",
    "other-run-active": "another run was active on this machine: {runs} (process {pid})",
    "leftover-processes": "processes of the killed run {run} were still there: {pids}",
    "guardian-replaced": "the guardian process {pid} died; process {other} has taken its place",
    "guardian-lost": "the guardian process {pid} died and cannot be replaced ({why}): if this command is killed, run "
    "`streamgauge clean`",
    "no-memory-limit": "the memory of {role} is not limited: {why}",
    # Warnings: clocks and stamps
    "clock-stepped-slightly": "the machine's clock was set during the run, by {step_ms:.1f} ms",
    "clock-not-watched": "the machine's clock was not watched: a step of it would not be noticed",
    "clocks-disagree": "the {server}'s clock is {low_ms:.1f} to {high_ms:.1f} ms ahead of the load worker's: {what}",
    "clock-offset-unsure": "the offset between the clocks of {server} and load worker is known only to within "
    "{clock_ms:.1f} ms, more than {limit:g} % of the median {kind} ({p50_ms:.1f} ms)",
    "below-zero": "{count} values of the {kind} are below zero; they were kept",
    "visible-coarse": "when results became visible is known to {worst_ms:.0f} ms at worst, and for {coarse} of {count} "
    "results less exactly than to {limit_ms:g} ms",
    "open-transaction": "{places} places of the output were behind a transaction that was still open when the run "
    "ended",
    "transactions-noticed": "{engine} writes in transactions without declaring it: results count from when their "
    "transaction was committed",
    "transactions-uncommitted": "{engine} writes in transactions without declaring it",
    "slices-not-removed": "the records of slice {number} could not be removed: {why}; they are removed with "
    "those of the next",
    "slices-behind": "the evaluation is {behind} slices of {slice_s} s behind the run; it goes on after the load, and "
    "what is not evaluated stays on disk until then",
    # Warnings: other processes, shown while a command runs
    "evaluator-restarted": "restarting the evaluator to repeat this step: {problem}",
    "port-taken": "{problem}: starting the run again with other ports",
    "invalid-repeated": "{run} is INVALID and is repeated once: {reasons}",
    "streams-kept": "the {streams} of this run were not recorded and stay on {address}: {names}; {command} records and "
    "then removes them",
}


def notice(name: str, /, **values: Any) -> Notice:
    """The text of that name with these values. Raises KeyError for a name or a value that is missing."""
    return Notice(NOTICES[name].format(**values))


def joined(notices: Iterable[str]) -> Notice:
    """Several, as one text."""
    return Notice("; ".join(notices))
