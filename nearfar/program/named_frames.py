"""Places of interpreted code, and memory with a name, in place of return addresses.

The libraries write them as text (native/profile/runtime/interpreter.hpp).
"""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.workload import Frame

NAMED_FRAME_BIT = 1 << 63
"""Bit of a word that is a named frame and not a return address."""
MODULE = "python"
"""Module of such frames."""


def named_frame(text: str) -> Frame:
    """Return the frame of ``LINE<tab>FUNCTION<tab>FILE``; memory with a name has no file."""
    line, function, file = text.split("\t", 2)
    return Frame(function=function, file=file, line=int(line), module=MODULE)


def is_named(frame: Frame) -> bool:
    """Return whether a frame is not of machine code."""
    return frame.module == MODULE


def place_name(frame: Frame) -> str:
    """Return ``x.py:7 (make)``."""
    return f"{Path(frame.file).name}:{frame.line} ({frame.function})"
