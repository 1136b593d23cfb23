"""What a run would not see of a program, and whether the plan is this program's, before it runs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.plan import Plan
from nearfar.documents.workload import Frame
from nearfar.program.allocators import bundled_allocator
from nearfar.program.names import bare_name
from nearfar.run import nameless
from nearfar.run.match import RECOGNISABLE

LEAST_SHARE = 0.5
"""A plan of which less is in the program is another's."""


def refuse_privileged(executable: Path) -> None:
    """Refuse what the loader would not preload into: set-user-id and capable programs."""
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
    """Say which memory of the program the library cannot see."""
    said: list[str] = []
    if _is_static(executable):
        said.append(
            f"{executable.name} is linked statically: nothing can be preloaded into it, so all its "
            "memory is out of sight and stays where the kernel puts it; link it dynamically"
        )
    elif (name := bundled_allocator(executable)) is not None:
        said.append(
            f"{executable.name} brings {name}: what it allocates through that is out of sight; "
            "build it with the C library's malloc (Redis: make MALLOC=libc)"
        )
    before = os.environ.get("LD_PRELOAD", "")
    for library in re.split(r"[ :]+", before):
        if re.search(r"jemalloc|mimalloc|tcmalloc|hoard|libnearfar_profile", library):
            said.append(
                f"two preloads: {library} was to replace malloc too; nearfar's comes first, and "
                "that one gets nothing to do"
            )
    return said


def _is_static(executable: Path) -> bool:
    """Tell whether the file names no loader (PT_INTERP)."""
    import struct

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

    Functions of an object's chain and their source file are looked for as names in the file
    (symbols, debug information), so a plan of an earlier build of the same source is nearly whole,
    and another program's is not. Objects that tell nothing (libraries' own) are left out.
    """
    wanted = [one for one in plan.placements if one.kind in RECOGNISABLE and one.frames]
    if not wanted:
        return None
    names = _Names(executable.read_bytes())
    total = found = 0
    for placement in sorted(wanted, key=lambda one: -one.size_bytes)[:_MOST_LOOKED_FOR]:
        there = _is_there(placement.frames, names)
        if there is not None:
            total += placement.size_bytes
            found += there * placement.size_bytes
    return found / total if total else 1.0


_MOST_LOOKED_FOR = 200
"""The largest objects: each name is a search through the file, 20 ms in 50 MB."""
_SPECIFIC_LETTERS = 12
"""Names from this length on are hardly another program's by chance, as init and stream are."""


class _Names:
    """What the file of a program names."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._known: dict[bytes, bool] = {}

    def has_function(self, word: str) -> bool:
        """Tell whether a symbol is the word, or mangled with it; clones have a dot behind."""
        # Linkers store a name as the end of a longer one: what is before it tells nothing.
        name = re.escape(word.encode())
        return self._has(name + rb"[\0.]") or self._has(b"%d" % len(word) + name)

    def has_call(self, place: nameless.Nameless) -> bool:
        """Tell whether a call returns to that place of the file."""
        return nameless.returns_to(self._content, place.offset)

    def has_file(self, path: str) -> bool:
        """Tell whether a source file of this name went into it."""
        return self._has(rb"[\0/]" + re.escape(Path(path).name.encode()) + rb"\0")

    def _has(self, pattern: bytes) -> bool:
        if pattern not in self._known:
            self._known[pattern] = re.search(pattern, self._content) is not None
        return self._known[pattern]


def _is_there(frames: Sequence[Frame], names: _Names) -> bool | None:
    """Tell whether the program has an object's functions; None: they would be anywhere."""
    own = [
        frame
        for frame in frames
        if ".so" not in frame.module and not frame.function.startswith(("std::", "__gnu_cxx::"))
    ]
    files = {frame.file for frame in own if frame.file and "/include/c++/" not in frame.file}
    of_file = any(names.has_file(file) for file in files)
    calls = [place for frame in own if (place := nameless.parse(frame.function)) is not None]
    if calls:
        # A stripped program: addresses are all that tells, and every one of them must.
        return all(names.has_call(place) for place in calls)
    words = [
        found[-1]  # the last: ns::Class::method is mangled, but each word is in it as it is
        for frame in own
        if frame.function != "main"
        and (found := re.findall(r"[A-Za-z_][A-Za-z_0-9]*", bare_name(frame.function)))
    ]
    if not words:
        # Every program has a main: its file tells whose.
        return of_file if files else None
    known = [word for word in words if names.has_function(word)]
    # Without debug information the names of inlined functions are not there: half will do.
    enough = len(known) >= len(words) / 2
    specific = of_file or not files or any(len(word) >= _SPECIFIC_LETTERS for word in known)
    return enough and specific


def check_plan(executable: Path, plan: Plan, *, force: bool) -> str:
    """Refuse another program's plan; return a sentence if part of it is missing."""
    share = share_in(executable, plan)
    if share is None:
        if force:
            return "the plan names no call stacks, so nothing will be recognised"
        raise CommandError(
            "the plan names no call stacks (it was made by an earlier nearfar, or of a program "
            "without heap): make it again with nearfar place, or run it anyway with --force"
        )
    if share < LEAST_SHARE and not force:
        raise CommandError(
            f"{executable.name} has the functions of {share:.0%} of the plan's bytes: the plan is "
            "another program's, or its symbols were stripped. Make a plan of this program, build "
            "it with symbols (no -s, no strip), or run it anyway with --force"
        )
    if share < 0.995:
        return f"{executable.name} has the functions of {share:.0%} of the plan's bytes"
    return ""
