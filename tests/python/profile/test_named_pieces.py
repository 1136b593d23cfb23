"""Pieces of memory that a program divides itself (NEARFAR_ARENA), rebuilt and unmodified."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from forked import nearfar
from unmodified_runs import Profile, misses, profile

from nearfar.native_files import include_folder, native_folder

pytestmark = pytest.mark.timing

SOURCE = Path(__file__).parent / "unmodified" / "pool.c"
LINES = (4 << 20) // 64
"""Lines of all users, of all other items, and twice those of the large piece."""


@pytest.fixture(scope="module", params=["rebuilt", "unmodified"])
def profiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    if request.param == "rebuilt":
        if not (native_folder() / "nearfar_pass-16.so").exists():
            pytest.skip("the compiler pass was not built")
    elif shutil.which("gcc") is None or shutil.which("qemu-x86_64") is None:
        pytest.skip("gcc or qemu-x86_64 is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    program = str(folder / "pool")
    words = ["-O1", "-g", f"-I{include_folder()}", str(SOURCE), "-o", program]
    if request.param == "rebuilt":
        nearfar("cc", *words, check=True)
    else:
        subprocess.run(["gcc", *words], check=True)
    return profile(folder, program)


@pytest.mark.parametrize(
    ("split", "kind", "size_bytes", "lines"),
    [
        ("users", "heap", 4 << 20, LINES),
        ("4-8 KiB", "heap", 4 << 20, LINES),
        # The large piece and the table do not fit the cache: both of their rounds miss.
        ("index", "heap", 2 << 20, LINES),
        ("table", "globals", 1 << 20, LINES // 2),
    ],
)
def test_a_piece_is_an_object_of_its_name_or_size(
    split: str, kind: str, size_bytes: int, lines: int, profiled: Profile
) -> None:
    (item,) = (item for item in profiled["objects"] if item["split"] == split)
    assert item["kind"] == kind
    assert item["name"].endswith(f", {split}")
    assert item["size_bytes"] == pytest.approx(size_bytes, rel=0.02)
    # Pieces of one page stay in the cache for their second round.
    assert misses(profiled)[item["name"]] == pytest.approx(lines, rel=0.02)


def test_the_pool_has_no_bytes_besides_its_pieces(profiled: Profile) -> None:
    heap = sum(item["size_bytes"] for item in profiled["objects"] if item["kind"] == "heap")
    assert heap < 10.2 * (1 << 20)
    at_end = profiled["live"][-1]["bytes_by_object"]
    heaps = {str(item["id"]) for item in profiled["objects"] if item["kind"] == "heap"}
    assert sum(size for key, size in at_end.items() if key in heaps) < 1 << 20
