"""Counts other than accesses: flushes, fences, page walks, private caches.

The table is `EventRecord` of native/profile/runtime/process_file.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from nearfar.base.units import LINE_BYTES
from nearfar.documents.profiled_run import CoreModel
from nearfar.documents.workload import Traffic
from nearfar.profile.run_file import SITE_UNKNOWN, ProcessFile

Key = TypeVar("Key")


_FIELD_OF = {
    "flushes": "flushes",
    "fences": "fences",
    "nt_store_bytes": "nt_bytes",
    "log_bytes": "log_bytes",
    "syncs": "syncs",
    "sync_bytes": "sync_bytes",
    "tlb_misses_4k": "small_page_misses",
    "tlb_misses_2m": "large_page_misses",
    "private_misses": "private_misses",
    "transfers": "transfers",
}
"""Field of `Traffic` to field of the record."""

Events = dict[tuple[int, int], dict[str, float]]
"""Counts by phase number and site, named as in `Traffic`."""


def events_of(file: ProcessFile) -> Events:
    """Return the counts of one process by site.

    Owners of small heap blocks are known for sampled lines only. Events on their other lines are
    counted together (site 0), and divided among sites as the sampled events are. The sum stays
    exact.
    """
    events: Events = {}
    unowned: dict[int, dict[str, float]] = {}
    sampled: dict[int, dict[int, float]] = {}
    for row in file.events:
        key = int(row["key"])
        phase, site = key >> 48, key >> 32 & 0xFFFF
        counts = {name: float(row[field]) for name, field in _FIELD_OF.items()}
        if site == 0:
            _add(unowned.setdefault(phase, {}), counts)
        else:
            _add(events.setdefault((phase, site), {}), counts)
            # Number of lines, flushed or stored non-temporally.
            weight = float(row["sampled_flushes"]) + float(row["sampled_nt_bytes"]) / LINE_BYTES
            if weight:
                _add(sampled.setdefault(phase, {}), {site: weight})
    everywhere: dict[int, float] = {}
    for sites in sampled.values():
        _add(everywhere, sites)
    for phase, counts in unowned.items():
        shares = sampled.get(phase) or everywhere or {SITE_UNKNOWN: 1.0}
        total = sum(shares.values())
        for site, weight in shares.items():
            part = {name: count * weight / total for name, count in counts.items()}
            _add(events.setdefault((phase, site), {}), part)
    return events


def _add(total: dict[Key, float], more: Mapping[Key, float]) -> None:
    for key, amount in more.items():
        total[key] = total.get(key, 0.0) + amount


def add_events(
    files: Sequence[ProcessFile],
    object_of: Mapping[tuple[int, int], int],
    traffic: dict[tuple[int, int], Traffic],
) -> None:
    """Add all processes' events to the traffic of each (phase number, object)."""
    for process, file in enumerate(files):
        for (phase, site), counts in events_of(file).items():
            number = object_of.get((process, site))
            if number is None or not any(counts.values()):
                continue
            row = traffic.setdefault((phase, number), Traffic())
            for name, count in counts.items():
                setattr(row, name, getattr(row, name) + count)
            # Non-temporal stores go to memory without a write-back by a cache.
            row.write_backs += counts["nt_store_bytes"] / LINE_BYTES


def core_of(files: Sequence[ProcessFile]) -> CoreModel | None:
    """Return the simulated private cache and TLB of a core; None if none was simulated."""
    header = files[0].header
    if not int(header["translations"]):
        return None
    return CoreModel(
        private_bytes=int(header["private_bytes"]),
        tlb_entries=int(header["translations"]),
        tlb_origin="detected" if int(header["translations_known"]) else "assumed",
    )


def flushes_counted(files: Sequence[ProcessFile]) -> bool:
    """Return whether all processes counted flushes, fences and non-temporal stores."""
    return all(int(file.header["counts_flushes"]) for file in files)
