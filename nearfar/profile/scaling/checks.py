"""Checks that the profiles support the target; each refusal names what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes, format_count
from nearfar.documents import WorkloadProfile
from nearfar.profile.identity import MatchedObject
from nearfar.profile.scaling.joined import JoinedProfiles

MIN_SIZES = 3
"""Least number of sizes: any law fits two sizes; the third distinguishes laws."""
MIN_SPAN = 4.0
"""Least ratio of the largest to the smallest size: within a factor of 4, n and n log n differ by
10 %, no more than two runs do."""
MAX_REACH = 8.0
"""Largest ratio of the target to the largest size: held-out sizes are only a few times larger than
those they were predicted from, so errors beyond are not known."""
MAX_HELD_OUT_ERROR = 0.35
"""Largest |ln| error of near time, misses and operations predicted from smaller sizes: a factor of
1.4. Beyond, an error of a factor of two at the target is likely."""
MIN_CHECKED_SHARE = 0.1
"""Share of a profile's time, misses or bytes from which a law must hold."""
MIN_REFUSED_SHARE = 0.02
"""Share of bytes, misses or time from which an object or phase must be in every profile; objects
above this share are also split by their callers (nearfar/profile/objects.py)."""


def parameter_of(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], target: dict[str, float]
) -> str:
    """Return the one size parameter that changes; refuse profiles that do not define it."""
    if not target:
        raise NearfarError("give the size to extrapolate to, such as --to n=1e7")
    for profile, name in zip(profiles, names, strict=True):
        if profile.extrapolation is not None:
            raise NearfarError(f"{name} is itself extrapolated: give profiles of sizes that ran")
        if missing := [key for key in target if key not in profile.size]:
            raise NearfarError(
                f"{name} has no size {missing[0]!r}: profile with --size {missing[0]}=NUMBER"
            )
    varying = [k for k in profiles[0].size if len({p.size.get(k) for p in profiles}) > 1]
    parameters = [key for key in target if key in varying]
    others = sorted(set(varying) - set(parameters))
    if others:
        raise NearfarError(
            f"the profiles differ in {others[0]} too, which --to does not name: give profiles in "
            "which only one size changes"
        )
    if len(parameters) != 1:
        fixed = next(iter(target))
        raise NearfarError(
            f"{format_count(len(profiles), 'profile')} of one {fixed} cannot show how it grows: "
            f"profile at {MIN_SIZES} sizes or more"
            if not parameters
            else f"{' and '.join(parameters)} both change: extrapolate one at a time"
        )
    for key, value in target.items():
        if key not in varying and any(profile.size[key] != value for profile in profiles):
            raise NearfarError(f"all profiles have {key}={profiles[0].size[key]:g}, not {value:g}")
    return parameters[0]


def check_sizes(sizes: Sequence[float], parameter: str) -> None:
    """Refuse too few sizes, or sizes too close together; repeated sizes count once."""
    if any(size <= 0 for size in sizes):
        raise NearfarError(f"{parameter} must be above 0 in every profile")
    count = len(set(sizes))
    if count < MIN_SIZES:
        raise NearfarError(
            f"{count} sizes fit any law of growth: profile {MIN_SIZES} or more, so that one can be "
            "held out"
        )
    least, most = min(sizes), max(sizes)
    if most < MIN_SPAN * least:
        raise NearfarError(
            f"sizes from {parameter}={least:g} to {most:g} are too close to distinguish laws of "
            f"growth: they must span a factor of {MIN_SPAN:g}; profile "
            f"{parameter}={most / MIN_SPAN:g} or less as well"
        )


def check_target(sizes: Sequence[float], target: float, parameter: str, force: bool) -> None:
    """Refuse a target that is not above the smallest size, and one far beyond unless `force`."""
    if not target > min(sizes):
        raise NearfarError(
            f"{parameter}={target:g} is not above the smallest size profiled, {min(sizes):g}"
        )
    if target > MAX_REACH * max(sizes) and not force:
        raise NearfarError(
            f"{parameter}={target:g} is {target / max(sizes):.3g} times the largest size profiled, "
            f"and errors are only known for smaller steps: profile {parameter}="
            f"{target / MAX_REACH:g} too, or give --force"
        )


def check_alike(profiles: Sequence[WorkloadProfile], names: Sequence[str]) -> None:
    """Refuse profiles whose program, cache or machine differs from the first profile's."""
    first = profiles[0]
    for profile, name in zip(profiles[1:], names[1:], strict=True):
        here, there = profile.cache.size_bytes, first.cache.size_bytes
        for difference, value, expected in (
            ("is of another program", _program(profile), _program(first)),
            ("was compiled with other options", profile.program.compiler, first.program.compiler),
            (
                "was measured on another processor",
                profile.producer.cpu_model,
                first.producer.cpu_model,
            ),
            ("simulates another last-level cache", format_bytes(here), format_bytes(there)),
            ("has curves of other capacities", profile.curve_bytes, first.curve_bytes),
        ):
            if value != expected:
                values = "" if isinstance(value, list) else f": {value}, not {expected}"
                raise NearfarError(
                    f"{name} {difference} than {names[0]}{values}; profile all sizes alike"
                )


def check_partly(joined: JoinedProfiles, partly: Sequence[MatchedObject]) -> list[str]:
    """Refuse notable objects that only some sizes have; return the names of the others."""
    small: list[str] = []
    for same in partly:
        for profile, numbers in zip(joined.profiles, same.members, strict=True):
            if (share := _share(profile, set(numbers))) >= MIN_REFUSED_SHARE:
                without = [
                    f"{joined.parameter}={size:g}"
                    for size, members in zip(joined.sizes, same.members, strict=True)
                    if not members
                ]
                raise NearfarError(
                    f"{same.name} has {share:.0%} of bytes or misses at {joined.parameter}="
                    f"{profile.size[joined.parameter]:g} but is missing at {', '.join(without)}:"
                    " leave those sizes out, and profile more in which the program does the same"
                )
        small.append(same.name)
    return small


def check_phases(joined: JoinedProfiles) -> list[str]:
    """Refuse notable phases that only some sizes have; return the names of the others."""
    small: list[str] = []
    for profile in joined.profiles:
        total = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
        for phase in profile.phases:
            if phase.name in joined.phases:
                continue
            if phase.near_cpu_time_ns.value > MIN_REFUSED_SHARE * total:
                raise NearfarError(
                    f"phase {phase.name!r} of {joined.parameter}="
                    f"{profile.size[joined.parameter]:g} is not in every profile: leave that size "
                    "out, or mark the same phases at all sizes"
                )
            small.append(phase.name)
    return list(dict.fromkeys(small))


def check_error(what: str, error: float, bound: float, force: bool) -> str | None:
    """Refuse a law that mispredicts sizes that were run; with `force`, return a warning."""
    if error <= bound:
        return None
    warning = (
        f"{what} at the sizes that were run cannot be predicted from smaller ones (off by a "
        f"factor of {min(2.718281828 ** min(error, 9.0), 999.0):.2f}, bound "
        f"{2.718281828**bound:.2f})"
    )
    if not force:
        raise NearfarError(f"{warning}: profile more sizes, larger ones first, or give --force")
    return warning


def check_reach(
    phase: str, reached: int, needed: str, cache_bytes: float, force: bool
) -> str | None:
    """Refuse where too few sizes have enough data to represent the target in its cache."""
    if reached >= MIN_SIZES:
        return None
    warning = (
        f"only {reached} of the sizes have enough data in phase {phase!r} to represent a cache of "
        f"{format_bytes(cache_bytes)} at the target"
    )
    if not force:
        raise NearfarError(f"{warning}: profile {MIN_SIZES} sizes with {needed}, or give --force")
    return warning


def _program(profile: WorkloadProfile) -> str:
    return Path(profile.program.executable).name


def _share(profile: WorkloadProfile, numbers: set[int]) -> float:
    """Return the larger of an object's shares of bytes and of misses."""
    size = sum(memory.size_bytes for memory in profile.objects)
    object_bytes = sum(memory.size_bytes for memory in profile.objects if memory.id in numbers)
    misses = {True: 0.0, False: 0.0}
    for phase in profile.phases:
        for row in phase.objects:
            misses[row.object in numbers] += row.traffic.misses()
    all_misses = misses[True] + misses[False]
    return max(
        object_bytes / size if size else 0.0, misses[True] / all_misses if all_misses else 0.0
    )
