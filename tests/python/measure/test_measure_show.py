"""Messages during a measurement."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from samples import device, measured_here

from nearfar.documents.device import BufferFigure
from nearfar.measure import show
from nearfar.measure.measure import seconds_given
from nearfar.measure.subject import CACHES_FACT
from nearfar.options.measure import MeasureOptions


@pytest.mark.parametrize(
    ("elapsed_s", "share", "most_s", "left"),
    [
        (2.5, 0.003, 55.0, "about 52 s left"),  # a slow first sample gives no rate
        (2.5, 0.003, None, ""),
        (10.0, 0.1, 55.0, "about 45 s left"),
        (10.0, 0.5, 55.0, "about 10 s left"),  # it may end early
        (10.0, 0.5, None, "about 10 s left"),
        (60.0, 0.5, 55.0, "about 60 s left"),  # the minimum number of rounds takes its time
        (60.0, 1.0, 55.0, ""),
        (0.0, 0.0, 55.0, "about 55 s left"),
    ],
)
def test_remaining_time_is_bounded_by_the_budget(
    elapsed_s: float, share: float, most_s: float | None, left: str
) -> None:
    assert show.time_left(elapsed_s, share, most_s) == left


def test_plain_lines_never_exceed_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    with show.progress(quiet=False, most_s=55.0) as tell:
        tell("measuring 80 points, round 1", 0.001)
    (line,) = capsys.readouterr().err.splitlines()
    result = re.fullmatch(
        r"nearfar measure:   0% measuring 80 points, round 1, about (\d+) s left", line
    )
    assert result is not None
    assert int(result[1]) <= 55


def test_the_budget_follows_from_the_options() -> None:
    assert seconds_given(MeasureOptions(seconds=7.0, repetitions=3)) == 7.0
    assert seconds_given(MeasureOptions(repetitions=3)) is None
    quick, full = (seconds_given(MeasureOptions(quick=quick)) for quick in (True, False))
    assert quick is not None
    assert full is not None
    assert quick < full


def test_a_summary_judges_noise_and_shows_reported_caches_beside_inferred_ones() -> None:
    quiet = replace(
        measured_here(), noise_floors={"latency": 0.1}, environment={CACHES_FACT: "48 KiB, 32 MiB"}
    )
    cache = BufferFigure(
        name="cache",
        capacity_bytes=20 << 20,
        capacity_low_bytes=16 << 20,
        capacity_high_bytes=24 << 20,
        confidence=1.0,
        how="measured",
        source="here",
    )
    figures = {"latency": [], "chains": [], "bandwidth": [], "loaded_latency": []}
    made = replace(device("dram"), measured=quiet, buffers=[cache], **figures)
    text = show.summary(made)
    assert "20.0 MiB (16.0 MiB to 24.0 MiB) (confidence 100%)" in text
    assert re.search(r"caches by the kernel +48 KiB, 32 MiB", text)
    assert "do not use" not in text
    noisy = replace(made, measured=replace(quiet, noise_floors={"latency": 0.8}))
    assert "do not use this profile: it was measured with a noise floor of 80%" in show.summary(
        noisy
    )
