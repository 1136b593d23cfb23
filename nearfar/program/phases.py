"""Times of the phases of one run."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.program.control import PHASE_BEFORE, Control
from nearfar.program.launch import RunOutcome


@dataclass
class PhaseTime:
    """One phase of one run."""

    cpu_ns: int = 0
    wall_ns: int = 0
    entries: int = 0
    operations: float = 0.0


@dataclass(frozen=True)
class ProfiledRun:
    """One run and the times of its phases."""

    outcome: RunOutcome
    phases: dict[str, PhaseTime]


def phase_times(control: Control, outcome: RunOutcome) -> dict[str, PhaseTime]:
    """Return the counted phases of a run that has ended, by name, in the order of their marks.

    Marks record the CPU time of the process that makes them. The remaining time of the run (after
    the last mark, and of other processes) belongs to the phase that was current at the end.
    """
    rows = control.phases()
    left_cpu_ns = outcome.cpu_ns - sum(row.cpu_ns for row in rows)
    left_wall_ns = outcome.wall_ns - sum(row.wall_ns for row in rows)
    current = control.current_phase()
    times: dict[str, PhaseTime] = {}
    for number, row in enumerate(rows):
        if number == PHASE_BEFORE:
            continue
        is_current = number == current
        times[row.name.decode(errors="replace")] = PhaseTime(
            cpu_ns=row.cpu_ns + (max(0, left_cpu_ns) if is_current else 0),
            wall_ns=row.wall_ns + (max(0, left_wall_ns) if is_current else 0),
            entries=row.entries,
            operations=row.operations,
        )
    return times
