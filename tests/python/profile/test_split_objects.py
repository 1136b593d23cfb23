"""Objects split by the sizes of their blocks (`--split size`) and by the program's tags."""

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

pytestmark = pytest.mark.timing

OUTPUT = "12000\n"
BLOCKS = 3000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("slabs.c", tmp_path_factory.mktemp("slabs"), "--nearfar-rate=1", "-pthread")


def profile(program: Path, folder: Path, *options: str, word: str = "") -> WorkloadProfile:
    return traced(program, folder, word, options=options)


@dataclass
class Part:
    """Holds all objects of `item` with one split; callers distinguish large ones further."""

    numbers: list[int] = field(default_factory=list)
    allocations: int = 0
    size_bytes: int = 0
    names: list[str] = field(default_factory=list)


def items(profile: WorkloadProfile) -> dict[str, Part]:
    """Return the objects that `item` allocated, by split."""
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
    # A request for 240 bytes gets 248.
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
    # Each part has its own traffic: every line of every block was written.
    phase = next(phase for phase in with_sizes.phases if phase.name == "fill")
    for split, size in (("32-63 B", 40), ("512-1023 B", 1000)):
        rows = [row for row in phase.objects if row.object in result[split].numbers]
        assert sum(row.traffic.accesses for row in rows) >= BLOCKS * size / 64
    # Without the option there is one object, and the parts are known to belong to it.
    names = [each.name for each in with_sizes.objects]
    assert len(set(names)) == len(names)
    alike = align_objects([with_sizes, with_sizes])
    assert all(len(numbers) == 1 for same in alike.objects for numbers in same.members)


def test_a_tag_is_kept_in_a_child(program: Path, tmp_path: Path) -> None:
    result = items(profile(program, tmp_path, word="fork"))
    assert result["main"].allocations == BLOCKS


def test_a_tag_has_no_effect_without_nearfar(program: Path) -> None:
    """In a program without a profile, a tag tests a null pointer."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.stdout == OUTPUT
