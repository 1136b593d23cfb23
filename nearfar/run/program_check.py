"""Checks of a program before its run: memory out of sight, and functions of the plan."""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.plan import Plan
from nearfar.documents.workload import Frame
from nearfar.program.allocators import bundled_allocator
from nearfar.program.named_frames import is_named
from nearfar.program.names import bare_name
from nearfar.run import code_offset
from nearfar.run.matcher import RECOGNISABLE

MIN_KNOWN_SHARE = 0.5
"""Least share of the plan's bytes whose functions the program must have."""
MAX_CHECKED_OBJECTS = 200
"""Objects checked, the largest: each name is a search through the file, 20 ms in 50 MB."""
MIN_SPECIFIC_LETTERS = 12
"""Letters from which a name is specific to a program, unlike init and stream."""


def refuse_privileged(executable: Path) -> None:
    """Raise CommandError for set-user-id and capable programs: they ignore preloads."""
    mode = executable.stat().st_mode
    capable = False
    try:
        capable = "security.capability" in os.listxattr(executable)
    except OSError:
        capable = False
    if mode & (stat.S_ISUID | stat.S_ISGID) or capable:
        why = "has file capabilities" if capable else "runs with its owner's or group's rights"
        raise CommandError(
            f"{executable} {why} (set-user-id), and the loader preloads nothing into such a "
            f"program: run a copy without them (cp {executable} . && chmod a-s {executable.name})"
        )


def blind_spots(executable: Path) -> list[str]:
    """Return warnings about memory of the program that the library cannot see."""
    warnings: list[str] = []
    if _is_static(executable):
        warnings.append(
            f"{executable.name} is linked statically: nothing can be preloaded into it, so all its "
            "memory is out of sight and stays where the kernel puts it: link it dynamically"
        )
    elif (name := bundled_allocator(executable)) is not None:
        warnings.append(
            f"{executable.name} contains {name}: its allocations there are out of sight; "
            "build it with the C library's malloc (Redis: make MALLOC=libc)"
        )
    before = os.environ.get("LD_PRELOAD", "")
    for library in re.split(r"[ :]+", before):
        if re.search(r"jemalloc|mimalloc|tcmalloc|hoard|libnearfar_profile", library):
            warnings.append(
                f"two preloads: {library} also replaces malloc; nearfar's library comes first and "
                "serves all blocks"
            )
    return warnings


def _is_static(executable: Path) -> bool:
    """Return whether the file names no loader (PT_INTERP)."""
    with executable.open("rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or head[4] != 2:
            return False
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        entries = file.read(size * count)
    pt_interp = 3
    kinds = [struct.unpack_from("<I", entries, size * i)[0] for i in range(count)]
    return pt_interp not in kinds


def share_in(executable: Path, plan: Plan) -> float | None:
    """Return the share of the plan's bytes whose functions the program has; None: plan has none.

    The functions and source files of each object's chain are searched by name in the program's file
    (symbols, debug information). An earlier build of the same source has nearly all of them,
    another program does not. Objects of libraries are left out, because any program may have them.
    """
    rows = [row for row in plan.placements if row.kind in RECOGNISABLE and row.frames]
    if not rows:
        return None
    names = _Names(executable.read_bytes())
    total = known = 0
    for placement in sorted(rows, key=lambda row: -row.size_bytes)[:MAX_CHECKED_OBJECTS]:
        is_known = _has_functions(placement.frames, names)
        if is_known is not None:
            total += placement.size_bytes
            known += is_known * placement.size_bytes
    return known / total if total else 1.0


class _Names:
    """Names in a program's file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._known: dict[bytes, bool] = {}

    def has_function(self, word: str) -> bool:
        """Return whether a symbol is the word, or contains it mangled; clones end with a dot."""
        # Linkers store a name as the end of a longer one, so any byte may precede it.
        name = re.escape(word.encode())
        return self._has(name + rb"[\0.]") or self._has(b"%d" % len(word) + name)

    def has_call(self, location: code_offset.CodeOffset) -> bool:
        """Return whether a call returns to that location in the file."""
        return code_offset.returns_to(self._content, location.offset)

    def has_file(self, path: str) -> bool:
        """Return whether the program has a source file of this name."""
        return self._has(rb"[\0/]" + re.escape(Path(path).name.encode()) + rb"\0")

    def _has(self, pattern: bytes) -> bool:
        """Return whether the file contains the pattern; each pattern is searched once."""
        if pattern not in self._known:
            self._known[pattern] = re.search(pattern, self._content) is not None
        return self._known[pattern]


def _has_functions(frames: Sequence[Frame], names: _Names) -> bool | None:
    """Return whether the program has an object's functions; None: any program may have them."""
    if any(map(is_named, frames)):
        return None  # in a script, which the interpreter finds
    own = [
        frame
        for frame in frames
        if ".so" not in frame.module and not frame.function.startswith(("std::", "__gnu_cxx::"))
    ]
    files = {frame.file for frame in own if frame.file and "/include/c++/" not in frame.file}
    of_file = any(names.has_file(file) for file in files)
    calls = [call for frame in own if (call := code_offset.parse(frame.function)) is not None]
    if calls:
        # A stripped program has only addresses, and all of them must match.
        return all(names.has_call(call) for call in calls)
    words = [
        parts[-1]  # ns::Class::method is mangled, but each of its words is in it unchanged
        for frame in own
        if frame.function != "main"
        and (parts := re.findall(r"[A-Za-z_][A-Za-z_0-9]*", bare_name(frame.function)))
    ]
    if not words:
        # Every program has a main; only its source file distinguishes it.
        return of_file if files else None
    present = [word for word in words if names.has_function(word)]
    # Without debug information, names of inlined functions are missing: half are enough.
    enough = len(present) >= len(words) / 2
    specific = of_file or not files or any(len(word) >= MIN_SPECIFIC_LETTERS for word in present)
    return enough and specific


def check_plan(executable: Path, plan: Plan, *, force: bool) -> str:
    """Raise CommandError for another program's plan; return a warning if functions are missing."""
    share = share_in(executable, plan)
    if share is None:
        if force:
            return "the plan names no call stacks, so nothing will be recognised"
        raise CommandError(
            "the plan names no call stacks (it was made by an earlier nearfar, or of a program "
            "without heap): make it again with nearfar place, or run it anyway with --force"
        )
    if share < MIN_KNOWN_SHARE and not force:
        raise CommandError(
            f"{executable.name} has the functions that allocate {share:.0%} of the plan's bytes: "
            "the plan is another program's, or the symbols were stripped. Make a plan of this "
            "program, build it with symbols (no -s, no strip), or run it anyway with --force"
        )
    if share < 0.995:
        return f"{executable.name} has the functions that allocate {share:.0%} of the plan's bytes"
    return ""
