"""Watching a program whose memory is limited: faults by phase, locked pages, early evictions.

A thread of nearfar's own process polls the kernel's counts. If the plan has phases, it evicts at
the beginning of each phase the objects that the phase does not use (process_madvise), so that the
program need not wait for their eviction later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from nearfar.documents.plan import Plan
from nearfar.documents.run_record import Migration, PagedRunPhase
from nearfar.memories.paged.group import ControlGroup
from nearfar.program.control import Control
from nearfar.run import process_memory, snapshot
from nearfar.run.server import PlacedProcess
from nearfar.run.targets import Targets

POLL_S = 0.01
LOOK_S = 0.5
"""Seconds between two readings of the locked bytes, and between snapshots."""
PIECE_BYTES = 1 << 20
"""Bytes that one call evicts: few, because the phase may end between two calls."""
FAR = 2
"""Number of the paged memory in the library's table, after those of unknown and locked data."""
_MAJOR_FAULTS = 9
"""Place of majflt among the words after a program's name in /proc/PID/stat."""


class PagedWatch:
    """Counts of one run at a limit, and evictions while it runs."""

    def __init__(
        self,
        control: Control,
        group: ControlGroup,
        *,
        plan: Plan | None = None,
        targets: Targets | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the run's control page and group; `look` is called every `LOOK_S`, for snapshots."""
        self.done: list[Migration] = []
        self.lost = ""
        """Why the kernel refused an eviction; empty: it did not."""
        self._locked_bytes = [0, 0]
        self.phases: list[PagedRunPhase] = []
        self._control, self._group, self._look = control, group, look
        self._faults: dict[int, int] = {}
        self._last_faults = 0
        self._looked_s = 0.0
        self._phase = -1
        self._targets_to_evict = _targets_to_evict(plan, targets)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._evicting: list[threading.Thread] = []
        self._start_ns = time.monotonic_ns()

    @property
    def locked_bytes(self) -> int:
        """Return the most locked bytes: of the group while it ran, of a process at its end."""
        return max(self._locked_bytes)

    def read_at_end(self, pid: int) -> None:
        """Read the locked bytes of an ending process, which waits for this call."""
        locked = process_memory.locked_bytes(pid)
        self._locked_bytes[1] = max(self._locked_bytes[1], locked)

    def start(self, present: Callable[[], Mapping[int, PlacedProcess]]) -> None:
        """Start the thread; `present` returns the processes with the library."""
        self._thread = threading.Thread(target=self._work, args=(present,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; `phases` are those of the whole run then."""
        self._stopping.set()
        for thread in (self._thread, *self._evicting):
            if thread is not None:
                thread.join()
        self.phases = [
            PagedRunPhase(
                phase=row.name.decode(errors="replace"),
                wall_time_ns=float(row.wall_ns),
                cpu_time_ns=float(row.cpu_ns),
                major_faults=self._faults.get(number, 0),
            )
            for number, row in enumerate(self._control.phases())
            if row.wall_ns
        ]

    def _work(self, present: Callable[[], Mapping[int, PlacedProcess]]) -> None:
        while not self._stopping.wait(POLL_S):
            if pid := int(self._control.page.target_pid):
                self._poll(pid, present)

    def _poll(self, pid: int, present: Callable[[], Mapping[int, PlacedProcess]]) -> None:
        phase = self._control.current_phase()
        faults = major_faults(pid)
        if faults > self._last_faults:
            self._faults[phase] = self._faults.get(phase, 0) + faults - self._last_faults
            self._last_faults = faults
        if time.monotonic() - self._looked_s > LOOK_S:
            self._looked_s = time.monotonic()
            locked = self._group.counts().locked_bytes
            self._locked_bytes[0] = max(self._locked_bytes[0], locked)
            self._look()
        if phase != self._phase:
            self._phase = phase
            rows = self._control.phases()
            name = rows[phase].name.decode(errors="replace") if phase < len(rows) else ""
            if targets := self._targets_to_evict.get(name, ()):
                # A separate thread evicts, so that this one can go on counting faults.
                work = (phase, name, targets, present())
                self._evicting.append(threading.Thread(target=self._evict, args=work, daemon=True))
                self._evicting[-1].start()

    def _evict(
        self,
        phase: int,
        phase_name: str,
        targets: Sequence[tuple[int, int, str]],
        processes: Mapping[int, PlacedProcess],
    ) -> None:
        for target, number, name in targets:
            begun, sent = time.monotonic_ns(), 0
            for process in processes.values():
                try:
                    for piece in _pieces(process, target):
                        if self._stopping.is_set() or self._phase != phase:
                            break
                        sent += process_memory.page_out(process.pid, piece)
                except OSError as error:
                    if error.errno in process_memory.REFUSALS:
                        self.lost = error.strerror or str(error)
            self._record(phase_name, number, name, begun, sent)

    def _record(self, phase: str, number: int, name: str, begun: int, sent: int) -> None:
        if not sent:
            return
        self.done.append(
            Migration(
                time_ns=begun - self._start_ns,
                why=f"not used in phase {phase}",
                object=number,
                name=name,
                memory="far",
                moved_bytes=sent,
                failed_bytes=0,
                cost_ns=time.monotonic_ns() - begun,
            )
        )


def _pieces(process: PlacedProcess, target: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the paged ranges of a target as (address, bytes), at most `PIECE_BYTES` at a time."""
    state = snapshot.read_state(process.pid, process.state)
    for extent in state.extents[: state.extent_count]:
        if extent.target != target or extent.memory != FAR:
            continue
        for done in range(0, extent.bytes, PIECE_BYTES):
            yield [(extent.begin + done, min(PIECE_BYTES, extent.bytes - done))]


def _targets_to_evict(
    plan: Plan | None, targets: Targets | None
) -> dict[str, list[tuple[int, int, str]]]:
    """Return, by phase, (target, object, object's name) of what is evicted when it begins."""
    if plan is None or targets is None:
        return {}
    own = {
        plan.placements[index].object: (target, plan.placements[index].name)
        for index, target in targets.moving.items()
    }
    return {
        phase.phase: [
            (own[move.object][0], move.object, own[move.object][1])
            for move in phase.moves
            if move.object in own and move.memory != "near"
        ]
        for phase in plan.phases
    }


def major_faults(pid: int) -> int:
    """Return the faults of process `pid` that waited for a page; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(") ")[2].split()[_MAJOR_FAULTS])
