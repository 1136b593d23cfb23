"""Objects split by the sizes of their blocks (`--split size`) and by the program's own tags."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compiling import compiled, traced

from nearfar.documents import WorkloadProfile
from nearfar.profile.identity import align_objects

OUTPUT = "12000\n"
BLOCKS = 3000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("slabs.c", tmp_path_factory.mktemp("slabs"), "--nearfar-rate=1", "-pthread")


def profile(program: Path, folder: Path, *options: str, word: str = "") -> WorkloadProfile:
    return traced(program, folder, word, options=options)


@dataclass
class Part:
    """All objects of `item` with one split; large ones are told apart by their callers too."""

    numbers: list[int] = field(default_factory=list)
    allocations: int = 0
    size_bytes: int = 0
    names: list[str] = field(default_factory=list)


def items(profile: WorkloadProfile) -> dict[str, Part]:
    """Return what `item` allocated, by how it is split."""
    results: dict[str, Part] = {}
    for each in profile.objects:
        if each.frames and each.frames[0].function == "item":
            part = results.setdefault(each.split, Part())
            part.numbers.append(each.id)
            part.allocations += each.allocations
            part.size_bytes += each.size_bytes
            part.names.append(each.name)
    return results


def test_tags_need_no_option(program: Path, tmp_path: Path) -> None:
    result = items(profile(program, tmp_path))
    assert set(result) == {"", "users", "orders"}
    assert result["orders"].allocations == BLOCKS
    assert result["users"].allocations == BLOCKS + 1
    assert result[""].allocations == 2 * BLOCKS
    assert all(name.endswith(", orders") for name in result["orders"].names)
    # 240 bytes asked for are 248 given.
    assert result["orders"].size_bytes == pytest.approx(BLOCKS * 248, rel=0.05)


def test_sizes_are_classes_of_powers_of_two(program: Path, tmp_path: Path) -> None:
    with_sizes = profile(program, tmp_path, "--split", "size")
    result = items(with_sizes)
    assert set(result) == {
        "32-63 B",
        "users, 128-255 B",
        "users, 512-1023 B",
        "orders, 128-255 B",
        "512-1023 B",
    }
    assert result["32-63 B"].allocations == BLOCKS
    assert result["users, 512-1023 B"].allocations == 1
    # Each has traffic of its own: every line of every block was written.
    phase = next(phase for phase in with_sizes.phases if phase.name == "fill")
    for split, size in (("32-63 B", 40), ("512-1023 B", 1000)):
        rows = [row for row in phase.objects if row.object in result[split].numbers]
        assert sum(row.traffic.accesses for row in rows) >= BLOCKS * size / 64
    # Without, it is one object again, and the parts are known to belong to it.
    names = [each.name for each in with_sizes.objects]
    assert len(set(names)) == len(names)
    alike = align_objects([with_sizes, with_sizes])
    assert all(len(numbers) == 1 for same in alike.objects for numbers in same.members)


def test_a_tag_goes_on_in_a_child(program: Path, tmp_path: Path) -> None:
    result = items(profile(program, tmp_path, word="fork"))
    assert result["main"].allocations == BLOCKS


def test_untouched_without_nearfar(program: Path) -> None:
    """A tag in a program that nobody profiles is a test of a null pointer."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.stdout == OUTPUT
