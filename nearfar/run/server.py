"""Answers the library in the program: which object is this stack; and takes pictures meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import socket
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.program.symbols import SourceLocation
from nearfar.run import kernel, landing, layout
from nearfar.run.match import Matcher
from nearfar.run.memories import Place
from nearfar.run.symbolizer import Symbolizer

POLL_S = 0.05
"""Between looks at how much the program has."""
OUTSIDE_S = 0.2
"""Between looks at a program that has nothing from the library."""
GROWTH = 1.1
"""A picture is taken when there are so many times the pages of the last one."""


@dataclass
class Process:
    """One process that the library is in."""

    pid: int
    state: int
    modules: list[kernel.Mapping] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    sampled: int = 0
    """Sampled pages at the last picture."""


@dataclass
class Seen:
    """What came of it all."""

    pictures: int = 0
    fullest: dict[int, landing.Picture] = field(default_factory=dict)
    """By process, the picture with most pages there."""
    objects: dict[int, landing.Counted] = field(default_factory=dict)
    """Of every object the moment when most of it was there."""
    pids: set[int] = field(default_factory=set)
    refused: str = ""
    """Why the kernel did not say where pages are."""
    told: set[int] = field(default_factory=set)
    """Places in the plan of objects that some stack was; many live too short for a picture."""
    without_addresses: set[int] = field(default_factory=set)
    """Processes that had no room for the library's table of pages."""
    states: dict[int, layout.State] = field(default_factory=dict)
    """Every process' last state."""
    unanswered: int = 0
    unserved_bytes: int = 0
    """Most anonymous memory that the program had while no block was the library's."""


class Server:
    """One run's thread: stacks in, objects out."""

    def __init__(
        self,
        folder: Path,
        placements: Sequence[Placement],
        of_object: dict[int, int],
        places: Sequence[Place],
    ) -> None:
        self.folder = folder
        self.seen = Seen()
        self.processes: dict[int, Process] = {}
        self._number = {id(placement): n for n, placement in enumerate(placements)}
        self._matcher = Matcher(placements)
        self._target = of_object
        self._places = places
        self._symbolizer = Symbolizer()
        self._bases: dict[str, bool] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(folder / "socket"))
        self._socket.listen(64)
        self._wake, self._woken = os.pipe()
        self._picture_asked = threading.Event()
        self.program: Callable[[], int] = lambda: 0
        """Returns the program's process, once it runs; 0 before."""
        self._looked_outside = 0.0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> Seen:
        """End the thread, if it has not ended; return what was seen."""
        if not self._thread.is_alive():
            return self.seen
        os.write(self._woken, b".")
        self._thread.join()
        self._socket.close()
        os.close(self._wake)
        os.close(self._woken)
        self._symbolizer.close()
        return self.seen

    def present(self) -> dict[int, Process]:
        """Return the processes that the library is in now; other threads may ask."""
        # One step of the interpreter: this server's thread cannot come between.
        return self.processes.copy()

    def ask_for_picture(self, *_: object) -> None:
        """Have a picture taken soon; may be called from a signal handler."""
        self._picture_asked.set()

    def _serve(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self._socket, selectors.EVENT_READ)
        selector.register(self._wake, selectors.EVENT_READ)
        polled = 0.0
        while True:
            for key, _ in selector.select(POLL_S):
                if key.fileobj == self._wake:
                    selector.close()
                    return
                with contextlib.suppress(OSError):
                    end, _ = self._socket.accept()
                    with end:
                        self._answer(end)
            if time.monotonic() - polled >= POLL_S:
                self._poll()
                polled = time.monotonic()

    def _answer(self, end: socket.socket) -> None:
        end.settimeout(1.0)
        data = end.recv(ctypes.sizeof(layout.Ask))
        if len(data) != ctypes.sizeof(layout.Ask):
            return
        asked = layout.Ask.from_buffer_copy(data)
        answer = layout.Answer(object=layout.NO_OBJECT, target=0, depth=layout.FRAMES)
        match asked.message:
            case layout.HELLO:
                self.processes[asked.pid] = Process(asked.pid, asked.state)
                self.seen.pids.add(asked.pid)
            case layout.CANNOT:
                self.seen.without_addresses.add(asked.pid)
            case layout.STACK:
                answer = self.object_of(asked)
            case layout.GROWN | layout.BYE if asked.pid in self.processes:
                self._picture(self.processes[asked.pid])
        end.send(bytes(answer))
        if asked.message == layout.BYE:
            self.processes.pop(asked.pid, None)

    def object_of(self, asked: layout.Ask) -> layout.Answer:
        """Return the object and target of a stack."""
        stack = [
            (at, frame)
            for at in range(asked.count)
            for frame in self._frames(asked.pid, asked.frames[at])
        ]
        tag = asked.tag.decode(errors="replace")
        matched = self._matcher.match(stack, tag, asked.size)
        if matched.placement is None:
            return layout.Answer(layout.NO_OBJECT, 0, matched.depth)
        number = self._number[id(matched.placement)]
        self.seen.told.add(number)
        return layout.Answer(number + 1, self._target.get(number, 0), matched.depth)

    def _frames(self, pid: int, address: int) -> list[Frame]:
        process = self.processes.get(pid)
        if process is None:
            return [Frame(function=f"{address:#x}")]
        for _ in range(2):
            at = bisect_right(process.begins, address) - 1
            if at >= 0 and address < process.modules[at].end:
                module = process.modules[at]
                if not module.is_file:
                    break
                offset = address - self._base(process, module)
                return self._symbolizer.frames(SourceLocation(module.path, offset))
            # Loaded since.
            with contextlib.suppress(OSError):
                process.modules = kernel.mappings(pid)
            process.begins = [module.begin for module in process.modules]
        return [Frame(function=f"{address:#x}")]

    def _base(self, process: Process, module: kernel.Mapping) -> int:
        """Return what is to be taken off an address for the file's own (ELF) address."""
        if module.path not in self._bases:
            try:
                with Path(module.path).open("rb") as file:
                    # e_type, a half word at 16: 3 is a shared object or position-independent.
                    self._bases[module.path] = file.read(18)[16:18] == b"\x03\x00"
            except OSError:
                self._bases[module.path] = True
        if not self._bases[module.path]:
            return 0
        return min(one.begin for one in process.modules if one.path == module.path)

    def _poll(self) -> None:
        asked = self._picture_asked.is_set()
        self._picture_asked.clear()
        for process in list(self.processes.values()):
            try:
                head = layout.State.heap_bytes.offset
                state = layout.State.from_buffer_copy(
                    kernel.read_memory(process.pid, process.state, head).ljust(
                        ctypes.sizeof(layout.State), b"\0"
                    )
                )
            except OSError as error:
                self._lost(process, error)
                continue
            if asked or state.sampled_pages > process.sampled * GROWTH:
                self._picture(process)
        if not any(picture.heap_bytes for picture in self.seen.fullest.values()):
            self._look_outside()

    def _look_outside(self) -> None:
        """See what a program has that the library serves nothing: it would ask for no picture."""
        if time.monotonic() - self._looked_outside > OUTSIDE_S and (pid := self.program()):
            self._looked_outside = time.monotonic()
            outside = kernel.resident_anonymous_bytes(pid)
            self.seen.unserved_bytes = max(self.seen.unserved_bytes, outside)

    def _lost(self, process: Process, error: OSError) -> None:
        if error.errno in kernel.REFUSALS:
            self.seen.refused = self.seen.refused or (error.strerror or str(error))
        else:
            # It ended, or became another program, in the middle.
            self.processes.pop(process.pid, None)

    def _picture(self, process: Process) -> None:
        try:
            picture = landing.take_picture(process.pid, process.state, self._places)
            state = landing.read_state(process.pid, process.state)
        except OSError as error:
            self._lost(process, error)
            return
        seen = self.seen
        seen.refused = seen.refused or picture.refused
        seen.pictures += 1
        seen.states[process.pid] = state
        process.sampled = max(1, int(state.sampled_pages))
        before = seen.fullest.get(process.pid)
        if before is None or picture.size() >= before.size():
            seen.fullest[process.pid] = picture
        for number, counted in picture.objects.items():
            best = seen.objects.get(number)
            if best is None or (counted.there(), counted.recognised) >= (
                best.there(),
                best.recognised,
            ):
                most = max(counted.recognised, best.recognised if best else 0)
                seen.objects[number] = counted
                counted.recognised = most
