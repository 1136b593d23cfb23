"""What a run would not see of a program, and whether the plan is this program's, before it runs."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from nearfar.base.errors import CommandError
from nearfar.documents.plan import Plan
from nearfar.profile.allocators import bundled_allocator
from nearfar.profile.names import bare_name
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
    """Return the share of the plan's bytes whose functions the program knows; None: plan has none.

    Functions of an object's chain are looked for as names anywhere in the file (symbols, debug
    information), so a plan of an earlier build of the same source is nearly whole, and another
    program's is not.
    """
    wanted = [one for one in plan.placements if one.kind in RECOGNISABLE and one.frames]
    total = sum(one.size_bytes for one in wanted)
    if not total:
        return None
    content = executable.read_bytes()
    known: dict[str, bool] = {}
    found = 0
    for placement in wanted:
        chain = [frame for frame in placement.frames if frame.function != "main"]
        known_ones = sum(_is_known(frame.function, frame.module, content, known) for frame in chain)
        # Without debug information the names of inlined functions are not there: half will do.
        if known_ones and known_ones >= len(chain) / 2:
            found += placement.size_bytes
    return found / total


def _is_known(function: str, module: str, content: bytes, known: dict[str, bool]) -> bool:
    if ".so" in module:
        return True  # a library's: it is seen when it is loaded
    if function not in known:
        words = re.findall(r"[A-Za-z_][A-Za-z_0-9]*", bare_name(function))
        # The last word: ns::Class::method is mangled, but each word is in it as it is.
        known[function] = not words or words[-1].encode() in content
    return known[function]


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
