"""Other lines of a profile's summary, and the distribution of event counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from made_profiles import made

from nearfar.documents.profiled_run import CoreModel
from nearfar.documents.workload import Traffic
from nearfar.profile.added_traffic import add_traffic
from nearfar.profile.events import add_events, events_of
from nearfar.profile.run_file import _RECORDS, SITE_UNKNOWN, ProcessFile
from nearfar.profile.summary import other_counts


def file_of(*rows: dict[str, int]) -> ProcessFile:
    table = np.zeros(len(rows), _RECORDS["events"])
    for place, row in enumerate(rows):
        phase, site = row.pop("phase", 1), row.pop("site", 0)
        table[place]["key"] = phase << 48 | site << 32
        for name, value in row.items():
            table[place][name] = value
    return cast(ProcessFile, SimpleNamespace(events=table))


def test_events_of_small_blocks_follow_the_sampled_ones() -> None:
    file = file_of(
        {"flushes": 1000, "fences": 500},
        {"site": 7, "sampled_flushes": 3},
        {"site": 8, "sampled_flushes": 1, "flushes": 40},
    )
    result = events_of(file)
    assert result[(1, 7)]["flushes"] == 750
    assert result[(1, 8)]["flushes"] == 40 + 250
    assert result[(1, 7)]["fences"] + result[(1, 8)]["fences"] == 500


def test_events_without_samples_are_not_lost() -> None:
    assert events_of(file_of({"flushes": 3}))[(1, SITE_UNKNOWN)]["flushes"] == 3
    # Another phase's samples are better than none.
    result = events_of(file_of({"flushes": 3}, {"phase": 2, "site": 9, "sampled_nt_bytes": 64}))
    assert result[(1, 9)]["flushes"] == 3


def test_non_temporal_bytes_reach_memory() -> None:
    traffic: dict[tuple[int, int], Traffic] = {(1, 0): Traffic(write_backs=2)}
    add_events([file_of({"site": 5, "nt_bytes": 640})], {(0, 5): 0}, traffic)
    assert traffic[(1, 0)].write_backs == 12
    assert traffic[(1, 0)].nt_store_bytes == 640


def test_sums_keep_every_count() -> None:
    counts: dict[str, Any] = {
        name: float(place + 1)
        for place, name in enumerate(Traffic.__struct_fields__)
        if isinstance(getattr(Traffic(), name), float)
    }
    total = add_traffic(Traffic(), Traffic(**counts), 2.0)
    assert {name: getattr(total, name) for name in counts} == {
        name: 2.0 * value for name, value in counts.items()
    }


def test_a_summary_lists_nonzero_counts_only() -> None:
    profile = made(1000)
    assert other_counts(profile) == []
    profile.core = CoreModel(private_bytes=1 << 20, tlb_entries=1536, tlb_origin="assumed")
    row = profile.phases[0].objects[0].traffic
    row.flushes, row.fences, row.syncs, row.sync_bytes = 10.0, 5.0, 1.0, 4096.0
    row.tlb_misses_4k, row.private_misses, row.transfers = 7.0, 8.0, 9.0
    name = profile.objects[profile.phases[0].objects[0].object].name
    assert other_counts(profile) == [
        f"Persistence: 10 lines flushed, 5 fences that waited for them; most in {name} (100%).",
        "msync was called 1 time, for 4.00 KiB.",
        f"Page walks beyond 1536 translations (assumed): 7 with pages of 4 KiB, 0 with 2 MiB; most "
        f"in {name} (100%).",
        "Private caches of 1.00 MiB missed 8 accesses, which went to the shared cache.",
        f"9 accesses were to lines that another thread wrote last; most in {name} (100%).",
    ]
