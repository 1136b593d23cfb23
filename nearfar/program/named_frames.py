"""Named frames: places in interpreted code, or memory with a name, instead of return addresses.

The native libraries write them as text (native/profile/runtime/interpreter.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearfar.documents.workload import Frame

NAMED_FRAME_BIT = 1 << 63
"""Bit of a word that is a named frame and not a return address."""
PYTHON = "python"
"""Module of places in Python code."""
MEMORY = "memory"
"""Module of memory with a name, such as a runtime's heap."""

CPYTHON_ARENAS = "CPython arenas"
"""Name that the native libraries give to memory of Python's own allocator."""
SMALL_OBJECTS = "small objects"
"""Part of a Python line's memory that Python's own allocator cuts from its arenas."""


def named_frame(text: str) -> Frame:
    """Return the frame of ``LINE<tab>FUNCTION<tab>FILE``; memory with a name has no file."""
    line, function, file = text.split("\t", 2)
    if not file:
        return memory_frame(function)
    return Frame(function=function, file=file, line=int(line), module=PYTHON)


def memory_frame(name: str) -> Frame:
    """Return the frame of memory with a name."""
    return Frame(function=name, module=MEMORY)


def is_named(frame: Frame) -> bool:
    """Return whether `frame` is a named frame, not one of machine code."""
    return frame.module in (PYTHON, MEMORY)


def is_memory(frames: Sequence[Frame]) -> bool:
    """Return whether an object is memory with a name, not the allocations of a call stack."""
    return bool(frames) and frames[0].module == MEMORY


def is_in_arenas(split: str) -> bool:
    """Return whether a part of a Python line's memory lies in CPython's arenas."""
    return SMALL_OBJECTS in split.split(", ")


def place_name(frame: Frame) -> str:
    """Return ``x.py:7 (make)``."""
    return f"{Path(frame.file).name}:{frame.line} ({frame.function})"
