"""Messages during a measurement."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace
from samples import device, measured_here

from nearfar.documents import DeviceProfile
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


KIB, MIB = 1 << 10, 1 << 20
REPORTED = "32.0 KiB, 512 KiB, 32.0 MiB"


def cache(name: str, size: float, low: float, high: float, confidence: float = 1.0) -> BufferFigure:
    return BufferFigure(
        name=name,
        capacity_bytes=int(size),
        capacity_low_bytes=int(low),
        capacity_high_bytes=int(high),
        confidence=confidence,
        how="measured",
        source="here",
    )


def inferred(*caches: BufferFigure, reported: str = REPORTED, **context: Any) -> DeviceProfile:
    """Return a device of which only caches are known."""
    figures = {"latency": [], "chains": [], "bandwidth": [], "loaded_latency": []}
    here = replace(measured_here(), environment={CACHES_FACT: reported}, **context)
    return replace(device("dram"), measured=here, buffers=list(caches), **figures)


def test_a_summary_judges_noise() -> None:
    quiet = show.summary(inferred(noise_floors={"latency": 0.1}))
    assert "do not use" not in quiet
    assert "was not measured" not in quiet
    noisy = show.summary(inferred(noise_floors={"latency": 0.8}))
    assert "do not use this profile: it was measured with a noise floor of 80%" in noisy


def test_without_surfaces_the_summary_says_that_noise_was_not_measured() -> None:
    text = show.summary(inferred(repetitions=0, noise_floors={}, contention=0.24))
    assert "no rounds of surfaces; 1 s in all, contention 24%" in text
    of_inference = inferred(repetitions=0, noise_floor=0.2, noise_floors={"latency": 0.2})
    assert "1 s in all; A/A noise floor 20.0%" in show.summary(of_inference)
    assert "noise was not measured, because no surface was: measure one too" in text
    assert "was not measured" not in show.summary(inferred(repetitions=3))


def test_sizes_stand_beside_those_that_the_kernel_reports() -> None:
    text = show.summary(
        inferred(
            cache("L1", 31 * KIB, 30 * KIB, 33 * KIB),
            cache("L2", 480 * KIB, 420 * KIB, 500 * KIB, 0.9),
            cache("L3", 9 * MIB, 8 * MIB, 11 * MIB, 0.8),
        )
    )
    assert "31.0 KiB (30.0 KiB to 33.0 KiB); the kernel reports 32.0 KiB; confidence 100%" in text
    assert "(420 KiB to 500 KiB); the kernel reports 512 KiB; confidence 90%" in text
    # Neighbours use the same last level.
    assert "the kernel reports 32.0 MiB, of which a core may get a part; confidence 80%" in text
    assert "do not use" not in text


def test_sizes_that_leave_out_the_reported_ones_are_not_to_be_used() -> None:
    """A run beside busy neighbours gave these."""
    text = show.summary(
        inferred(
            cache("L1", 23.4 * KIB, 22.6 * KIB, 24.7 * KIB),
            cache("L2", 256 * KIB, 204 * KIB, 279 * KIB, 0.83),
            cache("L3", 2.92 * MIB, 2.09 * MIB, 3.08 * MIB, 0.95),
            cache("L4", 8.92 * MIB, 8 * MIB, 11.3 * MIB, 0.8),
            cache("buffer 1", 64 * MIB, 60 * MIB, 70 * MIB, 0.7),
        )
    )
    assert (
        "do not use the inferred size of L1, L2, L3: the kernel reports one that is more than 20% "
        "off, or no such cache; measure again at a quieter time"
    ) in text
    assert re.search(
        r"L1, by reads +23.4 KiB \(22.6 KiB to 24.7 KiB\); the kernel .* 32.0 KiB\n", text
    )
    assert re.search(r"L3, by reads .*; the kernel reports no such cache\n", text)
    assert re.search(r"L4, by reads .* reports 32.0 MiB, of which a core may get a part", text)
    assert "64.0 MiB (60.0 MiB to 70.0 MiB) (confidence 70%)" in text
    assert "100%" not in text


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (4.8 * MIB, 5.2 * MIB, "reports 4.00 MiB; confidence"),  # an exclusive cache, beside L2
        (6.5 * MIB, 7 * MIB, "reports 4.00 MiB\n"),
        (2 * MIB, 3 * MIB, "of which a core may get a part"),
        (90 * KIB, 110 * KIB, "reports 4.00 MiB\n"),  # less than L2 is no part of it
    ],
)
def test_the_last_level_is_judged_beside_the_nearer_ones(
    low: float, high: float, says: str
) -> None:
    seen = [cache("L2", MIB, 0.95 * MIB, 1.05 * MIB), cache("L3", (low + high) / 2, low, high)]
    text = show.summary(inferred(*seen, reported="1.00 MiB, 4.00 MiB"))
    assert says in text
    assert ("do not use" in text) == says.endswith("\n")


def test_caches_that_were_not_seen_are_listed() -> None:
    text = show.summary(inferred(cache("L1", 500 * KIB, 490 * KIB, 520 * KIB)))
    assert "the kernel reports 512 KiB; confidence 100%" in text
    assert re.search(r"caches not seen +32.0 KiB, 32.0 MiB, which the kernel reports", text)
    assert "(confidence 100%)" in show.summary(
        inferred(cache("L1", 500 * KIB, 490 * KIB, 520 * KIB), reported="unknown")
    )
