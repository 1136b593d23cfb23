"""A process names return addresses; a new one does where it was killed or not read to the end."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

import pytest

from nearfar.program import symbols
from nearfar.program.symbols import SourceLocation, symbolise

pytestmark = pytest.mark.skipif(symbols._llvm_symbolizer() is None, reason="needs llvm-symbolizer")


def location_in(function: str) -> SourceLocation:
    """Return a return address in a function of libc."""
    address = ctypes.cast(getattr(ctypes.CDLL(None), function), ctypes.c_void_p).value
    assert address is not None
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split()
        begin, end = (int(word, 16) for word in words[0].split("-"))
        if begin <= address < end:
            # Text segments of libc lie in the file where they lie in memory.
            return SourceLocation(words[5], address - begin + int(words[2], 16) + 4)
    raise AssertionError(function)


def function_at(location: SourceLocation) -> str:
    return symbolise([location])[location][0].function


def test_a_killed_process_is_started_again() -> None:
    where = location_in("qsort")
    name = function_at(where)
    assert "+0x" not in name
    os.kill(symbols._kept[0]._process.pid, signal.SIGKILL)
    assert function_at(where) == name


def test_answers_that_nobody_read_are_not_those_of_the_next_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, other = location_in("qsort"), location_in("strtol")
    expected = function_at(other)
    assert expected != function_at(first)

    class Interrupted:
        def readline(self) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(symbols._kept[0]._process, "stdout", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        symbolise([first])
    assert function_at(other) == expected
