"""Names return addresses of a trace, and picks the line a person should look at."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.crash.trace import Trace
from nearfar.documents.workload import Frame
from nearfar.program.symbols import SourceLocation, symbolise

_LIBRARIES = ("libpmem", "libc.so", "libc-", "ld-linux", "libnearfar_", "libpthread")
"""Not the user's code: what they do, they were told to."""
_HEADERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/lib/llvm", "/usr/lib/clang/")
"""Their functions are inlined into the user's, who called them."""


class Sites:
    """Of one trace; symbolised as asked for, in as few runs of the symboliser as possible."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[SourceLocation, list[Frame]] = {}

    def learn(self, stacks: Sequence[tuple[int, ...]]) -> None:
        """Symbolise these at once."""
        places = {self._trace.place(address) for stack in stacks for address in stack}
        new = [place for place in places if place not in self._known]
        if new:
            self._known.update(symbolise(new))

    def frames(self, stack: tuple[int, ...]) -> list[Frame]:
        """Return the frames of a stack, innermost first, the library's own left out."""
        self.learn([stack])
        found = [frame for address in stack for frame in self._known[self._trace.place(address)]]
        own = [frame for frame in found if frame.module != "libnearfar_crash.so"]
        return own or found

    def frames_at(self, places: Sequence[SourceLocation]) -> dict[SourceLocation, list[Frame]]:
        """Return the frames of single places."""
        new = [place for place in places if place not in self._known]
        if new:
            self._known.update(symbolise(new))
        return {place: self._known[place] for place in places}

    def place(self, address: int) -> SourceLocation:
        """Return where a return address is, without naming it."""
        return self._trace.place(address)

    def site(self, stack: tuple[int, ...]) -> str:
        """Return the user's line: ``append log.c:12``."""
        return name_of(self.frames(stack))


def is_library(name: str) -> bool:
    """Return whether a file is one whose lines are not the user's."""
    return name.startswith(_LIBRARIES)


def users(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame that is not a library's."""
    own = [frame for frame in frames if not frame.module.startswith(_LIBRARIES)] or frames[:1]
    return next(
        (frame for frame in own if not frame.file.startswith(_HEADERS)), own[0] if own else None
    )


def name_of(frames: Sequence[Frame]) -> str:
    """Return the user's line of a stack in a few words."""
    frame = users(frames)
    if frame is None:
        return "?"
    place = f" {frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame.line else ""
    return frame.function + place
