"""Emulation: a program slowed down to represent a far memory, and how faithful this is."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

Way = Literal["node", "contention", "delays"]


class Probe(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One probe kernel, run in the same way as the program: ns per line of 64 B."""

    name: Literal["chase", "chains-4", "chains-16", "stream"]
    near_ns: float
    """Value measured in near memory at the same time."""
    target_ns: float
    """Time of one line on this machine according to the far memory's profile."""
    emulated_ns: float
    error: float
    """Error: emulated / target - 1. Like the figures above, it is the median of several runs of the
    probe."""
    error_range: tuple[float, float] | None = None
    """Smallest and largest error of these runs."""


class EmulatedPhase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """CPU time of one phase, ns."""

    name: str
    near_ns: float
    """Time of the plain build with everything in near memory."""
    emulated_ns: float
    slowdown: float
    operations: float | None = None


class Emulation(Document, kw_only=True, forbid_unknown_fields=True):
    """One program's emulated run."""

    KIND: ClassVar[str] = "emulation"
    VERSION: ClassVar[int] = 1

    command: list[str]
    near: str
    far: str
    plan: str = ""
    """The plan whose near objects stay near; empty: everything is far."""
    near_objects: list[str] = []
    way: Way
    exit_status: str
    phases: list[EmulatedPhase]
    total: EmulatedPhase
    delayed_ns: float = 0.0
    """CPU time that the run waited at misses."""
    overhead_ns: float = 0.0
    """CPU time of tracing, which counts as part of the delays."""
    unpaid_ns: float = 0.0
    """Overhead beyond the time that the far memory adds: the run is too slow by this time."""
    slow_motion: float = 1.0
    """Factor by which the run was slower than the far memory would be; times are divided by it."""
    probes: list[Probe]
    faithful: bool
    """Whether no probe's error exceeds `tolerance`."""
    tolerance: float
    caveats: list[str] = []
