"""What a profile counted beside misses, in sentences; only what there is of it."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.units import format_bytes
from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Traffic

MOST_NAMED = 3
"""Objects named in a sentence, those with most first."""

LEAST_SHARE = 0.05
"""Of a count, below which an object is not named for it."""

COUNTS = (
    "flushes",
    "fences",
    "nt_store_bytes",
    "log_bytes",
    "syncs",
    "sync_bytes",
    "tlb_misses_4k",
    "tlb_misses_2m",
    "private_misses",
    "transfers",
)


def beside_misses(profile: WorkloadProfile) -> list[str]:
    """Return one sentence each on persistence, page walks, private caches and hand-overs."""
    total = dict.fromkeys(COUNTS, 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            for name in COUNTS:
                total[name] += getattr(row.traffic, name)
    return [
        *_persistence(profile, total),
        *_page_walks(profile, total),
        *_private(profile, total),
        *_transfers(profile, total),
    ]


def _persistence(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    found = []
    if total["flushes"] or total["nt_store_bytes"]:
        parts = [f"{total['flushes']:,.0f} lines flushed"] if total["flushes"] else []
        if total["nt_store_bytes"]:
            parts.append(f"{format_bytes(total['nt_store_bytes'])} stored past the caches")
        if total["fences"]:
            parts.append(f"{total['fences']:,.0f} fences that waited for them")
        most = _most(profile, lambda row: row.flushes + row.nt_store_bytes / 64)
        found.append(f"Persistence: {', '.join(parts)}; most in {most}.")
    if total["log_bytes"]:
        found.append(f"Transactions were to log {format_bytes(total['log_bytes'])}.")
    if total["syncs"]:
        calls = f"{total['syncs']:,.0f} time{'s' if total['syncs'] != 1 else ''}"
        found.append(f"msync was called {calls}, for {format_bytes(total['sync_bytes'])}.")
    return found


def _page_walks(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if profile.core is None or not total["tlb_misses_4k"]:
        return []
    most = _most(profile, lambda row: row.tlb_misses_4k)
    return [
        f"Page walks beyond {profile.core.tlb_entries} translations "
        f"({profile.core.tlb_origin}): {total['tlb_misses_4k']:,.0f} with pages of 4 KiB, "
        f"{total['tlb_misses_2m']:,.0f} with 2 MiB; most in {most}."
    ]


def _private(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if profile.core is None or not total["private_misses"]:
        return []
    return [
        f"Threads' own caches of {format_bytes(profile.core.private_bytes)} left "
        f"{total['private_misses']:,.0f} accesses to the shared one."
    ]


def _transfers(profile: WorkloadProfile, total: dict[str, float]) -> list[str]:
    if not total["transfers"]:
        return []
    most = _most(profile, lambda row: row.transfers)
    return [
        f"{total['transfers']:,.0f} accesses were to lines that another thread wrote last; most in "
        f"{most}."
    ]


def _most(profile: WorkloadProfile, count: Callable[[Traffic], float]) -> str:
    by_object = dict.fromkeys(range(len(profile.objects)), 0.0)
    for phase in profile.phases:
        for row in phase.objects:
            by_object[row.object] += count(row.traffic)
    whole = sum(by_object.values())
    order = sorted(by_object, key=lambda number: -by_object[number])[:MOST_NAMED]
    return ", ".join(
        f"{profile.objects[number].name} ({by_object[number] / whole:.0%})"
        for number in order
        if by_object[number] >= LEAST_SHARE * whole
    )
