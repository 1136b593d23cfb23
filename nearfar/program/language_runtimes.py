"""Language runtimes that manage their own memory: recognised, with names for their heaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nearfar.documents.workload import Frame
from nearfar.program.named_frames import memory_frame
from nearfar.program.names import bare_name

_GO_NOTE = b"\x04\x00\x00\x00Go\x00\x00"
"""Kind and owner of the note that the Go toolchain writes: cmd/internal/buildid."""
_NOTES_BYTES = 1 << 16
"""Notes follow the headers, at the beginning of the file."""
GO_HEAP = "Go heap"
_INTERPRETER = re.compile(r"(?:python|pypy|ruby|perl|php|lua|luajit|node|nodejs|java|julia)[-\d.]*")


def is_go(executable: Path) -> bool:
    """Return whether the Go toolchain linked the program."""
    with executable.open("rb") as file:
        return _GO_NOTE in file.read(_NOTES_BYTES)


def runs_other_code(executable: Path) -> bool:
    """Return whether the program's code is not compiled by a C compiler: Go, interpreters, VMs."""
    return _INTERPRETER.fullmatch(executable.name) is not None or is_go(executable)


def own_mappings(executable: Path) -> str:
    """Return the name of memory that a program maps by its own system calls, not through libc."""
    return GO_HEAP if is_go(executable) else "mapped memory"


_HEAPS = (
    ("mmap", r"x_cgo_mmap$|runtime\.(?:mmap|sys\w+|persistentalloc\w*)(?:\.|$)", GO_HEAP),
    ("mmap", r"(?:\w*::)*(?:CodeCache|CodeHeap)\b", "Java compiled code"),
    (
        "mmap",
        r"(?:\w*::)*(?:metaspace|Metaspace\w*|VirtualSpaceNode)\b",
        "Java classes (metaspace)",
    ),
    (
        "mmap",
        r"(?:G1\w+|HeapRegionManager|CollectedHeap|GenCollectedHeap|\w*Generation"
        r"|ReservedHeapSpace|PS(?:OldGen|YoungGen|VirtualSpace)|ParallelScavengeHeap|SerialHeap"
        r"|EpsilonHeap|Shenandoah\w+|Z(?:Physical|Heap|Page|Virtual)\w*)::",
        "Java heap",
    ),
    ("mmap", r"v8::internal::(?:CodeRange|CodeSpace)\b", "V8 compiled code"),
    ("mmap", r"v8::internal::(?:MemoryAllocator|VirtualMemory|Heap\w*)\b", "V8 heap"),
    (
        "heap",
        r"node::NodeArrayBufferAllocator::|v8::internal::BackingStore::",
        "buffers of JavaScript",
    ),
)
"""Kind of memory, pattern of functions in the call stack (from the sources of Go, OpenJDK, V8 and
Node), name of the heap."""
_PATTERNS = tuple((kind, re.compile(pattern), name) for kind, pattern, name in _HEAPS)


def heap_frame(kind: str, stack: Sequence[Frame]) -> Frame | None:
    """Return the frame of the runtime heap that allocated with `stack`; None: no known heap."""
    names = [bare_name(frame.function) for frame in stack]
    for of_kind, pattern, name in _PATTERNS:
        if kind == of_kind and any(map(pattern.match, names)):
            return memory_frame(name)
    return None
