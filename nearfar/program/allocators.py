"""Programs with an allocator of their own, whose objects cannot be distinguished."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError

_SIGNS = {
    "jemalloc": ("je_malloc", "je_mallocx", "je_arena_malloc", "je_extent_alloc", "je_pages_map"),
    "mimalloc": ("mi_malloc", "mi_heap_malloc", "_mi_os_alloc"),
    "tcmalloc": ("tc_malloc", "TCMallocInternalMalloc", "TCMalloc_SystemAlloc"),
    "an allocator of its own": ("malloc",),
}
"""Functions whose definition in the executable itself shows an allocator."""


def bundled_allocator(executable: Path) -> str | None:
    """Return the name of the allocator that `executable` itself defines; None if it has none."""
    names = _defined(executable)
    return next((name for name, signs in _SIGNS.items() if names & set(signs)), None)


def _defined(executable: Path) -> set[str]:
    """Return the functions that `executable` defines; only dynamic ones if it is stripped."""
    if shutil.which("readelf") is None:
        raise NearfarError(
            "readelf, which reads the program's symbols, is not installed: install the package "
            "binutils",
            ExitCode.MACHINE_LACKS,
        )
    # readelf takes a tenth of the time of nm, which loads a compiler's plug-in.
    answer = subprocess.run(
        ["readelf", "--syms", "--dyn-syms", "--wide", str(executable)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    # Number, value, size, type, binding, visibility, section, name.
    rows = [line.split(maxsplit=7) for line in answer.stdout.splitlines()]
    return {row[7].partition("@")[0] for row in rows if len(row) == 8 and row[6] != "UND"}
