"""Prefetchers at work, from the cost of lines that a prefetcher could fetch.

No prefetcher can predict a random chase, but it can predict the same dependent loads in order or at
a constant stride. A device's buffer makes neighbours cheaper too, but they still cost the way to
the device. So a line that costs no more than a hit in the last-level cache was prefetched.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from nearfar.measure.instrument.verdict import InstrumentVerdict, Values, plain_chase
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint

STRIDES_BYTES = (64, 128, 256, 512, 1024, 2048)
"""Strides tested, up to half a small page: prefetchers do not cross 4 KiB pages."""

BROUGHT = 0.25
"""Ratio to a random line's cost below which a cache must have served the line: the best published
buffer hit takes 0.48 of a miss (Optane 100, 181 of 377 ns), a row-buffer hit of DRAM about 0.6."""

CHEAPER = 0.9
"""Ratio to a random line's cost below which a prefetcher or buffer helped: 10 % exceeds the noise
of a few rounds."""


def points(facts: SubjectFacts) -> list[SamplePoint]:
    """Return the plain chase, pairs of neighbours in random order, and constant strides."""
    plain = plain_chase(facts)
    chosen = [plain, _pairs(plain)]
    if "chase-sequential" in facts.kernels:
        chosen += [_strided(plain, stride) for stride in STRIDES_BYTES]
    return chosen


def judge(facts: SubjectFacts, values: Values) -> list[InstrumentVerdict]:
    """Judge which prefetchers work, and which strides they follow."""
    plain = plain_chase(facts)
    random_ns = median(values[plain])
    # A pair costs a random line and its neighbour; the figure is the mean of both.
    neighbour = max(2 * median(values[_pairs(plain)]) / random_ns - 1, 0.0)
    shares = {
        stride: median(values[_strided(plain, stride)]) / random_ns
        for stride in STRIDES_BYTES
        if _strided(plain, stride) in values
    }
    followed = [stride for stride, share in shares.items() if share < BROUGHT]
    unclear = [stride for stride, share in shares.items() if BROUGHT <= share < CHEAPER]
    parts = [f"the neighbour of a random line costs {neighbour:.0%} of it ({_cause(neighbour)})"]
    if followed:
        parts.append(f"strides of {_list(followed)} B are prefetched")
    if unclear:
        parts.append(f"strides of {_list(unclear)} B are cheaper, by a prefetcher or a buffer")
    if shares and not followed and not unclear:
        parts.append("no stride is prefetched")
    kept = {
        "prefetch_neighbour": f"{neighbour:.2f}",
        "prefetched_strides_bytes": ",".join(map(str, followed)) or "none",
        **{f"stride_{stride}_cost": f"{share:.2f}" for stride, share in shares.items()},
    }
    return [InstrumentVerdict("prefetch", "good", "; ".join(parts), facts=kept)]


def _cause(share: float) -> str:
    if share < BROUGHT:
        return "an adjacent-line prefetcher works"
    return "a late prefetcher, or a buffer" if share < CHEAPER else "nobody brings it"


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _pairs(plain: SamplePoint) -> SamplePoint:
    return replace(plain, access_bytes=128)


def _strided(plain: SamplePoint, stride: int) -> SamplePoint:
    return replace(plain, kernel="chase-sequential", stride_bytes=0 if stride == 64 else stride)
