"""Files that the processes loaded, with and without instrumented code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nearfar.profile.compiler import twin
from nearfar.profile.run_file import ProcessFile

_SYSTEM = re.compile(
    r"(?:libc|libm|libdl|librt|libpthread|libgcc_s|libresolv|ld-linux[^.]*|libnearfar_\w+"
    r"|libjemalloc|libmimalloc\w*|libtcmalloc\w*)\.so"
)
"""The C library, the loader, allocators, nearfar's libraries: their accesses are known or few."""


def loaded_files(files: Sequence[ProcessFile]) -> list[Path]:
    """Return the program and libraries that any process loaded, in order of loading."""
    texts = (file.text(int(row["path"])) for file in files for row in file.modules)
    return [path for path in map(Path, dict.fromkeys(texts)) if path.is_file()]


def instrumented_libraries(files: Sequence[ProcessFile], executable: Path) -> list[Path]:
    """Return the loaded libraries with instrumented code."""
    return [
        path
        for path in loaded_files(files)
        if path.resolve() != executable and twin.is_instrumented(path)
    ]


def foreign_libraries(files: Sequence[ProcessFile], executable: Path) -> list[Path]:
    """Return the loaded libraries whose accesses are not seen, except the C library."""
    return [
        path
        for path in loaded_files(files)
        if path.resolve() != executable
        and not _SYSTEM.match(path.name)
        and not twin.is_instrumented(path)
    ]
