"""Programs whose far time is known on paper, on every device of the library."""

from __future__ import annotations

from itertools import cycle

import pytest
from form_grid import ASSEMBLY, QUICK, fars, near_device
from judge_forms import Violation, judge
from paper_programs import Hiding, in_assembly, programs

EVERY = slice(None)
EVEN = slice(0, None, 2)
HALVES = (EVEN, slice(1, None, 2), slice(1, None, 2), EVEN)
"""Halves of the library, by point: each device is judged at every second point in `make test`, with
one thread and with several, at all of them in `make test-long`."""


@pytest.mark.parametrize(
    ("near", "hiding", "lines", "threads", "some"),
    [
        *((*point, half) for point, half in zip(QUICK, cycle(HALVES))),
        *(pytest.param(*point, EVERY, marks=pytest.mark.long) for point in QUICK),
    ],
)
def test_every_program_takes_what_the_figures_allow(
    near: str, hiding: Hiding, lines: int, threads: int, some: slice
):
    wrong = judge(programs(lines, threads), near_device(near), fars()[some], hiding)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("near", "hiding", "lines", "threads", "some"),
    [
        *((*point, half) for point, half in zip(ASSEMBLY, HALVES, strict=False)),
        *(pytest.param(*point, EVERY, marks=pytest.mark.long) for point in ASSEMBLY),
    ],
)
def test_loads_in_inline_assembly_are_reached_or_counted(
    near: str, hiding: Hiding, lines: int, threads: int, some: slice
):
    """Where QEMU counted them the time is what figures allow, else the interval reaches it."""
    wrong = judge(in_assembly(lines, threads), near_device(near), fars()[some], hiding)
    assert not wrong, "\n".join(map(str, wrong))


def test_a_copy_takes_no_less_than_a_sum_of_as_many_lines():
    """A copy also writes: once it was predicted at 1.06 s, and the sum at 1.49 s."""
    wrong = judge(programs(1 << 25, 1), near_device("made up"), fars("optane-100-6dimm"))
    assert not [each for each in wrong if "copy" in each.program], wrong


def test_the_judge_sees_what_cannot_be():
    """The near times of one memory, predicted with the figures of another."""
    near, other = near_device("made up"), near_device("ddr5-4800-local")
    wrong = judge(programs(1 << 20, 1), near, fars("optane-200"), "bus", predicted_near=other)
    assert {each.kind for each in wrong} >= {"above"} or {each.kind for each in wrong} >= {"below"}
    assert all(isinstance(each, Violation) for each in wrong)
