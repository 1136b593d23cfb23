"""CounterProfile: counts of a machine's counters for a whole program, interval by interval."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.fields import Amount
from nearfar.documents.header import Document

QUANTITIES = (
    "instructions",
    "cycles",
    "cpu_time_ns",
    "llc_load_misses",
    "llc_store_misses",
    "llc_misses",
    "read_bytes",
    "write_bytes",
    "stall_cycles",
    "memory_stall_cycles",
    "llc_loads",
)


class CounterInterval(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Counts from `begin_s` to `end_s`; None: not counted, or missing in this interval."""

    begin_s: Amount
    """Seconds since counting began."""
    end_s: Amount
    instructions: Amount | None = None
    cycles: Amount | None = None
    cpu_time_ns: Amount | None = None
    llc_loads: Amount | None = None
    """Loads that reached the last-level cache."""
    llc_load_misses: Amount | None = None
    """Lines for which loads waited."""
    llc_store_misses: Amount | None = None
    llc_misses: Amount | None = None
    """Misses of all kinds, for tools that do not separate them."""
    read_bytes: Amount | None = None
    """Bytes read from memory, also by other programs and prefetchers."""
    write_bytes: Amount | None = None
    stall_cycles: Amount | None = None
    """Cycles in which nothing retired."""
    memory_stall_cycles: Amount | None = None
    """Stalled cycles with an outstanding load that missed the last-level cache."""


class CounterProfile(Document, kw_only=True, forbid_unknown_fields=True):
    """Contents of one counter file."""

    KIND: ClassVar[str] = "counter-profile"
    MADE_BY: ClassVar[str] = "nearfar counters"
    VERSION: ClassVar[int] = 1

    file: str
    format: Literal["perf", "pcm", "likwid", "csv"]
    names: dict[str, list[str]]
    """Names of each quantity in the file; several were added up."""
    scaled: dict[str, Amount]
    """Quantities whose counters had to take turns (multiplexing): the smallest share of an interval
    during which the counter was active. The tool scaled the count up, so it is an estimate."""
    intervals: list[CounterInterval]
    size: dict[str, float] = {}
    """The size parameters the program was run at, for example {"n": 1e5}."""
    warnings: list[str] = []
    """Missing or implausible counts."""
