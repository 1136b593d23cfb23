"""Warnings about memory that uninstrumented code used."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import samples

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Frame, MissCurve
from nearfar.profile import live_bytes
from nearfar.profile.memory_warnings import reserved_warnings, unseen_warnings

PROGRAM = Path("/opt/program")


def profile_with(module: str, accesses: float) -> WorkloadProfile:
    """Return a profile whose only large object (64 MiB) was allocated by `module`."""
    made: WorkloadProfile = samples.workload()
    item = next(item for item in made.objects if item.kind == "heap")
    big = msgspec.structs.replace(
        item, size_bytes=64 << 20, frames=[Frame(function="get", module=module)]
    )
    small = [msgspec.structs.replace(each, size_bytes=4096) for each in made.objects]
    objects = [big if each.id == big.id else each for each in small]
    rows = [row for phase in made.phases for row in phase.objects if row.object == big.id]
    for row in rows:
        row.traffic.accesses = accesses
    return msgspec.structs.replace(made, objects=objects)


def test_a_library_that_allocates_uninstrumented_is_named() -> None:
    made = profile_with("libdata.so.1", 1e9)
    library = Path("/usr/lib/libdata.so.1")
    (warning,) = unseen_warnings(made, [library], PROGRAM)
    assert str(library) in warning
    assert "64.0 MiB" in warning
    assert "build libdata.so.1" in warning
    assert not unseen_warnings(made, [Path("/usr/lib/libother.so.1")], PROGRAM)


def test_the_warning_for_libtool_names_the_real_library(tmp_path: Path) -> None:
    folder = tmp_path / ".libs"
    folder.mkdir()
    (folder / "libdata.so.1").touch()
    made = profile_with("libdata.so.1", 1e9)
    (warning,) = unseen_warnings(made, [Path("/usr/lib/libdata.so.1")], folder / "program")
    assert f"LD_LIBRARY_PATH={folder}" in warning


def test_large_memory_without_accesses_is_reported() -> None:
    (warning,) = unseen_warnings(profile_with("program", 5.0), [Path("/l/libstdc++.so.6")], PROGRAM)
    assert "hardly any access" in warning
    assert "libstdc++.so.6" in warning
    assert not unseen_warnings(profile_with("program", 1e6), [], PROGRAM)


def test_address_space_without_pages_is_distinguished_from_memory() -> None:
    made = profile_with("program", 1e9)
    big = max(made.objects, key=lambda each: each.size_bytes)
    size = big.size_bytes
    big.allocations, big.allocated_bytes, big.live_bytes_at_peak = 2, size, size
    rows = [row for phase in made.phases for row in phase.objects if row.object == big.id]
    for row in (row for phase in made.phases for row in phase.objects if row.object != big.id):
        row.curve = None

    def touches(lines: float) -> list[str]:
        rest = [0.0] * (len(made.curve_bytes) - 1)
        for row in rows:
            share = lines / len(rows)
            row.curve = MissCurve(read=[*rest, share / 2], write=[*rest, share / 2])
        return reserved_warnings(made)

    lines = big.size_bytes / made.cache.line_bytes
    (warning,) = touches(lines / 16)
    assert "only about 4.00 MiB of" in warning
    assert not touches(lines / 3)
    big.allocations = 10_000
    assert not touches(lines / 16)  # small blocks may reuse the place of others


def test_no_object_is_larger_than_the_programs_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    made = profile_with("program", 1e9)
    big = max(made.objects, key=lambda each: each.size_bytes)

    def size(touched_lines: float, huge_pages: bool) -> int:
        monkeypatch.setattr(live_bytes, "_huge_page_pool", lambda: huge_pages)
        rows = [row for phase in made.phases for row in phase.objects if row.object == big.id]
        for row in rows:
            row.curve = MissCurve(read=[touched_lines / len(rows)], write=[0.0])
        kept = live_bytes.resident_objects(made.objects, made.phases, 64, 8 << 20)
        return kept[big.id].size_bytes

    assert size(16, huge_pages=False) == 8 << 20
    assert size((16 << 20) / 64, huge_pages=False) == pytest.approx(16 << 20, abs=64)
    assert size(16, huge_pages=True) == big.size_bytes
