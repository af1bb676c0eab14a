"""The scenario of StreamBench's performance suite: every program, on preloaded input."""

from __future__ import annotations

import pytest

from streamgauge import registry
from streamgauge.studies import scenario as scenarios
from streamgauge.studies import streambench

NAME = "streambench/performance"
PROGRAMS = ("identity", "sample", "projection", "grep", "wordcount", "distinctcount", "statistics", "sink")


def test_the_programs_are_the_choice() -> None:
    file = scenarios.describe(NAME)
    assert file.choice == "program"
    assert file.workloads == {program: f"streambench/{program}" for program in PROGRAMS}
    for workload in file.workloads.values():
        assert registry.workload(workload).name == workload


@pytest.mark.parametrize(("profile", "records"), [("laptop", 2_000_000), ("paper", 5_000_000)])
def test_all_records_are_preloaded(profile: str, records: int) -> None:
    values = scenarios.profile_values(NAME, profile)
    assert values.pop("program") == "identity"
    checked = scenarios.Values.model_validate(values)
    assert (checked.shape, checked.records) == ("preloaded", records)
    assert checked.rate_per_s == checked.warmup_s == checked.measured_s == 0


def test_every_program_is_run_at_four_scales_and_at_a_constant_rate() -> None:
    names = [one.name for one in streambench.STUDY.experiments if one.scenario != "streambench/durability"]
    assert len(names) == 7 * 4 + 7
    assert names[:2] == ["performance-identity-1x", "performance-identity-2x"]
    assert {one.half_of for one in streambench.STUDY.experiments if one.half_of} <= set(names)


def test_the_study_is_described() -> None:
    assert "streambench" in registry.names("studies")
    assert streambench.STUDY.title == streambench.title
    assert set(streambench.STUDY.engines.values()) <= set(registry.names("engines"))


@pytest.mark.parametrize(("profile", "measured_s"), [("laptop", 600.0), ("paper", 172_800.0)])
def test_durability_is_wordcount_at_two_rates_evaluated_by_the_minute(profile: str, measured_s: float) -> None:
    experiments = [one for one in streambench.STUDY.experiments if one.scenario == "streambench/durability"]
    resolved = [
        scenarios.resolve(one.scenario, profile=profile, engine="flink", changes=one.settings_in(profile))
        for one in experiments
    ]
    assert [one.name for one in experiments] == ["durability-10k", "durability-1m"]
    assert [one.load.rate_per_s for one in resolved] == [round(10_000 / 60), round(1_000_000 / 60)]
    assert {(one.workload, one.load.measured_s, one.slice_s) for one in resolved} == {
        ("streambench/wordcount", measured_s, 60)
    }
