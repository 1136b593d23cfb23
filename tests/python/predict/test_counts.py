"""Counts that disagree are noticed: the larger one is used and the interval is wider."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import samples

from benchmarks.rows.hidden_misses import HIDE, NOTICED, halve_everywhere, hidden
from nearfar.api import predict
from nearfar.documents import WorkloadProfile, load
from nearfar.documents.prediction import DevicePrediction
from nearfar.documents.workload import CountCheck, PageCurve, Traffic
from nearfar.predict.phases import phases_of

INPUTS = Path(__file__).parents[2] / "golden" / "inputs"
REAL = ("lookup", "lookup-wide", "redis", "bursts")
ASSEMBLY = "main in asm.c its inline assembly was left out"


def real(name: str) -> WorkloadProfile:
    return load(INPUTS / f"{name}.json", WorkloadProfile)


def predicted(profile: WorkloadProfile) -> DevicePrediction:
    far = samples.device("far", 300.0, 8.0, 4.0)
    (device,) = predict(profile=profile, near=samples.device(), far=[far]).devices
    return device


def noticed(device: DevicePrediction) -> list[str]:
    return [caveat for caveat in device.caveats if NOTICED in caveat]


def checked(profile: WorkloadProfile, factor: float = 1.0) -> WorkloadProfile:
    """Return the profile with an emulator's check that counts `factor` times its misses."""
    profile.checks = [
        CountCheck(
            phase=phase.name,
            source="qemu",
            complete=True,
            relative_error=0.01,
            objects=copy.deepcopy(phase.objects),
        )
        for phase in profile.phases
    ]
    return profile


@pytest.mark.parametrize("name", REAL)
def test_an_intact_profile_is_not_noticed(name: str):
    assert not noticed(predicted(real(name)))
    assert not noticed(predicted(checked(real(name))))


@pytest.mark.parametrize("how", HIDE)
@pytest.mark.parametrize("name", REAL)
def test_half_of_the_misses_hidden_is_noticed_and_used(name: str, how: str):
    intact = checked(real(name))
    changed = hidden(intact, HIDE[how])
    before, after = predicted(intact), predicted(changed)
    assert noticed(after)
    wanted = sum(float(phase.total[:6].sum()) for phase in phases_of(intact))
    used = sum(float(phase.total[:6].sum()) for phase in phases_of(changed))
    assert used == pytest.approx(wanted, rel=0.15)
    assert after.total.slowdown.low <= before.total.slowdown.value <= after.total.slowdown.high


def test_fewer_misses_of_qemu_are_only_doubted():
    profile = hidden(checked(real("lookup")), lambda _, phase: None)
    for check in profile.checks:
        for row in check.objects:
            row.traffic = Traffic()
    (sentence,) = noticed(predicted(profile))
    assert "those by its objects are used" in sentence
    # QEMU that saw only a part of the phase contradicts nothing.
    for check in profile.checks:
        check.complete = False
    assert not noticed(predicted(profile))


def test_left_out_code_extends_the_interval_to_waiting_throughout():
    profile = real("lookup")
    known = predicted(profile).total.slowdown
    profile.warnings.append(ASSEMBLY)
    device = predicted(profile)
    unknown = device.total.slowdown
    assert unknown.value == known.value
    assert unknown.high > known.high
    assert unknown.high > 2.0
    assert ASSEMBLY in device.caveats
    assert any("--bursts" in caveat for caveat in device.caveats)
    assert predicted(checked(profile)).total.slowdown.high == pytest.approx(known.high)


def test_time_of_uncounted_processes_extends_the_interval_to_its_waiting():
    profile = real("redis")
    known = predicted(profile).total.slowdown
    profile.uncounted_share = 0.4
    partly = predicted(profile).total.slowdown
    profile.uncounted_share = 1.0
    wholly = predicted(profile).total.slowdown
    assert known.value == partly.value == wholly.value
    assert known.low == partly.low
    assert known.high < partly.high < wholly.high


def test_the_rest_of_a_run_that_was_seen_in_part_waits_never_or_always():
    profile = real("redis")
    known = predicted(profile).total.slowdown
    ends = []
    for share in (0.9, 0.5, 0.02):
        profile.seen_share = share
        partly = predicted(profile).total.slowdown
        assert partly.value == known.value
        # The whole program's slowdown, whatever it does in the rest; latencies are 300 and 90 ns.
        assert partly.low <= share * known.value + (1 - share)
        assert partly.high >= share * known.value + (1 - share) * 3.0
        ends.append(partly)
    assert ends[2].low < ends[1].low < ends[0].low < known.low
    assert known.high < ends[0].high < ends[1].high < ends[2].high
    profile.seen_share, profile.seen_share_at_most = 0.9, True
    assert predicted(profile).total.slowdown.low <= 1.0


def test_a_program_that_was_not_observed_may_wait_never_or_always():
    profile = real("redis")
    for phase in profile.phases:
        phase.objects, phase.instructions = [], []
    profile.uncounted_share = 1.0
    device = predicted(profile)
    assert device.total.slowdown.low == pytest.approx(1.0)
    assert device.total.slowdown.high == pytest.approx(300.0 / 90.0, rel=0.1)
    assert not any("nothing waits for memory" in caveat for caveat in device.caveats)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_what_was_not_observed_may_wait_for_bandwidth(share: float):
    profile = real("redis")
    if share:
        profile.seen_share = share
    else:
        profile.uncounted_share = 1.0
        for phase in profile.phases:
            phase.objects, phase.instructions = [], []
    near = samples.device()
    ends = []
    for bandwidth in (8.0, 2.0):
        far = samples.device("far", 120.0, bandwidth, bandwidth / 2.0)
        (device,) = predict(profile=profile, near=near, far=[far]).devices
        ends.append(device.total.slowdown.high)
    assert ends[1] > 2.0 * ends[0] > 2.0
    # The other way round, it may gain by bandwidth.
    near, far = samples.device("near", 120.0, 2.0, 1.0), samples.device("far", 120.0, 8.0, 4.0)
    (device,) = predict(profile=profile, near=near, far=[far]).devices
    assert device.total.slowdown.low < 0.9


def test_qemus_counts_are_used_where_the_pass_is_blind():
    intact = real("lookup")
    profile = hidden(checked(intact), lambda _, phase: None)
    profile.warnings.append(ASSEMBLY)
    for _ in range(6):
        for phase in profile.phases:
            halve_everywhere(profile, phase)
    blind, full = predicted(profile).total.slowdown, predicted(intact).total.slowdown
    assert blind.value > 1.0 + 0.5 * (full.value - 1.0)
    assert blind.low < 1.0 + 0.25 * (full.value - 1.0)


def test_page_curves_that_lack_the_counts_used_are_left_out():
    profile = checked(real("lookup"))
    profile.page_curve_bytes = [2.0**18, 2.0**26]
    for phase in profile.phases:
        for row in phase.objects:
            row.page_curve = PageCurve(
                first=10.0, faults=[1000.0, 100.0], written=[0.0, 0.0], times=[]
            )
    assert all(phase.page_touches is not None for phase in phases_of(profile))
    for phase in profile.phases:
        largest = max(phase.objects, key=lambda row: row.traffic.misses())
        phase.objects.remove(largest)
        profile.sampling.sampled_misses -= round(largest.traffic.misses() / profile.sampling.rate)
        phase.instructions = [row for row in phase.instructions if row.object != largest.object]
    blind = phases_of(profile)
    assert any(phase.remarks for phase in blind)
    assert all(phase.page_touches is None for phase in blind if phase.remarks)


def test_bursts_of_another_build_are_left_out():
    profile = real("bursts")
    assert profile.bursts is not None
    profile.program.plain_digest = profile.bursts.build_digest = "a" * 64
    assert all(phase.bursts is not None for phase in phases_of(profile))
    profile.bursts.build_digest = "b" * 64
    assert all(phase.bursts is None for phase in phases_of(profile))
    assert any("of another build" in caveat for caveat in predicted(profile).caveats)


def test_an_interval_has_zero_width_only_where_the_data_fit():
    profile = samples.workload()
    for phase in profile.phases:
        phase.instructions, phase.objects = [], []
    assert predicted(profile).total.slowdown.high > 1.0
    for memory in profile.objects:
        memory.size_bytes = 64
    slowdown = predicted(profile).total.slowdown
    assert slowdown.low == slowdown.value == slowdown.high == 1.0


def test_warnings_of_the_profile_are_caveats_except_those_on_names():
    profile = real("lookup")
    profile.warnings = ["the plain program failed", "the table of names was full 3 times"]
    caveats = predicted(profile).caveats
    assert "the plain program failed" in caveats
    assert not any("table of names" in caveat for caveat in caveats)
