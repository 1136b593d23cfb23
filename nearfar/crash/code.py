"""Which of the program's lines that may reach the pool did: by its machine code and the trace.

Two sorts of lines count. Calls of what makes data durable, allocates or snapshots, anywhere in the
program: each leaves its return address on a stack when it runs. And stores through a pointer, in
functions that did something to the pool; of other functions nobody can tell whose memory they
change.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.crash.sites import Sites, is_library, users
from nearfar.documents.crash_report import CrashCode, CrashMissed
from nearfar.program.symbols import SourceLocation

_MOST_BYTES = 32 << 20
"""Of a program that is disassembled: some 10 MB/s, and a listing of ten times that."""
_SECONDS = 20.0
_MOST_MISSED = 50
"""Named in a report."""
_HEAD = re.compile(r"([0-9a-f]+) <(.+)>:")
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(.+)")
_CALLEE = re.compile(r"<([A-Za-z_]\w*)(?:@[^>]*)?>\s*$")
_DURABLE = re.compile(
    r"pmem_(deep_)?(flush|drain|persist|msync|memcpy|memmove|memset)\w*"
    r"|pmemobj_(x?persist|x?flush|drain|memcpy|memmove|memset)\w*"
    r"|pmemobj_tx_(x?add_range|x?alloc|zn?alloc|zalloc|z?realloc|strdup|x?free)\w*"
    r"|pmemobj_(x?alloc|zalloc|z?realloc|strdup|free|x?reserve|list_insert|list_remove)\w*"
    r"|msync|fsync|fdatasync|__nf_(flush|fence|stream_store)"
)
"""What records something when it is called."""
_TARGET = re.compile(r"(?:^|[\s,:*])(?:-?0x[0-9a-f]+)?\((%\w+)?(?:,[^)]*)?\)(?:\{[^}]*\})*$")
"""A memory operand that comes last, in AT&T order: it is stored to."""
_READERS = re.compile(
    r"(cmp(?!xchg)|test|lea|call|jmp|push|prefetch|nop|data16|mul|imul|div|idiv|fld|fild|ldmxcsr|clflush"
    r"|clwb|cldemote|xrstor|fxrstor|frstor|bt[wlq]?\b|scas|lods|ret|f(i?)(add|sub|mul|div|com))"
)
_NOT_POOL = ("%rsp", "%rbp", "%rip", "%esp", "%ebp")
"""Bases of the stack and of globals."""


@dataclass(frozen=True)
class _Spot:
    behind: int
    """Address of the next instruction, as a stack has it of a call."""
    function: int
    """Address of its function."""
    what: str
    """Function that it calls, or ``a store``."""


@dataclass(frozen=True)
class _Lines:
    all: dict[tuple[str, int], CrashMissed]
    reached: set[tuple[str, int]]


def code_of(stacks: Sequence[tuple[int, ...]], sites: Sites) -> CrashCode | None:
    """Return how many of the lines that may reach the pool did; None: there is no telling.

    `stacks`: of all that was recorded.
    """
    met: dict[str, set[int]] = {}
    for address in {address for stack in stacks for address in stack}:
        place = sites.place(address)
        if place.module and not is_library(Path(place.module).name):
            met.setdefault(place.module, set()).add(place.offset)
    lines = _Lines({}, set())
    for module, offsets in met.items():
        _sort(module, offsets, sites, lines)
    if not lines.all:
        return None
    missed = [one for line, one in sorted(lines.all.items()) if line not in lines.reached]
    count = len(lines.all)
    return CrashCode(lines=count, reached=count - len(missed), missed=missed[:_MOST_MISSED])


def _sort(module: str, offsets: set[int], sites: Sites, lines: _Lines) -> None:
    listing = _listing(module)
    spots = list(_read(listing))
    # Of all functions: one that only calls is not the one before it.
    begins = sorted(int(head[1], 16) for row in listing if (head := _HEAD.match(row)))
    touched = {
        begins[at] for offset in offsets if (at := bisect_right(begins, offset - 1) - 1) >= 0
    }
    wanted = [spot for spot in spots if spot.what != "a store" or spot.function in touched]
    frames_of = sites.frames_at(
        [SourceLocation(module, one) for one in {s.behind for s in wanted} | offsets]
    )
    for spot in wanted:
        frame = users(frames_of[SourceLocation(module, spot.behind)])
        if frame is not None and frame.line:
            one = CrashMissed(
                function=frame.function, file=frame.file, line=frame.line, what=spot.what
            )
            lines.all.setdefault((frame.file, frame.line), one)
    for offset in offsets:
        # Inlined code counts where it stands, and a call there with it.
        lines.reached.update(
            (frame.file, frame.line) for frame in frames_of[SourceLocation(module, offset)]
        )


def _listing(module: str) -> list[str]:
    """Return the rows of a program's disassembly; none if that cannot be had."""
    tool = shutil.which("objdump")
    path = Path(module)
    if tool is None or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return []
    try:
        answer = subprocess.run(
            [tool, "-d", "--no-show-raw-insn", "-j", ".text", module],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return []
    return answer.stdout.splitlines()


def _read(listing: Iterable[str]) -> Iterator[_Spot]:
    function, what = 0, ""
    for row in listing:
        if (head := _HEAD.match(row)) is not None:
            function, what = int(head[1], 16), ""
        elif (found := _INSTRUCTION.match(row)) is not None:
            if what:
                yield _Spot(int(found[1], 16), function, what)
            what = _what(found[2].strip())


def _what(text: str) -> str:
    """Return what an instruction may do to the pool: a function's name, ``a store``, or nothing."""
    words = text.split(None, 1)
    while len(words) == 2 and words[0] in ("lock", "rep", "repz", "repnz", "notrack", "bnd"):
        words = words[1].split(None, 1)
    if len(words) < 2:
        return ""
    if words[0].startswith("call"):
        callee = _CALLEE.search(words[1])
        return callee[1] if callee is not None and _DURABLE.fullmatch(callee[1]) else ""
    operands = words[1].partition("#")[0].partition("<")[0].strip()
    target = _TARGET.search(operands)
    if target is None or _READERS.match(words[0]) or (target[1] or "") in _NOT_POOL:
        return ""
    return "a store"
