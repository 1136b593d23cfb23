"""The sentences about memory that code used unseen."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))
import samples

from nearfar.documents import WorkloadProfile
from nearfar.documents.workload import Frame, MissCurve
from nearfar.profile.resident import resident_objects
from nearfar.profile.unseen import reserved_warnings, unseen_warnings

PROGRAM = Path("/opt/program")


def profile_with(module: str, accesses: float) -> WorkloadProfile:
    """Return a profile whose one large object, of 64 MiB, came from `module`."""
    made: WorkloadProfile = samples.workload()
    thing = next(thing for thing in made.objects if thing.kind == "heap")
    big = msgspec.structs.replace(
        thing, size_bytes=64 << 20, frames=[Frame(function="get", module=module)]
    )
    small = [msgspec.structs.replace(each, size_bytes=4096) for each in made.objects]
    objects = [big if each.id == big.id else each for each in small]
    rows = [row for phase in made.phases for row in phase.objects if row.object == big.id]
    for row in rows:
        row.traffic.accesses = accesses
    return msgspec.structs.replace(made, objects=objects)


def test_the_library_that_allocates_unseen_is_named() -> None:
    made = profile_with("libdata.so.1", 1e9)
    library = Path("/usr/lib/libdata.so.1")
    (warning,) = unseen_warnings(made, [library], PROGRAM)
    assert str(library) in warning
    assert "64.0 MiB" in warning
    assert "build libdata.so.1" in warning
    assert not unseen_warnings(made, [Path("/usr/lib/libother.so.1")], PROGRAM)


def test_libtools_own_library_is_pointed_at(tmp_path: Path) -> None:
    folder = tmp_path / ".libs"
    folder.mkdir()
    (folder / "libdata.so.1").touch()
    made = profile_with("libdata.so.1", 1e9)
    (warning,) = unseen_warnings(made, [Path("/usr/lib/libdata.so.1")], folder / "program")
    assert f"LD_LIBRARY_PATH={folder}" in warning


def test_large_memory_that_nobody_touches_is_owned_up_to() -> None:
    (warning,) = unseen_warnings(profile_with("program", 5.0), [Path("/l/libstdc++.so.6")], PROGRAM)
    assert "hardly an access" in warning
    assert "libstdc++.so.6" in warning
    assert not unseen_warnings(profile_with("program", 1e6), [], PROGRAM)


def test_address_space_without_pages_is_told_from_memory() -> None:
    made = profile_with("program", 1e9)
    big = max(made.objects, key=lambda thing: thing.size_bytes)
    rows = [row for phase in made.phases for row in phase.objects if row.object == big.id]

    def touches(lines: float) -> list[str]:
        rest = [0.0] * (len(made.curve_bytes) - 1)
        for row in rows:
            share = lines / len(rows)
            row.curve = MissCurve(read=[*rest, share / 2], write=[*rest, share / 2])
        return reserved_warnings(made)

    lines = big.size_bytes / made.cache.line_bytes
    (warning,) = touches(lines / 16)
    assert "4.00 MiB were seen touched" in warning
    assert not touches(lines / 3)
    kept = resident_objects(made.objects, made.phases, made.cache.line_bytes, 8 << 20)
    sizes = {thing.id: thing.size_bytes for thing in kept}
    assert sizes[big.id] == big.size_bytes / 3  # touched: no peak can be less
    touches(lines / 16)
    kept = resident_objects(made.objects, made.phases, made.cache.line_bytes, 8 << 20)
    assert {thing.id: thing.size_bytes for thing in kept}[big.id] in (8 << 20, big.size_bytes)
