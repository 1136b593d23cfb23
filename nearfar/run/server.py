"""The server that answers the preloaded library's requests, and takes snapshots between them.

The library asks for the object of each call stack that it has not seen before.
"""

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
from functools import partial
from pathlib import Path

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.program.calls import called_function
from nearfar.program.language_runtimes import heap_frame
from nearfar.program.named_frames import NAMED_FRAME_BIT, named_frame
from nearfar.program.symbols import SourceLocation, Symbolizer
from nearfar.run import layout, process_memory
from nearfar.run.local_memories import LocalMemory
from nearfar.run.matcher import Matcher
from nearfar.run.snapshot import ObjectBytes, ProcessSnapshot, read_state, take_snapshot

POLL_S = 0.05
"""Seconds between readings of how many pages the program has."""
OUTSIDE_POLL_S = 0.2
"""Seconds between readings of a program that has no block from the library."""
SNAPSHOT_GROWTH = 1.1
"""Growth of the sampled pages since the last snapshot at which the next is taken."""


@dataclass
class PlacedProcess:
    """One process with the library."""

    pid: int
    state: int
    """Address of the library's state."""
    modules: list[process_memory.Mapping] = field(default_factory=list)
    """Its mapped files, by address."""
    begins: list[int] = field(default_factory=list)
    """First address of each module, for bisection."""
    sampled: int = 0
    """Sampled pages at the last snapshot."""


@dataclass
class RunObservations:
    """Observations of one run."""

    snapshots: int = 0
    fullest: dict[int, ProcessSnapshot] = field(default_factory=dict)
    """The snapshot of each process with most present pages."""
    objects: dict[int, ObjectBytes] = field(default_factory=dict)
    """Bytes of each object at the moment when most of it was present."""
    pids: set[int] = field(default_factory=set)
    """Processes that sent HELLO, STACK or GROWN."""
    process_count: int = 0
    """Processes that had the library."""
    cpu_ns: int = 0
    """CPU time of the server's thread."""
    stacks: int = 0
    """Call stacks that were asked for."""
    refused: str = ""
    """Why the kernel refused the nodes of pages."""
    matched: set[int] = field(default_factory=set)
    """Indices of placements that some call stack matched, however short their blocks lived."""
    without_addresses: set[int] = field(default_factory=set)
    """Processes that could not reserve addresses for the library's table of pages."""
    states: dict[int, layout.State] = field(default_factory=dict)
    """Last state of each process."""
    unserved_bytes: int = 0
    """Most anonymous bytes of the program while it had no block from the library."""


class Server:
    """The thread that answers requests of one run's processes."""

    def __init__(
        self,
        folder: Path,
        placements: Sequence[Placement],
        of_object: dict[int, int],
        memories: Sequence[LocalMemory],
    ) -> None:
        """Open the socket; `of_object` maps a placement's index to its target's number."""
        self.folder = folder
        self.seen = RunObservations()
        self.processes: dict[int, PlacedProcess] = {}
        self._index_of = {id(placement): n for n, placement in enumerate(placements)}
        self._matcher = Matcher(placements)
        self._target = of_object
        self._memories = memories
        self._symbolizer = Symbolizer()
        self._is_relocatable: dict[str, bool] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(folder / "socket"))
        self._socket.listen(64)
        self._wake_reader, self._wake_writer = os.pipe()
        self._snapshot_requested = threading.Event()
        self.program: Callable[[], int] = lambda: 0
        """Function that returns the program's pid, 0 before it runs."""
        self.ending: Callable[[int], None] = lambda _pid: None
        """Function that is called with the pid of an ending process, which waits for its return."""
        self._outside_polled = 0.0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> RunObservations:
        """End the thread, if it has not ended; return the observations."""
        if not self._thread.is_alive():
            return self.seen
        os.write(self._wake_writer, b".")
        self._thread.join()
        self.seen.process_count = self._process_count()
        self._socket.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        return self.seen

    def _process_count(self) -> int:
        with (self.folder / "table").open("rb") as file:
            file.seek(layout.Table.process_count.offset)
            return int.from_bytes(file.read(layout.Table.process_count.size), "little")

    def placed_processes(self) -> dict[int, PlacedProcess]:
        """Return the processes that run with the library now; any thread may call this."""
        # A copy is one step of the interpreter: the server's thread cannot change it half-way.
        return self.processes.copy()

    def request_snapshot(self, *_: object) -> None:
        """Request a snapshot soon; a signal handler may call this."""
        self._snapshot_requested.set()

    def _serve(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self._socket, selectors.EVENT_READ)
        selector.register(self._wake_reader, selectors.EVENT_READ)
        polled = 0.0
        while True:
            for key, _ in selector.select(POLL_S):
                if key.fileobj == self._wake_reader:
                    selector.close()
                    self.seen.cpu_ns = time.thread_time_ns()
                    return
                with contextlib.suppress(OSError):
                    connection, _ = self._socket.accept()
                    with connection:
                        self._answer(connection)
            if time.monotonic() - polled >= POLL_S:
                self._poll()
                polled = time.monotonic()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(1.0)
        data = connection.recv(ctypes.sizeof(layout.LibraryRequest))
        if len(data) != ctypes.sizeof(layout.LibraryRequest):
            return
        request = layout.LibraryRequest.from_buffer_copy(data)
        answer = layout.LibraryAnswer(object=layout.NO_OBJECT, target=0, depth=layout.FRAMES)
        # A thread may ask before another thread's HELLO arrives.
        if request.message == layout.HELLO or (
            request.message in (layout.STACK, layout.GROWN) and request.pid not in self.processes
        ):
            self.processes[request.pid] = PlacedProcess(request.pid, request.state)
            self.seen.pids.add(request.pid)
        if request.message == layout.BYE:
            self.ending(request.pid)
        match request.message:
            case layout.CANNOT:
                self.seen.without_addresses.add(request.pid)
            case layout.STACK:
                self.seen.stacks += 1
                answer = self.match_stack(request)
            case layout.GROWN | layout.BYE if request.pid in self.processes:
                self._take_snapshot(self.processes[request.pid])
        connection.send(bytes(answer))
        if request.message == layout.BYE:
            self.processes.pop(request.pid, None)

    def match_stack(self, request: layout.LibraryRequest) -> layout.LibraryAnswer:
        """Return the object and target of a call stack."""
        stack = [
            (at, frame)
            for at in range(request.count)
            for frame in self._frames(request.pid, request.frames[at])
        ]
        kind = "mmap" if request.mapped else "heap"
        if (heap := heap_frame(kind, [frame for _, frame in stack])) is not None:
            stack = [(request.count - 1, heap)]
        tag = request.tag.decode(errors="replace")
        matched = self._matcher.match(
            stack, tag, request.size, partial(self._called_function, request.pid, request.frames[0])
        )
        if matched.placement is None:
            return layout.LibraryAnswer(layout.NO_OBJECT, 0, matched.depth)
        number = self._index_of[id(matched.placement)]
        self.seen.matched.add(number)
        target = self._target.get(number, 0)
        alike = heap is None and self._all_have(matched.same_call, target)
        return layout.LibraryAnswer(number + 1, target, matched.depth, alike)

    def _all_have(self, placements: Sequence[Placement], target: int) -> bool:
        """Return whether there are placements, and all go to `target` for any size of block."""
        return bool(placements) and all(
            not placement.split and self._target.get(self._index_of[id(placement)], 0) == target
            for placement in placements
        )

    def _called_function(self, pid: int, address: int) -> str:
        """Return the function that is called right before a return address."""
        location = self._location(pid, address)
        return "" if location is None else called_function(location.module, location.offset)

    def _frames(self, pid: int, address: int) -> list[Frame]:
        if address & NAMED_FRAME_BIT:
            text = process_memory.read_text(pid, address & ~NAMED_FRAME_BIT)
            return [named_frame(text)]
        location = self._location(pid, address)
        if location is None:
            return [Frame(function=f"{address:#x}")]
        return self._symbolizer.frames(location)

    def _location(self, pid: int, address: int) -> SourceLocation | None:
        """Return the place of a return address in its file; None: it is in no file."""
        process = self.processes.get(pid)
        if process is None:
            return None
        for _ in range(2):
            at = bisect_right(process.begins, address) - 1
            if at >= 0 and address < process.modules[at].end:
                module = process.modules[at]
                if not module.is_file:
                    break
                return SourceLocation(module.path, address - self._load_address(process, module))
            # The module may have been loaded since the last reading.
            with contextlib.suppress(OSError):
                process.modules = process_memory.mappings(pid)
            process.begins = [module.begin for module in process.modules]
        return None

    def _load_address(self, process: PlacedProcess, module: process_memory.Mapping) -> int:
        """Return the address to subtract for ELF addresses: 0 if the file has fixed addresses."""
        if module.path not in self._is_relocatable:
            try:
                with Path(module.path).open("rb") as file:
                    # e_type, a half word at 16: 3 is a shared object or position-independent.
                    self._is_relocatable[module.path] = file.read(18)[16:18] == b"\x03\x00"
            except OSError:
                self._is_relocatable[module.path] = True
        if not self._is_relocatable[module.path]:
            return 0
        return min(m.begin for m in process.modules if m.path == module.path)

    def _poll(self) -> None:
        requested = self._snapshot_requested.is_set()
        self._snapshot_requested.clear()
        for process in list(self.processes.values()):
            try:
                head = layout.State.heap_bytes.offset
                state = layout.State.from_buffer_copy(
                    process_memory.read_memory(process.pid, process.state, head).ljust(
                        ctypes.sizeof(layout.State), b"\0"
                    )
                )
            except OSError as error:
                self._handle_error(process, error)
                continue
            if requested or state.sampled_pages > process.sampled * SNAPSHOT_GROWTH:
                self._take_snapshot(process)
        if not any(snapshot.heap_bytes for snapshot in self.seen.fullest.values()):
            self._poll_outside()

    def _poll_outside(self) -> None:
        """Record the memory of a program without blocks, which never requests a snapshot."""
        if time.monotonic() - self._outside_polled > OUTSIDE_POLL_S and (pid := self.program()):
            self._outside_polled = time.monotonic()
            outside = process_memory.resident_anonymous_bytes(pid)
            self.seen.unserved_bytes = max(self.seen.unserved_bytes, outside)

    def _handle_error(self, process: PlacedProcess, error: OSError) -> None:
        if error.errno in process_memory.REFUSALS:
            self.seen.refused = self.seen.refused or (error.strerror or str(error))
        else:
            # The process ended, or became another program, during the call.
            self.processes.pop(process.pid, None)

    def _take_snapshot(self, process: PlacedProcess) -> None:
        try:
            snapshot = take_snapshot(process.pid, process.state, self._memories)
            state = read_state(process.pid, process.state)
        except OSError as error:
            self._handle_error(process, error)
            return
        seen = self.seen
        seen.refused = seen.refused or snapshot.refused
        seen.snapshots += 1
        seen.states[process.pid] = state
        process.sampled = max(1, int(state.sampled_pages))
        before = seen.fullest.get(process.pid)
        if before is None or snapshot.size() >= before.size():
            seen.fullest[process.pid] = snapshot
        for number, sizes in snapshot.objects.items():
            best = seen.objects.get(number)
            if best is None or (sizes.present(), sizes.recognised) >= (
                best.present(),
                best.recognised,
            ):
                sizes.recognised = max(sizes.recognised, best.recognised if best else 0)
                seen.objects[number] = sizes
