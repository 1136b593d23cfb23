"""Lines of the program that used the pool, and lines that could have used it but did not run.

Lines are found in the machine code, and the trace shows which of them ran. Two kinds of lines
count. Calls that make data durable, allocate or snapshot count in any function: the trace has the
return address of each call that ran. Stores through a pointer count in functions that used the
pool: stores in other functions may be to other memory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.crash.symbols import TraceSymbols, is_library, user_frame
from nearfar.crash.trace import CrashTrace, EventKind
from nearfar.documents.crash_report import CrashCode, CrashMissed, CrashPlace
from nearfar.program.symbols import SourceLocation

_MAX_PROGRAM_BYTES = 32 << 20
"""Largest program that is disassembled: some 10 MB/s, and a listing of ten times its size."""
_MAX_OBJDUMP_SECONDS = 20.0
_MAX_MISSED_LINES = 50
"""Missed lines named in a report."""
_COUNTED = (EventKind.STORE, EventKind.FLUSH, EventKind.FENCE)
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
"""Functions whose calls are recorded."""
_TARGET = re.compile(r"(?:^|[\s,:*])(?:-?0x[0-9a-f]+)?\((%\w+)?(?:,[^)]*)?\)(?:\{[^}]*\})*$")
"""A memory operand in last position, which is the destination in AT&T syntax."""
_READING_INSTRUCTIONS = re.compile(
    r"(cmp(?!xchg)|test|lea|call|jmp|push|prefetch|nop|data16|mul|imul|div|idiv|fld|fild|ldmxcsr|clflush"
    r"|clwb|cldemote|xrstor|fxrstor|frstor|bt[wlq]?\b|scas|lods|ret|f(i?)(add|sub|mul|div|com))"
)
_NOT_POOL = ("%rsp", "%rbp", "%rip", "%esp", "%ebp")
"""Base registers of the stack and of globals."""


@dataclass(frozen=True)
class _Instruction:
    next_address: int
    """Address of the next instruction: a call's return address."""
    function: int
    """Address of its function."""
    action: str
    """Function that it calls, or ``a store``."""


@dataclass(frozen=True)
class _Lines:
    all: dict[tuple[str, int], CrashMissed]
    reached: set[tuple[str, int]]


def code_of(stacks: Sequence[tuple[int, ...]], symbols: TraceSymbols) -> CrashCode | None:
    """Return the lines that may use the pool and those that did; None without debug information.

    `stacks` are those of all events.
    """
    recorded: dict[str, set[int]] = {}
    for address in {address for stack in stacks for address in stack}:
        place = symbols.place(address)
        if place.module and not is_library(Path(place.module).name):
            recorded.setdefault(place.module, set()).add(place.offset)
    lines = _Lines({}, set())
    for module, offsets in recorded.items():
        _add_lines(module, offsets, symbols, lines)
    if not lines.all:
        return None
    missed = [row for line, row in sorted(lines.all.items()) if line not in lines.reached]
    count = len(lines.all)
    return CrashCode(lines=count, reached=count - len(missed), missed=missed[:_MAX_MISSED_LINES])


def _add_lines(module: str, offsets: set[int], symbols: TraceSymbols, lines: _Lines) -> None:
    """Add the lines of a module's relevant instructions, and the lines that ran."""
    listing = _listing(module)
    instructions = list(_instructions(listing))
    # All functions are needed, so that no offset is assigned to the preceding function.
    begins = sorted(int(head[1], 16) for row in listing if (head := _HEAD.match(row)))
    touched = {
        begins[at] for offset in offsets if (at := bisect_right(begins, offset - 1) - 1) >= 0
    }
    relevant = [i for i in instructions if i.action != "a store" or i.function in touched]
    frames_of = symbols.frames_at(
        [SourceLocation(module, offset) for offset in {i.next_address for i in relevant} | offsets]
    )
    for instruction in relevant:
        frame = user_frame(frames_of[SourceLocation(module, instruction.next_address)])
        if frame is not None and frame.line:
            row = CrashMissed(
                function=frame.function, file=frame.file, line=frame.line, what=instruction.action
            )
            lines.all.setdefault((frame.file, frame.line), row)
    for offset in offsets:
        # Inlined code counts at its own line and at the line that calls it.
        lines.reached.update(
            (frame.file, frame.line) for frame in frames_of[SourceLocation(module, offset)]
        )


def _listing(module: str) -> list[str]:
    """Return the rows of a program's disassembly, none if objdump fails."""
    tool = shutil.which("objdump")
    path = Path(module)
    if tool is None or not path.is_file() or path.stat().st_size > _MAX_PROGRAM_BYTES:
        return []
    try:
        answer = subprocess.run(
            [tool, "-d", "--no-show-raw-insn", "-j", ".text", module],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MAX_OBJDUMP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return []
    return answer.stdout.splitlines()


def _instructions(listing: Iterable[str]) -> Iterator[_Instruction]:
    """Yield the instructions that may use the pool."""
    function, action = 0, ""
    for row in listing:
        if (head := _HEAD.match(row)) is not None:
            function, action = int(head[1], 16), ""
        elif (parsed := _INSTRUCTION.match(row)) is not None:
            if action:
                yield _Instruction(int(parsed[1], 16), function, action)
            action = _action(parsed[2].strip())


def _action(text: str) -> str:
    """Return what an instruction may do to the pool: a function's name, ``a store`` or ""."""
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
    if target is None or _READING_INSTRUCTIONS.match(words[0]) or (target[1] or "") in _NOT_POOL:
        return ""
    return "a store"


def places_of(trace: CrashTrace, symbols: TraceSymbols) -> list[CrashPlace]:
    """Return the lines that used the pool; libraries count for the line that called them."""
    times_by_stack: Counter[tuple[EventKind, tuple[int, ...]]] = Counter()
    for event in trace.events:
        if event.kind in _COUNTED and event.stack:
            times_by_stack[event.kind, event.stack] += 1
    symbols.learn([stack for _, stack in times_by_stack])
    counts: dict[tuple[str, int, str], Counter[EventKind]] = {}
    for (kind, stack), times in times_by_stack.items():
        frame = user_frame(symbols.frames(stack))
        if frame is not None:
            place = (frame.file, frame.line, frame.function)
            counts.setdefault(place, Counter())[kind] += times
    return [
        CrashPlace(
            function=function,
            file=file,
            line=line,
            stores=count[EventKind.STORE],
            flushes=count[EventKind.FLUSH],
            fences=count[EventKind.FENCE],
        )
        for (file, line, function), count in sorted(counts.items())
    ]
