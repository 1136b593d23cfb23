"""What a recipe is, and the steps that recipes are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nearfar.base.registry import Registry
from nearfar.base.units import PAGE_BYTES, format_bytes
from nearfar.measure.subject import SubjectFacts
from nearfar.samples.point import SamplePoint


@dataclass(frozen=True)
class ProtocolSetup:
    """A point, and the statistic that gives the protocol's number."""

    point: SamplePoint
    clock_stays: bool = False
    """Whether the cost of timing an access is left in."""
    best: bool = False
    """Whether the best sample counts, not the median."""


class CannotSwitchError(Exception):
    """Raised by a step that this memory or machine has no means for; one clause that says why."""


Change = Callable[[ProtocolSetup, SubjectFacts], ProtocolSetup]


@dataclass(frozen=True)
class ProtocolStep:
    """One factor switched."""

    cause: str
    change: Change
    """Raises CannotSwitchError where it cannot be switched here."""


@dataclass(frozen=True)
class Recipe:
    """One tool's way to measure read latency."""

    whose: str
    """The tool and where its way is written down."""
    steps: tuple[ProtocolStep, ...]
    """From the plain chase, in order; each differs from the one before by one factor."""
    differs: str = ""
    """Difference between the tool and this recipe."""


RECIPES: Registry[Recipe] = Registry("nearfar.measure.protocols", "protocol")


def region(size_bytes: int) -> ProtocolStep:
    """Chase a region of so much, in whole pages."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        if size_bytes > facts.largest_bytes:
            largest = format_bytes(facts.largest_bytes)
            raise CannotSwitchError(f"the region is {largest} here, not {format_bytes(size_bytes)}")
        region_bytes = size_bytes // setup.point.page_bytes * setup.point.page_bytes
        return replace(setup, point=replace(setup.point, region_bytes=region_bytes))

    return ProtocolStep("buffer-miss", change)


def window(size_bytes: int) -> ProtocolStep:
    """Stay in a window of so much that moves on through the region."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        del facts
        if setup.point.region_bytes <= size_bytes:
            raise CannotSwitchError("the region is no larger than the window")
        return replace(setup, point=replace(setup.point, window_bytes=size_bytes))

    return ProtocolStep("window", change)


def stride(size_bytes: int) -> ProtocolStep:
    """Visit only one line in so many bytes."""
    return ProtocolStep(
        "stride",
        lambda setup, _facts: replace(setup, point=replace(setup.point, stride_bytes=size_bytes)),
    )


def in_order() -> ProtocolStep:
    """Follow the lines as they lie in memory, so that prefetchers help."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        if "chase-sequential" not in facts.kernels:
            raise CannotSwitchError("there is no chase in order")
        return replace(setup, point=replace(setup.point, kernel="chase-sequential"))

    return ProtocolStep("prefetch", change)


def small_pages() -> ProtocolStep:
    """Use 4 KiB pages, so that TLB misses are part of the latency."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        if setup.point.page_bytes == PAGE_BYTES:
            raise CannotSwitchError("the plain chase has small pages already")
        if PAGE_BYTES not in facts.page_sizes:
            raise CannotSwitchError("there are no small pages here")
        return replace(setup, point=replace(setup.point, page_bytes=PAGE_BYTES))

    return ProtocolStep("tlb", change)


def each() -> ProtocolStep:
    """Time every access by itself, the clock's cost taken off."""
    return ProtocolStep(
        "each", lambda setup, _facts: replace(setup, point=replace(setup.point, each=True))
    )


def clock_stays() -> ProtocolStep:
    """Leave the clock's cost in."""
    return ProtocolStep("timer", lambda setup, _facts: replace(setup, clock_stays=True))


def best() -> ProtocolStep:
    """Print the best sample instead of the median."""
    return ProtocolStep("best-of", lambda setup, _facts: replace(setup, best=True))
