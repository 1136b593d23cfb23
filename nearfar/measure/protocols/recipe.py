"""Recipes of protocols, and the steps they consist of."""

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
    """Whether the cost of timing an access is included."""
    best: bool = False
    """Whether the best sample counts, not the median."""


class CannotSwitchError(Exception):
    """Error of a step that this memory or machine cannot do; one clause with the reason."""


Change = Callable[[ProtocolSetup, SubjectFacts], ProtocolSetup]


@dataclass(frozen=True)
class ProtocolStep:
    """One factor of a protocol."""

    cause: str
    change: Change
    """Function that changes a setup; raises CannotSwitchError if impossible."""


@dataclass(frozen=True)
class Recipe:
    """One tool's protocol for read latency."""

    whose: str
    """Name of the tool, and the source of its protocol."""
    steps: tuple[ProtocolStep, ...]
    """Steps from the plain chase, in order, one factor each."""
    differs: str = ""
    """Difference between the tool and this recipe."""


RECIPES: Registry[Recipe] = Registry("nearfar.measure.protocols", "protocol")


def region(size_bytes: int) -> ProtocolStep:
    """Chase a region of this size, in whole pages."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        if size_bytes > facts.largest_bytes:
            largest = format_bytes(facts.largest_bytes)
            raise CannotSwitchError(f"the region is {largest} here, not {format_bytes(size_bytes)}")
        region_bytes = size_bytes // setup.point.page_bytes * setup.point.page_bytes
        return replace(setup, point=replace(setup.point, region_bytes=region_bytes))

    return ProtocolStep("buffer-miss", change)


def window(size_bytes: int) -> ProtocolStep:
    """Stay in a window of this size that moves through the region."""

    def change(setup: ProtocolSetup, facts: SubjectFacts) -> ProtocolSetup:
        del facts
        if setup.point.region_bytes <= size_bytes:
            raise CannotSwitchError("the region is no larger than the window")
        return replace(setup, point=replace(setup.point, window_bytes=size_bytes))

    return ProtocolStep("window", change)


def stride(size_bytes: int) -> ProtocolStep:
    """Visit one line in this number of bytes."""
    return ProtocolStep(
        "stride",
        lambda setup, _facts: replace(setup, point=replace(setup.point, stride_bytes=size_bytes)),
    )


def in_order() -> ProtocolStep:
    """Follow lines in order of addresses, so that prefetchers help."""

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
    """Time every access by itself, without the clock's cost."""
    return ProtocolStep(
        "each", lambda setup, _facts: replace(setup, point=replace(setup.point, each=True))
    )


def clock_stays() -> ProtocolStep:
    """Include the clock's cost."""
    return ProtocolStep("timer", lambda setup, _facts: replace(setup, clock_stays=True))


def best() -> ProtocolStep:
    """Print the best sample instead of the median."""
    return ProtocolStep("best-of", lambda setup, _facts: replace(setup, best=True))
