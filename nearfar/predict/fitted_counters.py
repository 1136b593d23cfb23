"""A profile at one size, from counters of a program at several sizes: curves fitted over the size.

The performance thesis does this by hand for one hash map: each counter per element is a curve over
n, a line or a logarithm. Here near time, misses, lines read and write-backs per element are each

- a + b / n: a line over n in total, as the lines of the thesis
- a + b ln n: a logarithm, as the thesis' miss ratios

The curve that better predicts sizes left out of the fit is used. The thesis' fits fall below zero
at small n, which an absolute value hides there. Here fits minimise relative errors; a negative
result is refused, as is a size outside of those counted. The interval is the error at a size left
out.
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

MIN_SIZES = 4
"""Minimum number of sizes: a curve has two parameters, and with one size left out three remain, of
which the third tests the curve."""

MAX_ERROR = 0.35
"""Maximum relative error at a size left out: beyond it, no curve fits this program; as `nearfar
scale`."""

LAWS: dict[str, Callable[[Array], Array]] = {
    "a + b / n": lambda n: 1.0 / n,
    "a + b ln n": np.log,
}
"""Functions of the size in which a count per element is linear."""


@dataclass(frozen=True)
class CountFit:
    """One count at the required size."""

    value: float
    error: float
    """Maximum relative error at a size that the curve was fitted without."""
    law: str


def profile_of_fit(counted: Sequence[CounterProfile], sizes: dict[str, float]) -> WorkloadProfile:
    """Return the profile at `sizes`; `counted` has several values of one of these parameters.

    Raises NearfarError where sizes are missing, differ in something else or do not surround the
    required one, and where no curve predicts sizes it was not fitted to.
    """
    name, at = _parameter(counted, sizes)
    profiles = [profile_of_counters(counters) for counters in counted]
    n = np.array([counters.size[name] for counters in counted])
    nearest = profiles[int(np.argmin(np.abs(np.log(n / at))))]
    phases = [profile.phases[0] for profile in profiles]
    traffics = [phase.objects[0].traffic for phase in phases]
    time = fit(n, [phase.near_cpu_time_ns.value for phase in phases], at, f"near time over {name}")
    wall = fit(n, [phase.near_wall_time_ns for phase in phases], at, f"wall time over {name}")
    lines = fit(n, [traffic.misses() for traffic in traffics], at, f"lines read over {name}")
    waiting = fit(
        n, [traffic.read_misses.opaque for traffic in traffics], at, f"misses over {name}"
    )
    written = fit(n, [traffic.write_backs for traffic in traffics], at, f"write-backs over {name}")
    errors = ", ".join(
        f"{fitted.error:.1%} ({quantity}: "
        f"{fitted.law.replace('n', name) if len(name) == 1 else fitted.law})"
        for quantity, fitted in (
            ("near time", time),
            ("misses", waiting),
            ("lines read", lines),
            ("write-backs", written),
        )
    )
    warning = (
        f"{name}={at:g} was not counted: curves of the counts per {name} are fitted through {name}="
        f"{', '.join(f'{size:g}' for size in sorted(set(n.tolist())))}; their error at a size left "
        f"out is at most {errors}"
    )
    traffic = msgspec.structs.replace(
        traffics[0],
        accesses=lines.value,
        read_misses=AccessClasses(
            opaque=waiting.value, stream=max(lines.value - waiting.value, 0.0)
        ),
        write_backs=written.value,
    )
    phase = msgspec.structs.replace(
        phases[0],
        near_cpu_time_ns=Estimate(
            time.value, time.value * (1.0 - time.error), time.value * (1.0 + time.error)
        ),
        near_wall_time_ns=wall.value,
        objects=[msgspec.structs.replace(phases[0].objects[0], traffic=traffic, intervals=[])],
    )
    error = max(lines.error, waiting.error, written.error) + nearest.sampling.relative_error
    return msgspec.structs.replace(
        nearest,
        size=dict(sizes),
        sampling=msgspec.structs.replace(nearest.sampling, relative_error=error),
        phases=[phase],
        warnings=[warning, *nearest.warnings],
    )


def fit(sizes: Array, counts: Sequence[float], at: float, quantity: str) -> CountFit:
    """Return a count at size `at` from those at `sizes`; raise NearfarError where no curve fits."""
    y = np.asarray(counts, dtype=float)
    if not y.any():
        return CountFit(0.0, 0.0, "none")
    if y.min() <= 0.0:
        raise NearfarError(
            f"{quantity} is 0 at {sizes[int(y.argmin())]:g} and not at other sizes, which no curve "
            "fits: leave that size out"
        )
    fits = []
    for law, form in LAWS.items():
        errors = []
        for left_out in np.unique(sizes):
            others = sizes != left_out
            predicted = _count_at(sizes[others], y[others], form, float(left_out))
            errors.append(np.abs(predicted / y[~others] - 1.0).max())
        fits.append(CountFit(_count_at(sizes, y, form, at), float(max(errors)), law))
    best = min(fits, key=lambda fitted: fitted.error)
    if best.error > MAX_ERROR or best.value <= 0.0:
        raise NearfarError(
            f"{quantity} follows no curve: the error at sizes left out is up to {best.error:.0%}, "
            f"expected at most {MAX_ERROR:.0%}; count more sizes between them"
        )
    return best


def _count_at(sizes: Array, counts: Array, form: Callable[[Array], Array], at: float) -> float:
    """Return the count at `at` by the curve per element with the least relative squares."""
    terms = np.column_stack([np.ones(len(sizes)), form(sizes)])
    # Rows are divided by their counts: errors are relative, so small sizes weigh as much.
    weights = sizes / counts
    curve, *_ = np.linalg.lstsq(terms * weights[:, None], np.ones(len(sizes)), rcond=None)
    return float(at * (curve[0] + curve[1] * float(form(np.asarray(at)))))


def _parameter(counted: Sequence[CounterProfile], sizes: dict[str, float]) -> tuple[str, float]:
    """Return the size that varies and its required value.

    Raises NearfarError for counters that cannot be fitted.
    """
    first = counted[0]
    for counters in counted:
        if set(counters.size) != set(sizes) or not sizes:
            raise NearfarError(
                f"{counters.file} was counted at {_format_sizes(counters.size)}, and "
                f"{_format_sizes(sizes)} is required: import each file with its --size, such as "
                "n=1e5, and require the same names"
            )
        if set(counters.names) != set(first.names):
            raise NearfarError(
                f"{counters.file} has {', '.join(counters.names)} and {first.file} "
                f"{', '.join(first.names)}: count the same events at all sizes"
            )
    varying = [name for name in sizes if len({entry.size[name] for entry in counted}) > 1]
    if len(varying) != 1:
        raise NearfarError(
            f"{' and '.join(varying) or 'no size'} differs between the counter files: expected "
            "exactly one size that differs"
        )
    (name,) = varying
    for other in set(sizes) - {name}:
        if sizes[other] != first.size[other]:
            raise NearfarError(
                f"all files have {other}={first.size[other]:g}, and {other}={sizes[other]:g} is "
                "required: count at that size too"
            )
    values, at = sorted({entry.size[name] for entry in counted}), sizes[name]
    if values[0] <= 0.0:
        raise NearfarError(f"{name} must be above 0 in every counter file, not {values[0]:g}")
    if len(values) < MIN_SIZES:
        raise NearfarError(
            f"{len(values)} sizes are too few to fit how counts grow with {name}: count at "
            f"{MIN_SIZES} sizes or more"
        )
    if not values[0] <= at <= values[-1]:
        raise NearfarError(
            f"{name}={at:g} is outside the sizes counted, {values[0]:g} to {values[-1]:g}, and "
            "curves are not extrapolated: count such a size too"
        )
    return name, at


def _format_sizes(sizes: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in sizes.items()) or "no size"
