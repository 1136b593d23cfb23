"""Options of the command line, converted to a request."""

from __future__ import annotations

import math
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.base.units import format_bytes, parse_positive_seconds, parse_seconds, parse_size_bytes
from nearfar.documents import DeviceProfile, load
from nearfar.machine import detect
from nearfar.options.profile import ProfileOptions
from nearfar.profile.deadline import RunDeadline
from nearfar.profile.session import ProfileRequest
from nearfar.program.launch import Job

MIN_TABLE_BYTES = 1 << 20
"""Smallest size of a process's tables: below, one of them cannot hold a record."""


def make_request(options: ProfileOptions, *, stdout_to_stderr: bool) -> ProfileRequest:
    """Check the options and return the request, whose source of accesses is the default."""
    if options.repetitions < 1:
        raise CommandError("--repetitions must be at least 1: near time comes from plain runs")
    duration = options.duration
    if options.driver is not None and duration is not None:
        raise CommandError("give --driver or --duration, not both: a driver ends the run itself")
    memory_bytes = parse_size_bytes(options.memory)
    if memory_bytes < MIN_TABLE_BYTES:
        raise CommandError("--memory must be at least 1MiB")
    cache_bytes, cache_ways, origin = _cache(options)
    after_s, ends_s = parse_seconds(options.after, "--after"), options.ends_s
    return ProfileRequest(
        job=Job(
            command=list(options.command),
            driver=options.driver,
            duration_s=None if duration is None else parse_positive_seconds(duration, "--duration"),
            after_s=after_s,
            stdout_to_stderr=stdout_to_stderr,
        ),
        repetitions=options.repetitions,
        cache_bytes=cache_bytes,
        cache_ways=cache_ways,
        cache_origin=origin,
        memory_bytes=memory_bytes,
        plain=options.plain,
        size=dict(parse_named_size(text, "--size") for text in options.size),
        split_sizes=options.split == "size",
        slices=options.phases == "auto",
        deadline=None if ends_s is None else RunDeadline(ends_s, after_s=after_s),
    )


def _cache(options: ProfileOptions) -> tuple[int, int, str]:
    """Return bytes, ways and origin of the cache to simulate."""
    llc, ways = options.llc, options.ways
    cache_bytes, cache_ways = (0, 0) if llc and ways else detect.llc()
    origin = "detected"
    if options.near is not None:
        if llc is not None:
            raise CommandError("give --llc or --near, not both: each defines the cache's size")
        cache_bytes, origin = _measured_cache(options.near, cache_bytes)
    if llc is not None:
        cache_bytes, origin = parse_size_bytes(llc), f"--llc {llc}"
    if ways is not None:
        cache_ways = ways
        origin = f"--ways {ways}" if llc is None else f"{origin} --ways {ways}"
    if not 1 <= cache_ways <= 1024 or cache_bytes < 64 * cache_ways:
        raise CommandError(f"a cache of {cache_bytes} bytes cannot have {cache_ways} ways")
    return cache_bytes, cache_ways, origin


def _measured_cache(near: Path, claimed_bytes: int) -> tuple[int, str]:
    """Return the measured cache size of one core, or the claimed one, with its origin."""
    context = load(near, DeviceProfile).measured
    if context is None or context.effective_llc_bytes is None:
        return claimed_bytes, f"detected; {near.name} has no measured share of a core"
    size_bytes = context.effective_llc_bytes
    claimed = format_bytes(context.llc_bytes)
    return size_bytes, f"measured in {near.name}: the share of {claimed} that a core gets"


def parse_named_size(text: str, option: str) -> tuple[str, float]:
    """Parse a size of the program's input such as ``n=1e5``, the value of `option`."""
    name, equals, value = text.partition("=")
    try:
        number = float(value) if name and equals else math.nan
    except ValueError:
        number = math.nan
    # A law of growth needs a size's logarithm, and a document holds no infinity.
    if not (math.isfinite(number) and number > 0):
        raise CommandError(
            f"cannot read {option} {text!r}: write a name and a number above 0, such as n=1e5"
        )
    return name, number
