"""Tools' names of the quantities that models use.

Sources: perf-list(1); the event files of Linux's tools/perf/pmu-events; PCM's column names (Intel,
"PCM column names decoder ring"); LIKWID's groups/*/MEM.txt and L3CACHE.txt.
"""

from __future__ import annotations

import re

from nearfar.base.units import LINE_BYTES

_QUANTITIES = {
    "instructions": ("instructions", 1.0),
    "inst_retired.any": ("instructions", 1.0),
    "instr_retired_any": ("instructions", 1.0),
    "retired_instructions": ("instructions", 1.0),
    "cycles": ("cycles", 1.0),
    "cpu-cycles": ("cycles", 1.0),
    "cpu_clk_unhalted.thread": ("cycles", 1.0),
    "cpu_clk_unhalted_core": ("cycles", 1.0),
    "cpu_clocks_unhalted": ("cycles", 1.0),
    "task-clock": ("cpu_time_ns", 1.0),
    "cpu-clock": ("cpu_time_ns", 1.0),
    "llc-loads": ("llc_loads", 1.0),
    "llc-load-misses": ("llc_load_misses", 1.0),
    "mem_load_retired.l3_miss": ("llc_load_misses", 1.0),
    "mem_load_retired_l3_miss": ("llc_load_misses", 1.0),
    "mem_load_uops_retired_l3_miss": ("llc_load_misses", 1.0),
    "llc-store-misses": ("llc_store_misses", 1.0),
    "cache-misses": ("llc_misses", 1.0),
    "longest_lat_cache.miss": ("llc_misses", 1.0),
    "unc_m_cas_count.rd": ("read_bytes", float(LINE_BYTES)),
    "unc_m_cas_count.wr": ("write_bytes", float(LINE_BYTES)),
    "cas_count_rd": ("read_bytes", float(LINE_BYTES)),
    "cas_count_wr": ("write_bytes", float(LINE_BYTES)),
    "data_reads": ("read_bytes", float(LINE_BYTES)),
    "data_writes": ("write_bytes", float(LINE_BYTES)),
    "cas_count_read": ("read_bytes", float(LINE_BYTES)),
    "cas_count_write": ("write_bytes", float(LINE_BYTES)),
    "stalled-cycles-backend": ("stall_cycles", 1.0),
    "cycle_activity.stalls_total": ("stall_cycles", 1.0),
    "cycle_activity_stalls_total": ("stall_cycles", 1.0),
    "cycle_activity.stalls_l3_miss": ("memory_stall_cycles", 1.0),
    "cycle_activity_stalls_l3_miss": ("memory_stall_cycles", 1.0),
}

_UNIT_FACTOR = {
    "msec": 1e6,  # task-clock, to ns
    "mib": float(1 << 20),
    "bytes": 1.0,
}
"""Factors of units to which perf has scaled a count, instead of cache lines."""


def base(event: str) -> tuple[str, str]:
    """Return an event's name without its box (``uncore_imc_0/data_reads/``), and its modifier."""
    name = event.strip().lower()
    if box := re.fullmatch(r"[\w-]+/([^/]*)/(\w*)", name):
        return box[1].removeprefix("event="), box[2]
    if modified := re.fullmatch(r"(.*):([a-z]+)", name):
        return modified[1], modified[2]
    return name, ""


def quantity(event: str, unit: str = "") -> tuple[str, float] | None:
    """Return the quantity that an event counts and its factor, None if nearfar does not use it.

    Modifiers (``:u``, ``:ppp``) and the box of an uncore event do not matter.
    """
    known = _QUANTITIES.get(base(event)[0])
    if known is None:
        return None
    scaled = _UNIT_FACTOR.get(unit.strip().lower())
    return (known[0], scaled) if scaled is not None else known
