"""`--phases auto` finds the phases of a program without marks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compiling import compiled, traced

from nearfar.profile.detected_phases import phase_of_slices

pytestmark = pytest.mark.timing

AUTO = ("--phases", "auto", "--llc", "1MiB")


def test_stages_are_found_and_recur(tmp_path: Path) -> None:
    program = compiled("stages.c", tmp_path, "--nearfar-rate=16")
    result = traced(program, tmp_path, options=AUTO)
    arrays = [each for each in result.objects if each.size_bytes > 4 << 20]
    assert len(arrays) == 2
    owners, pure, total = [], 0.0, 0.0
    for phase in result.phases:
        misses = {row.object: row.traffic.misses() for row in phase.objects}
        owner = max(misses, key=lambda each: misses[each])
        pure += misses[owner]
        total += sum(misses.values())
        if sum(misses.values()) > 5e6:
            owners.append(owner)
            assert phase.near_cpu_time_ns.value > 0
    # Each array has its stages to itself, but for the slice that a change falls into.
    assert pure > 0.93 * total, [(p.name, p.objects) for p in result.phases]
    # The third stage repeats the first: it is the same phase, or on a machine that changes its pace
    # one more.
    assert set(owners) == {each.id for each in arrays}
    assert len(owners) <= 3
    assert all(phase.name.startswith("phase ") for phase in result.phases)
    assert any("detected by the objects" in warning for warning in result.warnings)


def test_a_program_with_marks_keeps_its_phases(tmp_path: Path) -> None:
    program = compiled("growing.c", tmp_path, "--nearfar-rate=16")
    result = traced(program, tmp_path, "hash", "20000", options=AUTO)
    assert {"insert", "get"} <= {phase.name for phase in result.phases}
    assert not [phase.name for phase in result.phases if phase.name.startswith("phase ")]


def test_change_points_of_made_up_slices() -> None:
    noise = np.random.default_rng(1)
    first, other = np.array([0.8, 0.2, 0.0]), np.array([0.1, 0.2, 0.7])
    truth = [0] * 20 + [1] * 30 + [0] * 15
    shares = np.array([first if kind == 0 else other for kind in truth])
    assert phase_of_slices(shares + noise.normal(0, 0.02, shares.shape)) == truth
    alike = np.tile(first, (40, 1)) + noise.normal(0, 0.02, (40, 3))
    assert phase_of_slices(alike) == [0] * 40
    assert phase_of_slices(shares[:5]) == [0] * 5
