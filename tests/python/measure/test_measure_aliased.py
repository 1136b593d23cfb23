"""Copies between arrays that lie a power of two apart: the penalty in profile and summary."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from samples import device

from nearfar.documents.device import BandwidthFigure
from nearfar.measure import show
from nearfar.measure.subject import SubjectFacts
from nearfar.measure.surfaces import SURFACES, SurfacePlan
from nearfar.measure.surfaces.bandwidth import ALIASED
from nearfar.samples.point import Sample, SamplePoint

FACTS = SubjectFacts(
    (2 << 20,), 256 << 20, 256 << 20, 4, frozenset({"copy", ALIASED}), 32 << 20, 20.0, 1.0
)
PLAN = SurfacePlan(FACTS, quick=True)


class Copies:
    """Copies at 10 GB/s; aliased ones lose `penalty` of that, whatever the round."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def sample(self, point: SamplePoint, number: int) -> Sample:
        speeds = (10.0, 10.2, 9.8, 10.1, 9.9)
        if point.kernel == ALIASED:
            return Sample(speeds[3 * number % 5] * (1.0 - self.penalty))
        return Sample(speeds[number % 5])


def figures(penalty: float, points: list[SamplePoint]) -> list[BandwidthFigure]:
    subject = Copies(penalty)
    samples = {point: [subject.sample(point, n) for n in range(10)] for point in points}
    return SURFACES.get("bandwidth").figures(samples, PLAN).bandwidth


def aliased_line(made: list[BandwidthFigure]) -> str:
    text = show.summary(replace(device("dram"), latency=[], chains=[], bandwidth=made))
    (line,) = [line for line in text.splitlines() if "aliased copy" in line]
    return line


@pytest.mark.parametrize(
    ("penalty", "says"),
    [
        (0.22, r"22% slower than copy .*\(2[01]% to 2[34]%\)"),
        (0.0, r"not seen to be slower than .*\(-[12]% to [12]%\)"),
        (-0.1, r"1\d% faster than .*\(\d+% to 1\d%\)"),
    ],
)
def test_the_summary_says_how_much_slower_aliased_copies_are(penalty: float, says: str) -> None:
    made = figures(penalty, SURFACES.get("bandwidth").points(PLAN))
    (aliased,) = [figure for figure in made if figure.pattern == "aliased"]
    assert re.fullmatch(f"both arrays lie a power of two apart: {says}", aliased.note)
    assert aliased.value_gb_per_s == pytest.approx(10 * (1 - penalty))
    assert aliased_line(made).endswith(f"GB/s [{aliased.low_gb_per_s:.1f}, "
                                       f"{aliased.high_gb_per_s:.1f}], {aliased.note}")  # fmt: skip


def test_without_plain_copies_there_is_no_penalty() -> None:
    points = [point for point in SURFACES.get("bandwidth").points(PLAN) if point.kernel == ALIASED]
    assert "copy with staggered starts was not measured" in aliased_line(figures(0.2, points))
