"""Counters of a program at several sizes, fitted over the size: at one between them, a profile.

As the performance thesis does by hand for one hash map: each counter per element is a curve over n,
of which it prints lines and logarithms. Here near time, misses and write-backs are each

- a + b / n: a line over n, in all; the lines of the thesis
- a + b ln n: what logarithms make of it; the thesis' miss ratios

whichever tells sizes better that it was not fitted to. Its fits fall below zero at small n, which
an absolute value hides there; here they are of relative errors, and what is negative is refused, as
is a size outside of those counted. How far a size that was left out is missed is the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile
from nearfar.documents.counters import CounterProfile
from nearfar.documents.workload import AccessClasses
from nearfar.predict.from_counters import profile_of_counters

Array = NDArray[np.float64]

FEWEST_SIZES = 4
"""A curve has two numbers; with one size left out, a third says whether it is that curve."""

LARGEST_ERROR = 0.35
"""Of a size left out, beyond which the curves are none of this program's; as `nearfar scale`."""

LAWS: dict[str, Callable[[Array], Array]] = {
    "a + b / n": lambda n: 1.0 / n,
    "a + b ln n": np.log,
}
"""What one count per element is linear in."""


@dataclass(frozen=True)
class CountFit:
    """One count at the size asked for."""

    value: float
    error: float
    """The greatest relative error of a size that the curve was fitted without."""
    law: str


def profile_of_fit(counted: Sequence[CounterProfile], sizes: dict[str, float]) -> WorkloadProfile:
    """Return the profile at `sizes`, one of which the counters were had at several values of.

    Raises NearfarError where sizes lack, differ in something else or do not surround the one asked
    for, and where no curve tells sizes it was not fitted to.
    """
    name, at = _parameter(counted, sizes)
    profiles = [profile_of_counters(one) for one in counted]
    n = np.array([one.size[name] for one in counted])
    nearest = profiles[int(np.argmin(np.abs(np.log(n / at))))]
    phases = [profile.phases[0] for profile in profiles]
    traffics = [phase.objects[0].traffic for phase in phases]
    time = fit(n, [phase.near_cpu_time_ns.value for phase in phases], at, f"near time over {name}")
    wall = fit(n, [phase.near_wall_time_ns for phase in phases], at, f"wall time over {name}")
    lines = fit(n, [traffic.misses() for traffic in traffics], at, f"misses over {name}")
    written = fit(n, [one.write_backs for one in traffics], at, f"write-backs over {name}")
    said = [
        f"nobody counted {name}={at:g}: curves of what is counted per {name}, through {name}="
        f"{', '.join(f'{size:g}' for size in sorted(set(n.tolist())))}; sizes left out are missed "
        "by at most "
        + ", ".join(
            f"{one.error:.1%} ({what}: {one.law.replace('n', name) if len(name) == 1 else one.law})"
            for what, one in (("near time", time), ("misses", lines), ("write-backs", written))
        )
    ]
    traffic = msgspec.structs.replace(
        traffics[0],
        accesses=lines.value,
        read_misses=AccessClasses(opaque=lines.value),
        write_backs=written.value,
    )
    phase = msgspec.structs.replace(
        phases[0],
        near_cpu_time_ns=Estimate(
            time.value, time.value * (1.0 - time.error), time.value * (1.0 + time.error)
        ),
        near_wall_time_ns=wall.value,
        objects=[msgspec.structs.replace(phases[0].objects[0], traffic=traffic)],
    )
    error = max(lines.error, written.error) + nearest.sampling.relative_error
    return msgspec.structs.replace(
        nearest,
        size=dict(sizes),
        sampling=msgspec.structs.replace(nearest.sampling, relative_error=error),
        phases=[phase],
        warnings=[*said, *nearest.warnings],
    )


def fit(sizes: Array, counts: Sequence[float], at: float, what: str) -> CountFit:
    """Return a count at size `at` from those at `sizes`; NearfarError where no curve holds."""
    y = np.asarray(counts, dtype=float)
    if not y.any():
        return CountFit(0.0, 0.0, "none")
    if y.min() <= 0.0:
        raise NearfarError(
            f"{what} is none at {sizes[int(y.argmin())]:g} and not at other sizes: no curve is "
            "fitted to that; leave that size out"
        )
    found = []
    for law, form in LAWS.items():
        misses = []
        for left_out in np.unique(sizes):
            kept = sizes != left_out
            told = _at(sizes[kept], y[kept], form, float(left_out))
            misses.append(np.abs(told / y[~kept] - 1.0).max())
        found.append(CountFit(_at(sizes, y, form, at), float(max(misses)), law))
    best = min(found, key=lambda one: one.error)
    if best.error > LARGEST_ERROR or best.value <= 0.0:
        raise NearfarError(
            f"{what} follows no curve: sizes that were counted are missed by up to "
            f"{best.error:.0%} (bound {LARGEST_ERROR:.0%}); count more sizes between them"
        )
    return best


def _at(sizes: Array, counts: Array, form: Callable[[Array], Array], at: float) -> float:
    """Return the count at `at` of the curve per element with the least relative squares."""
    terms = np.column_stack([np.ones(len(sizes)), form(sizes)])
    # Each row over what it is to be: errors are relative, so small sizes count as much.
    weights = sizes / counts
    found, *_ = np.linalg.lstsq(terms * weights[:, None], np.ones(len(sizes)), rcond=None)
    return float(at * (found[0] + found[1] * float(form(np.asarray(at)))))


def _parameter(counted: Sequence[CounterProfile], sizes: dict[str, float]) -> tuple[str, float]:
    """Return the size that varies and its value asked for; refuse what cannot be fitted."""
    first = counted[0]
    for one in counted:
        if set(one.size) != set(sizes) or not sizes:
            raise NearfarError(
                f"{one.file} was counted at {_said(one.size)} and asked for is {_said(sizes)}: "
                "import each file with its --size, such as n=1e5, and ask for the same names"
            )
        if set(one.names) != set(first.names):
            raise NearfarError(
                f"{one.file} holds {', '.join(one.names)} and {first.file} "
                f"{', '.join(first.names)}: count the same at all sizes"
            )
    varying = [name for name in sizes if len({one.size[name] for one in counted}) > 1]
    if len(varying) != 1:
        raise NearfarError(
            f"{' and '.join(varying) or 'no size'} differs between the counter files: one size is "
            "fitted over, the others must be the same"
        )
    (name,) = varying
    for other in set(sizes) - {name}:
        if sizes[other] != first.size[other]:
            raise NearfarError(f"all files have {other}={first.size[other]:g}: nothing else is fit")
    values, at = sorted({one.size[name] for one in counted}), sizes[name]
    if values[0] <= 0.0:
        raise NearfarError(f"{name} must be above 0 in every counter file, not {values[0]:g}")
    if len(values) < FEWEST_SIZES:
        raise NearfarError(
            f"{len(values)} sizes say little of how counts grow with {name}: count at "
            f"{FEWEST_SIZES} at least"
        )
    if not values[0] <= at <= values[-1]:
        raise NearfarError(
            f"{name}={at:g} is outside what was counted, {values[0]:g} to {values[-1]:g}, and "
            "curves are not followed there: count such a size too"
        )
    return name, at


def _said(sizes: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in sizes.items()) or "no size"
