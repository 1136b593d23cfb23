"""When profiles do not support a size that was never run: one sentence, with what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.profile.identity import Same
from nearfar.profile.scaling.joined import Joined

FEWEST_SIZES = 3
"""Two fit any law; the third says which."""
LEAST_SPAN = 4.0
"""Largest over smallest size: within a factor of 4, n and n log n are 10 % apart, and so is what
two runs differ by."""
FURTHEST = 8.0
"""Target over largest size: what was held out is at most a few times larger than what it was
predicted from, so little is known of errors beyond."""
LARGEST_ERROR = 0.35
"""Largest |ln| of the last size's near time, misses and operations predicted from smaller ones: a
factor of 1.4. Beyond, twice as much or half would be no surprise one step further."""
MATTERS = 0.1
"""Share of a profile's time, misses or bytes from which a law must hold, or all is refused."""
NOTABLE = 0.02
"""Share of bytes or misses below which an object that comes and goes is no reason to refuse; it is
also what makes one object two in a profile (nearfar/profile/objects.py)."""


def parameter_of(
    profiles: Sequence[WorkloadProfile], names: Sequence[str], target: dict[str, float]
) -> str:
    """Return the one size parameter that is to change; refuse sets of profiles that do not say."""
    if not target:
        raise NearfarError("say the size to extrapolate to, such as --to n=1e7")
    for profile, name in zip(profiles, names, strict=True):
        if profile.extrapolation is not None:
            raise NearfarError(f"{name} is itself extrapolated: give profiles of sizes that ran")
        if missing := [key for key in target if key not in profile.size]:
            raise NearfarError(
                f"{name} does not say its {missing[0]}: profile with --size {missing[0]}=NUMBER"
            )
    varying = [k for k in profiles[0].size if len({p.size.get(k) for p in profiles}) > 1]
    asked = [key for key in target if key in varying]
    others = sorted(set(varying) - set(asked))
    if others:
        raise NearfarError(
            f"the profiles differ in {others[0]} as well as what is asked for: give profiles in "
            "which one size changes"
        )
    if len(asked) != 1:
        fixed = next(iter(target))
        raise NearfarError(
            f"{len(profiles)} profile(s) say nothing of how the program grows with {fixed}: all "
            f"have the same; profile at {FEWEST_SIZES} sizes at least"
            if not asked
            else f"{' and '.join(asked)} both change: extrapolate one at a time"
        )
    for key, value in target.items():
        if key not in varying and any(profile.size[key] != value for profile in profiles):
            raise NearfarError(f"all profiles have {key}={profiles[0].size[key]:g}, not {value:g}")
    return asked[0]


def check_sizes(sizes: Sequence[float], parameter: str) -> None:
    """Refuse too few sizes, or sizes too close together; one may have run several times."""
    if any(size <= 0 for size in sizes):
        raise NearfarError(f"{parameter} must be above 0 in every profile")
    count = len(set(sizes))
    if count < FEWEST_SIZES:
        raise NearfarError(
            f"{count} sizes fit any law of growth: profile {FEWEST_SIZES} at least, so that "
            "one can be held out"
        )
    least, most = min(sizes), max(sizes)
    if most < LEAST_SPAN * least:
        raise NearfarError(
            f"sizes from {parameter}={least:g} to {most:g} are too close to tell laws of growth "
            f"apart: they must span a factor of {LEAST_SPAN:g}; profile "
            f"{parameter}={most / LEAST_SPAN:g} or less as well"
        )


def check_target(sizes: Sequence[float], target: float, parameter: str, force: bool) -> None:
    """Refuse a target below what was run, and one far beyond unless `force`."""
    if not target > min(sizes):
        raise NearfarError(
            f"{parameter}={target:g} is not above the smallest size profiled, {min(sizes):g}"
        )
    if target > FURTHEST * max(sizes) and not force:
        raise NearfarError(
            f"{parameter}={target:g} is {target / max(sizes):.3g} times the largest size profiled, "
            f"and errors were only seen over smaller steps: profile {parameter}="
            f"{target / FURTHEST:g} too, or say --force"
        )


def check_alike(profiles: Sequence[WorkloadProfile], names: Sequence[str]) -> None:
    """Refuse profiles of other programs, caches or machines than the first one's."""
    first = profiles[0]
    for profile, name in zip(profiles[1:], names[1:], strict=True):
        here, there = profile.cache.size_bytes, first.cache.size_bytes
        for what, one, other in (
            ("is of another program", _program(profile), _program(first)),
            ("was compiled otherwise", profile.program.compiler, first.program.compiler),
            (
                "was taken on another processor",
                profile.producer.cpu_model,
                first.producer.cpu_model,
            ),
            ("simulates another last-level cache", format_bytes(here), format_bytes(there)),
            ("has curves of other capacities", profile.curve_bytes, first.curve_bytes),
        ):
            if one != other:
                known = "" if isinstance(one, list) else f": {one}, not {other}"
                raise NearfarError(f"{name} {what} than {names[0]}{known}; profile all sizes alike")


def check_partly(joined: Joined, partly: Sequence[Same]) -> list[str]:
    """Refuse notable objects that only some sizes have; return the names of the others."""
    small: list[str] = []
    for same in partly:
        for profile, numbers in zip(joined.profiles, same.members, strict=True):
            if (share := _share(profile, set(numbers))) >= NOTABLE:
                without = [
                    f"{joined.parameter}={size:g}"
                    for size, members in zip(joined.sizes, same.members, strict=True)
                    if not members
                ]
                raise NearfarError(
                    f"{same.name} holds {share:.0%} of bytes or misses at {joined.parameter}="
                    f"{profile.size[joined.parameter]:g} but is not there at {', '.join(without)}:"
                    " leave those sizes out, and profile more in which the program does the same"
                )
        small.append(same.name)
    return small


def check_phases(joined: Joined) -> list[str]:
    """Refuse notable phases that only some sizes have; return the names of the others."""
    small: list[str] = []
    for profile in joined.profiles:
        total = sum(phase.near_cpu_time_ns.value for phase in profile.phases)
        for phase in profile.phases:
            if phase.name in joined.phases:
                continue
            if phase.near_cpu_time_ns.value > NOTABLE * total:
                raise NearfarError(
                    f"phase {phase.name!r} of {joined.parameter}="
                    f"{profile.size[joined.parameter]:g} is not in every profile: leave that size "
                    "out, or mark the same phases at all sizes"
                )
            small.append(phase.name)
    return list(dict.fromkeys(small))


def check_error(what: str, error: float, bound: float, force: bool) -> str | None:
    """Refuse a law that does not predict sizes that were run; with `force`, return a warning."""
    if error <= bound:
        return None
    said = (
        f"{what} of the sizes that were run cannot be predicted from the smaller ones (off by a "
        f"factor of {min(2.718281828 ** min(error, 9.0), 999.0):.2f}, bound "
        f"{2.718281828**bound:.2f})"
    )
    if not force:
        raise NearfarError(f"{said}: profile more sizes, larger ones first, or say --force")
    return said


def check_reach(
    phase: str, reached: int, needed: str, cache_bytes: float, force: bool
) -> str | None:
    """Refuse where too few sizes have data enough to stand for the target in its cache."""
    if reached >= FEWEST_SIZES:
        return None
    said = (
        f"only {reached} of the sizes have data enough in phase {phase!r} to say what a cache of "
        f"{format_bytes(cache_bytes)} does at the size asked for"
    )
    if not force:
        raise NearfarError(f"{said}: profile {FEWEST_SIZES} sizes of {needed}, or say --force")
    return said


def _program(profile: WorkloadProfile) -> str:
    return Path(profile.program.executable).name


def _share(profile: WorkloadProfile, numbers: set[int]) -> float:
    """Return the larger of an object's shares of bytes and of misses."""
    size = sum(thing.size_bytes for thing in profile.objects)
    own = sum(thing.size_bytes for thing in profile.objects if thing.id in numbers)
    misses = {True: 0.0, False: 0.0}
    for phase in profile.phases:
        for row in phase.objects:
            misses[row.object in numbers] += row.traffic.misses()
    everything = misses[True] + misses[False]
    return max(own / size if size else 0.0, misses[True] / everything if everything else 0.0)
