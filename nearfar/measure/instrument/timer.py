"""Timer: cost of timing one access, its resolution, and the error after subtraction."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from nearfar.base.statistics import difference_estimate
from nearfar.measure.instrument.verdict import InstrumentVerdict, Values, plain_chase
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint

TIMED = 20_000
"""Accesses timed one by one: their median is known to far less than 1 ns."""

COARSE = 0.2
"""Ratio of resolution to latency above which percentiles are steps of the timer. Time stamp
counters of AMD step by 10 ns, a tenth of a usual DRAM latency."""

LEFT_OVER = 0.1
"""Share of the latency that timing each access may add: fences around an access stop overlap."""


def points(facts: SubjectFacts) -> list[SamplePoint]:
    """Return the plain chase, and the same with every access timed by itself."""
    plain = plain_chase(facts)
    return [plain, _each(plain)]


def judge(facts: SubjectFacts, values: Values) -> list[InstrumentVerdict]:
    """Compare timing each access with timing many at once."""
    plain = plain_chase(facts)
    latency_ns = median(values[plain])
    left = difference_estimate(values[_each(plain)], values[plain])
    text = (
        f"timing one access costs {facts.timer_overhead_ns:.1f} ns, which is taken off, in steps "
        f"of {facts.timer_resolution_ns:.2g} ns; {left.value:+.1f} ns [{left.low:+.1f}, "
        f"{left.high:+.1f}] remain compared with accesses timed together"
    )
    coarse = facts.timer_resolution_ns > COARSE * latency_ns
    leaves = abs(left.value) > LEFT_OVER * latency_ns and not left.low <= 0 <= left.high
    remedy = ""
    if coarse:
        remedy = (
            "percentiles of single accesses have this resolution: compare only larger differences"
        )
    elif leaves:
        remedy = "compare percentiles of single accesses with each other, not with the mean latency"
    return [
        InstrumentVerdict(
            "timer",
            "doubtful" if coarse or leaves else "good",
            text,
            remedy,
            {
                "timer_overhead_ns": f"{facts.timer_overhead_ns:.2f}",
                "timer_resolution_ns": f"{facts.timer_resolution_ns:.3g}",
                "timer_left_over_ns": f"{left.value:.2f}",
            },
        )
    ]


def _each(plain: SamplePoint) -> SamplePoint:
    return replace(plain, each=True, accesses=TIMED)
