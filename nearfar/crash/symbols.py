"""Names of a trace's return addresses, and the line of the program to read first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from nearfar.documents.workload import Frame
from nearfar.program.symbols import SourceLocation, symbolise

_LIBRARIES = ("libpmem", "libc.so", "libc-", "ld-linux", "libnearfar_", "libpthread")
"""Files that are not the user's code."""
_HEADERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm", "/usr/lib/clang/")
"""Headers whose functions are inlined into the user's."""


class AddressLocator(Protocol):
    """A recording whose stacks contain addresses in its own format."""

    def place(self, address: int) -> SourceLocation:
        """Return the file and offset of a return address."""


class TraceSymbols:
    """Cached symbols of one trace, in as few runs of the symboliser as possible."""

    def __init__(self, trace: AddressLocator) -> None:
        self._trace = trace
        self._known: dict[SourceLocation, list[Frame]] = {}

    def learn(self, stacks: Sequence[tuple[int, ...]]) -> None:
        """Symbolise all addresses of these stacks at once."""
        self.frames_at({self._trace.place(address) for stack in stacks for address in stack})

    def frames(self, stack: tuple[int, ...]) -> list[Frame]:
        """Return the frames of a stack, innermost first, without those of the recorder."""
        self.learn([stack])
        frames = [frame for address in stack for frame in self._known[self._trace.place(address)]]
        return [frame for frame in frames if frame.module != "libnearfar_crash.so"] or frames

    def frames_at(self, places: Collection[SourceLocation]) -> dict[SourceLocation, list[Frame]]:
        """Return the frames of single places."""
        new = [place for place in places if place not in self._known]
        if new:
            self._known.update(symbolise(new))
        return {place: self._known[place] for place in places}

    def place(self, address: int) -> SourceLocation:
        """Return the file and offset of a return address."""
        return self._trace.place(address)


def is_library(name: str) -> bool:
    """Return whether a file is not the user's code."""
    return name.startswith(_LIBRARIES)


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the user's code, or the innermost frame."""
    candidates = [frame for frame in frames if not frame.module.startswith(_LIBRARIES)] or frames[
        :1
    ]
    return next(
        (frame for frame in candidates if not frame.file.startswith(_HEADERS)),
        candidates[0] if candidates else None,
    )


def name_of(frames: Sequence[Frame]) -> str:
    """Return the user's line of a stack: ``append log.c:12``."""
    frame = user_frame(frames)
    if frame is None:
        return "?"
    place = f" {frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame.line else ""
    return frame.function + place
