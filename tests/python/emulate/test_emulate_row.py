"""The benchmark's row on emulation: the worst error of a probe."""

from __future__ import annotations

import pytest

from benchmarks.rows.emulate import row_of
from nearfar.documents import Emulation, producer
from nearfar.documents.emulation import EmulatedPhase, Probe


def judged(error: float, slow_motion: float) -> Emulation:
    near = EmulatedPhase(name="-", near_ns=1.0, emulated_ns=1.0, slowdown=1.0)
    probe = Probe(
        name="stream",
        near_ns=2.0,
        target_ns=2.0,
        emulated_ns=2.0 * (1.0 + error),
        error=error,
        error_range=(error - 0.02, error + 0.3),
    )
    return Emulation(
        producer=producer(["tests"]),
        command=["program"],
        near="near",
        far="far",
        way="delays",
        exit_status="exited with 0",
        phases=[near],
        total=near,
        slow_motion=slow_motion,
        probes=[probe],
        faithful=abs(error) <= 0.1,
        tolerance=0.1,
    )


def test_a_row_is_the_worst_error_and_says_what_it_took() -> None:
    row = row_of("far", judged(0.05, 2.5))
    assert row.value == pytest.approx(5.0)
    assert row.holds
    assert "stream +5.0%, its runs +3% to +35%" in row.note
    assert "slow motion 2.5" in row.note
    assert not row_of("far", judged(-0.11, 1.0)).holds
