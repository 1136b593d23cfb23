"""All runs of a profile end in time, whatever each of them takes of what it may."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from nearfar.options.try_program import PASSES_OF_AFTER
from nearfar.profile.deadline import LEAST_S, LEAST_SLOWDOWN, START_S, RunDeadline
from nearfar.profile.sources.sampled_end import MAX_TRIES


@dataclass
class Clock:
    """A clock that only runs of this test move."""

    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


TIMES_S = st.floats(15.0, 600.0)


@given(TIMES_S, st.floats(0.0, 1000.0), st.floats(0.0, 1.0), st.integers(0, MAX_TRIES))
def test_a_program_that_does_not_end_under_qemu_ends_in_time(
    time_s: float, program_s: float, started_share: float, unreached: int
) -> None:
    clock = Clock()
    deadline = RunDeadline(clock.now_s + time_s, clock)
    longest_s = deadline.plain_s(in_part=True)
    ended = program_s <= longest_s
    clock.now_s += min(program_s, longest_s)
    sample_s = deadline.sample_s(program_s if ended else None)
    clock.now_s += sample_s + started_share * START_S
    # Whatever part was sampled, its native time is left.
    part_s = sample_s / LEAST_SLOWDOWN
    if ended:
        part_s = min(part_s, program_s)
    assert part_s <= deadline.left_s() + 1e-9
    for tried in range(unreached):
        clock.now_s += deadline.part_s(MAX_TRIES - tried)
    assert clock.now_s <= deadline.ends_s + LEAST_S


@given(
    TIMES_S,
    st.floats(0.0, 1000.0),
    st.floats(0.0, 60.0),
    st.floats(0.0, 1.0),
    st.booleans(),
)
def test_runs_that_are_counted_late_end_in_time(
    time_s: float, program_s: float, after_s: float, started_share: float, in_part: bool
) -> None:
    clock = Clock()
    # Runs with a part that is not counted, as the default of --time allows.
    deadline = RunDeadline(clock.now_s + time_s + PASSES_OF_AFTER * after_s, clock, after_s)
    longest_s = deadline.plain_s(in_part=in_part)
    assert longest_s >= 0.2 * time_s - 1e-6
    ended = program_s <= after_s + longest_s
    clock.now_s += min(program_s, after_s + longest_s)
    if in_part:
        sample_s = deadline.sample_s(program_s if ended else None)
        clock.now_s += after_s + started_share * START_S + sample_s
        # The native run to where sampling ended passes the part that is not counted once more.
        part_s = (after_s + sample_s) / LEAST_SLOWDOWN
        if ended:
            part_s = min(part_s, program_s)
        assert part_s <= deadline.left_s() + 1e-9
        clock.now_s += part_s
    else:
        clock.now_s += after_s + deadline.counted_s()
    assert clock.now_s <= deadline.ends_s + LEAST_S


@given(TIMES_S, st.floats(0.0, 3.0))
def test_what_a_short_program_leaves_is_for_sampling(time_s: float, program_s: float) -> None:
    clock = Clock()
    deadline = RunDeadline(clock.now_s + time_s, clock)
    assert program_s <= deadline.plain_s(in_part=True)
    clock.now_s += program_s
    # A program that does not end by itself leaves a third of the time for its native part.
    assert deadline.sample_s(program_s) >= deadline.sample_s(None) >= LEAST_S
    if time_s >= 30 and program_s <= 0.1:
        assert deadline.sample_s(program_s) >= 0.8 * time_s


def test_an_instrumented_program_may_take_longer_than_one_that_is_sampled() -> None:
    clock = Clock()
    deadline = RunDeadline(clock.now_s + 40.0, clock)
    assert deadline.plain_s(in_part=False) > deadline.plain_s(in_part=True)
    # An observed run of 1.5 times the longest plain one still ends in time.
    longest_s = deadline.plain_s(in_part=False)
    clock.now_s += longest_s
    assert 1.5 * longest_s <= deadline.left_s() + 1e-9
    clock.now_s += 1000.0
    assert deadline.left_s() == LEAST_S
