"""Migration while the program runs: when a phase begins, or when the use of data changes.

A thread of nearfar calls move_pages(2) on the program's pages, one region per call, at a limited
rate. So the program waits only if it accesses a page that is being copied, and no allocation waits
for a move. An object that may move has its own target, and therefore its own pages; the ranges of
an object in ranges move separately. Nothing moves before a phase or a change of use has lasted for
the hysteresis. If all memories are on one node, nothing is sampled or moved.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearfar.base.errors import CommandError
from nearfar.documents.plan import Plan
from nearfar.documents.run_record import Migration
from nearfar.program.control import Control
from nearfar.run import layout, process_memory, snapshot
from nearfar.run.hotness import Hotness
from nearfar.run.local_memories import LocalMemory, near_nodes
from nearfar.run.movable import Movable, Movables
from nearfar.run.sample_budget import SampleBudget
from nearfar.run.server import PlacedProcess
from nearfar.run.targets import Targets

POLL_S = 0.05
"""Seconds between polls of the phase, and between portions of a move: hysteresis / 4."""
ENDED_ERRORS = (errno.ESRCH, errno.EINVAL, errno.EFAULT)
"""Errors of system calls on a process that ended, freed its memory or executed another program."""
QUERY_PAGES = 1 << 14
"""Pages per query of nodes: it takes some ms, and about one poll moves as many pages."""


@dataclass(frozen=True)
class Pace:
    """Speed and granularity of migration."""

    region_bytes: int = 2 << 20
    """Bytes moved by one call: one large page."""
    bytes_per_s: float = 1e9
    """Highest rate: a tenth of what one channel of DRAM copies."""
    hysteresis_s: float = 0.2
    """Seconds that a phase or a change of use must last before anything moves."""
    even_on_one_node: bool = False
    """Sample and make the calls even if nothing can move, to measure their cost."""


@dataclass
class _Pending:
    """One migration under way."""

    movable: Movable
    memory: int
    nodes: list[int]
    """Nodes of the memory: pages go to the first, but pages on any of them stay."""
    reason: str
    begin_ns: int
    moved: int = 0
    failed: int = 0
    """Bytes that did not move in this round; the next round tries them again."""
    cost_ns: int = 0
    second_round: bool = False
    rounds: dict[int, tuple[PlacedProcess, Iterator[NDArray[np.uint64]]]] = field(
        default_factory=dict
    )
    """Each process and the regions of its pages that this round has not moved yet, by pid."""


class Adapter:
    """The migrations of one run, and the thread that makes them."""

    def __init__(
        self,
        plan: Plan,
        memories: Sequence[LocalMemory],
        targets: Targets,
        *,
        control: Control,
        folder: Path,
        pace: Pace,
        samples: SampleBudget | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.done: list[Migration] = []
        self.lost = ""
        """Why pages could no longer be moved; empty while they can."""
        self._plan, self._memories, self._targets = plan, memories, targets
        self._control, self._pace, self._clock = control, pace, clock
        self._nodes = nodes_of(memories)
        with (folder / "table").open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(layout.Table))
        self._table = layout.Table.from_buffer(self._map)
        self.stopping = threading.Event()
        """Set when no further call may be made."""
        self._thread: threading.Thread | None = None
        self._start_ns = clock()
        self._phase = -1
        self._since_ns = clock()
        self._phase_done = False
        self._pending: dict[Movable, _Pending] = {}
        self._allowance = 0.0
        self._allowance_ns = clock()
        self._numbers = {memory.name: n for n, memory in enumerate(memories)}
        self._target_of_object = {
            plan.placements[number].object: target for number, target in targets.moving.items()
        }
        self._placement_of_target = {
            target: plan.placements[number] for number, target in targets.moving.items()
        }
        self._movables = Movables(targets)
        self._hotness = None
        if not plan.phases:
            self._hotness = Hotness(plan.budget_bytes, self._movables, samples)

    def start(self, present: Callable[[], dict[int, PlacedProcess]]) -> None:
        """Start the thread that polls the processes that `present` returns."""
        self._thread = threading.Thread(target=self._work, args=(present,), daemon=True)
        self._thread.start()

    def _work(self, present: Callable[[], dict[int, PlacedProcess]]) -> None:
        while not self.stopping.wait(POLL_S):
            # This thread only waits before the program starts: it must hold no lock during a fork.
            if processes := present():
                try:
                    self.poll(processes)
                except Exception as error:
                    # The program goes on; its record states why nothing moved.
                    self.lost = repr(error)
                    return

    def poll(self, processes: dict[int, PlacedProcess]) -> None:
        """Choose moves, and move as many pages as the rate allows."""
        now = self._clock()
        self._allowance = min(
            self._allowance + (now - self._allowance_ns) / 1e9 * self._pace.bytes_per_s,
            max(self._pace.bytes_per_s / 4, self._pace.region_bytes),
        )
        self._allowance_ns = now
        if self._hotness is None:
            self._poll_phase(now)
        else:
            hysteresis_ns = round(self._pace.hysteresis_s * 1e9)
            for movable, memory, reason in self._hotness.changes(processes, now, hysteresis_ns):
                self._begin_move(movable, memory, reason, now)
        for pending in list(self._pending.values()):
            self._move(pending, processes)

    def close(self) -> None:
        """End the thread after its current call; record the migrations under way."""
        self.stopping.set()
        if self._thread is not None:
            self._thread.join()
        for pending in list(self._pending.values()):
            self._finish(pending)
        del self._table
        self._map.close()

    def _poll_phase(self, now: int) -> None:
        phase = self._control.current_phase()
        if phase != self._phase:
            self._phase, self._since_ns, self._phase_done = phase, now, False
        if self._phase_done or now - self._since_ns < self._pace.hysteresis_s * 1e9:
            return
        self._phase_done = True
        rows = self._control.phases()
        name = rows[phase].name.decode(errors="replace") if phase < len(rows) else ""
        for placements in self._plan.phases:
            if placements.phase != name:
                continue
            for move in placements.moves:
                target = self._target_of_object.get(move.object)
                memory = self._numbers.get(move.memory)
                if target is not None and memory is not None:
                    for movable in self._movables.of_target(target):
                        self._begin_move(movable, memory, f"phase {name} began", now)

    def _begin_move(self, movable: Movable, memory: int, reason: str, now: int) -> None:
        if not self._redirect(movable, memory) and movable not in self._pending:
            return
        if (before := self._pending.pop(movable, None)) is not None:
            self._finish(before)
        self._pending[movable] = _Pending(movable, memory, self._nodes[memory], reason, now)

    def _redirect(self, movable: Movable, memory: int) -> bool:
        """Send later allocations of `movable` to `memory`; return whether this is a change."""
        target = self._table.targets[movable.target]
        if target.style == layout.IN_RANGES:
            row = self._table.ranges[target.first_range + movable.range]
            before, row.memory = row.memory, memory
        else:
            before, target.memory[0] = target.memory[0], memory
        return bool(before != memory)

    def _move(self, pending: _Pending, processes: dict[int, PlacedProcess]) -> None:
        unfinished = False
        for process in processes.values():
            regions = self._region_iterator(pending, process)
            try:
                while not unfinished:
                    if self._allowance <= 0 or self.stopping.is_set():
                        unfinished = True
                    elif (pages := next(regions, None)) is None:
                        break
                    elif len(pages):
                        self._move_region(pending, process, pages)
            except OSError as error:
                # A process that ended or became another program has no pages left to move.
                if error.errno not in ENDED_ERRORS:
                    self.lost = error.strerror or str(error)
        if unfinished:
            return
        if pending.second_round or self.lost:
            self._pending.pop(pending.movable, None)
            self._finish(pending)
        else:
            # A second round moves pages that were allocated in old memories during the first.
            pending.second_round = True
            pending.failed = 0
            pending.rounds.clear()

    def _region_iterator(
        self, pending: _Pending, process: PlacedProcess
    ) -> Iterator[NDArray[np.uint64]]:
        """Return an iterator over the regions of the process that this round has yet to move."""
        current = pending.rounds.get(process.pid)
        # After an exec, another process has the same pid.
        if current is None or current[0] is not process:
            current = pending.rounds[process.pid] = process, self._regions_to_move(pending, process)
        return current[1]

    def _regions_to_move(
        self, pending: _Pending, process: PlacedProcess
    ) -> Iterator[NDArray[np.uint64]]:
        """Yield the numbers of pages that are on other nodes, one region at a time.

        Each page's node is queried once, shortly before its move. A query that fills no region
        yields an empty one, so that the caller can stop between queries.
        """
        per_call = max(1, self._pace.region_bytes // layout.PAGE)
        waiting = np.zeros(0, np.uint64)
        state = snapshot.read_state(process.pid, process.state)
        for piece in self._movables.pieces(state):
            if piece.movable != pending.movable:
                continue
            first, end = piece.begin // layout.PAGE, piece.end // layout.PAGE
            for begin in range(first, end, QUERY_PAGES):
                pages = np.arange(begin, min(begin + QUERY_PAGES, end), dtype=np.uint64)
                nodes = process_memory.page_nodes(process.pid, pages * np.uint64(layout.PAGE))
                elsewhere = (nodes >= 0) & ~np.isin(nodes, pending.nodes)
                # Pages of several ranges share a call, because each call has a fixed cost.
                waiting = np.concatenate((waiting, pages[elsewhere]))
                full = len(waiting) - len(waiting) % per_call
                for at in range(0, full, per_call):
                    yield waiting[at : at + per_call]
                waiting = waiting[full:]
                yield waiting[:0]
        yield waiting

    def _move_region(
        self, pending: _Pending, process: PlacedProcess, pages: NDArray[np.uint64]
    ) -> None:
        """Move `pages` in one call; add the moved bytes, failed bytes and time to `pending`."""
        begun = time.monotonic_ns()
        node = pending.nodes[0]
        status = process_memory.move_pages(process.pid, pages * np.uint64(layout.PAGE), node)
        pending.cost_ns += time.monotonic_ns() - begun
        moved = int((status == node).sum())
        # Pages freed since the query.
        gone = int(np.isin(status, (-errno.ENOENT, -errno.EFAULT)).sum())
        pending.moved += moved * layout.PAGE
        pending.failed += (len(pages) - moved - gone) * layout.PAGE
        self._allowance -= len(pages) * layout.PAGE

    def _finish(self, pending: _Pending) -> None:
        if self._hotness is not None and pending.failed > pending.moved:
            self._hotness.stays(pending.movable, near=pending.memory != 0)
        placement = self._placement_of_target[pending.movable.target]
        begin_bytes, end_bytes = self._movables.positions(pending.movable) or (None, None)
        self.done.append(
            Migration(
                time_ns=pending.begin_ns - self._start_ns,
                why=pending.reason,
                object=placement.object,
                name=placement.name,
                begin_bytes=begin_bytes,
                end_bytes=end_bytes,
                memory=self._memories[pending.memory].name,
                moved_bytes=pending.moved,
                failed_bytes=pending.failed,
                cost_ns=pending.cost_ns,
            )
        )


def can_move(memories: Sequence[LocalMemory], pace: Pace) -> bool:
    """Return whether there is another node to move to."""
    nodes = nodes_of(memories)
    return pace.even_on_one_node or any(each != nodes[0] for each in nodes.values())


def nodes_of(memories: Sequence[LocalMemory], root: Path = Path("/")) -> dict[int, list[int]]:
    """Return each memory's nodes; raises CommandError for memories whose pages cannot move."""
    nodes: dict[int, list[int]] = {}
    for number, memory in enumerate(memories):
        if memory.spec.kind == "node" and memory.spec.node is not None:
            nodes[number] = [memory.spec.node]
        elif memory.spec.kind == "dram":
            nodes[number] = near_nodes(memories, root)
        else:
            raise CommandError(
                f"--adapt moves pages between memory nodes, and {memory.name} is {memory.spec}, "
                "whose pages cannot move: make it a node (nearfar machine convert --to "
                "system-ram), or leave out --adapt"
            )
    return nodes
