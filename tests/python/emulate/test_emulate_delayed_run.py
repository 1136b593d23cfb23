"""Subtraction of the cost of tracing from a run with delays."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nearfar.emulate.cost_file import PHASES, Settlement
from nearfar.emulate.delayed_run import (
    MAX_SHARE_CHANGE,
    MIN_SLOWER_RATIO,
    SPARE_FACTOR,
    DelayedRun,
    PhaseGroups,
)
from nearfar.program.launch import RunOutcome
from nearfar.program.phases import PhaseTime, ProfiledRun

MS = 1_000_000
NAMES = {1: "-"} | {
    2 + 2 * part + i: f"{kernel}.{part}"
    for part in range(7)
    for i, kernel in enumerate(("chase", "stream"))
}
GROUPS = PhaseGroups(NAMES, lambda name: name.partition(".")[0])


def phases(chase_ms: float, stream_ms: float, rest_ms: float = 1000.0) -> dict[str, PhaseTime]:
    """Return phases in which every part of a kernel takes the same time."""
    of = {"-": rest_ms, "chase": chase_ms, "stream": stream_ms}
    return {
        name: PhaseTime(cpu_ns=round(of[GROUPS.group_of(name)] * MS)) for name in NAMES.values()
    }


def run(of: dict[str, PhaseTime]) -> ProfiledRun:
    cpu_ns = sum(phase.cpu_ns for phase in of.values())
    return ProfiledRun(RunOutcome("exited with 0", False, cpu_ns, cpu_ns), of)


def by_phase(of: Mapping[str, float]) -> tuple[int, ...]:
    """Return ns in every part of a kernel."""
    parts = {number: of.get(GROUPS.group_of(name), 0.0) for number, name in NAMES.items()}
    return tuple(round(parts.get(number, 0.0) * MS) for number in range(PHASES))


def delayed(
    measured: dict[str, PhaseTime],
    waited: Mapping[str, float],
    unpaid: Mapping[str, float] | None = None,
    slow_motion: float = 1.0,
) -> DelayedRun:
    run_near = run(measured)
    shown = {
        name: PhaseTime(cpu_ns=round(phase.cpu_ns / slow_motion))
        for name, phase in measured.items()
    }
    waited_ns = by_phase(waited)
    settled = Settlement(1, sum(waited_ns), waited_ns, by_phase(unpaid or {}))
    return DelayedRun(run_near.outcome, shown, settled, slow_motion)


def test_the_median_part_gives_the_programs_own_time() -> None:
    plain, traced = phases(20.0, 8.0), phases(25.0, 20.0)
    plain["stream.3"].cpu_ns *= 9
    shares = GROUPS.shares(run(plain), run(traced))
    assert shares[2] == pytest.approx(0.8)
    assert shares[3] == shares[9] == pytest.approx(0.4)
    assert 0.0 < shares[-1] <= 1.0


def test_a_stream_that_waits_little_in_each_part_is_relevant() -> None:
    """Far memory is a tenth slower: a stream's part has 2 of 42 ms of waits."""
    plain, traced = phases(20.0, 8.0), phases(25.0, 20.0)
    shares = GROUPS.shares(run(plain), run(traced))
    # With waits, tracing a stream costs a quarter more: 25 ms per part.
    with_waits = delayed(phases(65.0, 27.0), {"chase": 40.0, "stream": 2.0})
    actual = GROUPS.shares(run(plain), GROUPS.without_waits(with_waits))
    assert actual[3] == pytest.approx(8.0 / 25.0)
    assert set(GROUPS.relevant(with_waits)) == {"chase", "stream"}
    assert GROUPS.share_change(shares, actual, with_waits) == pytest.approx(0.2)
    assert MAX_SHARE_CHANGE < 0.2


def test_time_that_does_not_depend_on_memory_is_not_relevant() -> None:
    """The part before a kernel is longest and drifts; nothing is calculated from it."""
    with_waits = delayed(phases(65.0, 27.0), {"chase": 40.0, "stream": 2.0})
    shares = dict.fromkeys((-1, *NAMES), 0.5)
    other = {**shares, 1: 0.9}
    assert GROUPS.share_change(shares, other, with_waits) == 0.0
    short = delayed(phases(65.0, 0.5), {"chase": 40.0, "stream": 0.2})
    assert GROUPS.relevant(short) == ["chase"]


def test_time_that_cannot_be_subtracted_is_relevant_even_without_waits() -> None:
    behind = delayed(phases(65.0, 27.0), {"chase": 40.0}, {"stream": 5.0})
    assert set(GROUPS.relevant(behind)) == {"chase", "stream"}


def test_waits_are_subtracted_in_the_measured_time() -> None:
    slowly = delayed(phases(60.0, 30.0), {"chase": 20.0, "stream": 5.0}, slow_motion=2.0)
    actual = GROUPS.without_waits(slowly)
    assert actual.phases["chase.0"].cpu_ns == 40 * MS
    assert actual.phases["stream.6"].cpu_ns == 25 * MS
    assert actual.outcome.cpu_ns == slowly.outcome.cpu_ns - 7 * 25 * MS


def slow_motion(delayed: DelayedRun, limit: float = 8.0) -> float:
    """Return the slow motion at tracing's shares without delays: 0.8 and 0.4."""
    plain = run(phases(20.0, 8.0))
    assumed = GROUPS.shares(plain, run(phases(25.0, 20.0)))
    actual = GROUPS.shares(plain, GROUPS.without_waits(delayed))
    return GROUPS.slow_motion(plain, delayed, assumed, actual, limit)


def test_a_single_stream_that_is_behind_is_run_in_slow_motion() -> None:
    """Nearly 0.02 of 1.2 s are unpaid: too little in total, but a third of the stream's waits."""
    assert slow_motion(delayed(phases(65.0, 20.0), {"chase": 40.0})) == 1.0
    behind = delayed(phases(65.0, 20.0), {"chase": 40.0}, {"stream": 3.0})
    assert behind.settled.unpaid_ns < 0.02 * run(phases(20.0, 8.0)).outcome.cpu_ns
    # Far memory takes 17 ms of a part that takes 20 ms with tracing.
    assert slow_motion(behind) == pytest.approx(SPARE_FACTOR * 20.0 / 17.0)
    assert slow_motion(behind, limit=1.0) == 1.0
    assert slow_motion(delayed(phases(65.0, 20.0), {"chase": 40.0}, {"stream": 0.1})) == 1.0


def test_a_part_that_is_much_slower_in_far_memory_needs_no_slow_motion() -> None:
    """A stream takes 2.5 times its time with tracing, but 11 times in far memory."""
    behind = delayed(phases(25.0, 88.0), {"stream": 68.0}, {"chase": 2.0})
    assert slow_motion(behind) == pytest.approx(SPARE_FACTOR * 25.0 / 23.0)


def test_many_short_phases_that_are_behind_count_together() -> None:
    names = {number: f"step {number}" for number in range(1, 202)}
    parts = PhaseGroups(names)

    def steps(ms: float) -> dict[str, PhaseTime]:
        return {name: PhaseTime(cpu_ns=round(ms * MS)) for name in names.values()}

    plain, measured = run(steps(1.0)), run(steps(2.0))
    unpaid = tuple(MS // 2 if number in names else 0 for number in range(PHASES))
    behind = DelayedRun(
        measured.outcome, measured.phases, Settlement(1, 0, unpaid_by_phase=unpaid), 1.0
    )
    assert parts.relevant(behind) == []
    actual = parts.shares(plain, parts.without_waits(behind))
    assert parts.slow_motion(plain, behind, actual, actual, 8.0) == pytest.approx(
        SPARE_FACTOR * 2.0
    )


def test_slow_motion_rises_where_tracing_is_slower_with_delays() -> None:
    """The given slow motion left a tenth of reserve, most of which tracing then took."""
    had = SPARE_FACTOR * 20.0 / 8.0

    def with_stream(traced_ms: float, waited_ms: float) -> float:
        measured = phases(65.0, traced_ms + waited_ms)
        waits = {"chase": 40.0, "stream": waited_ms}
        return slow_motion(delayed(measured, waits, slow_motion=had))

    assert with_stream(20.0, 2.0) == had
    assert with_stream(20.0, 20.0 * (SPARE_FACTOR / (MIN_SLOWER_RATIO + 0.001) - 1.0)) > had
    assert with_stream(20.0, 20.0 * (SPARE_FACTOR / (MIN_SLOWER_RATIO - 0.001) - 1.0)) == had
    # Where tracing's share is less than assumed, so is the share of far memory.
    far_ms = 29.0 / had * 20.0 / 28.0
    assert with_stream(28.0, 1.0) == pytest.approx(SPARE_FACTOR * 28.0 / far_ms)


def test_a_phase_without_plain_time_has_the_share_of_the_whole_run() -> None:
    shares = GROUPS.shares(run(phases(20.0, 0.0)), run(phases(25.0, 20.0)))
    assert set(shares) & set(NAMES) == {n for n, name in NAMES.items() if "stream" not in name}
