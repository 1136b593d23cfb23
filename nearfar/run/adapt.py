"""Moves objects while the program runs: when a phase begins, or when their use changes.

The pages are moved from outside, by move_pages(2) on the program, a region at a time and so many
bytes a second: the program waits only for a page it touches while that is copied. All of it is done
on a thread of its own: an allocation that asks where it belongs waits for no move. An object that
may move has a target, and so pages, of its own. Short phases move nothing: a phase must have lasted
for the hysteresis first; and what was moved by use stays for as long. Where all memories are on one
node there is nothing to do, and nothing is done.
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
from typing import TYPE_CHECKING

from nearfar.base.errors import CommandError
from nearfar.documents.plan import Plan
from nearfar.documents.run_record import Migration
from nearfar.program.control import Control
from nearfar.run import kernel, landing, layout
from nearfar.run.hotness import Hotness
from nearfar.run.looking import Looking
from nearfar.run.memories import Place, nodes_here
from nearfar.run.targets import Targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nearfar.run.server import Process


POLL_S = 0.05
"""Between looks at the phase, and between the shares of a move: a quarter of the hysteresis."""
GONE = (errno.ESRCH, errno.EINVAL, errno.EFAULT)
"""What the kernel answers of a process that ended, gave up its memory or executed another program;
ESRCH alone is not all of it."""
ASKED_PAGES = 1 << 14
"""Whose nodes are asked after at once: some milliseconds, and as fresh as what one poll moves."""


@dataclass(frozen=True)
class Pace:
    """How migration is done."""

    region_bytes: int = 2 << 20
    """Moved by one call: a large page's worth."""
    bytes_per_s: float = 1e9
    """At most: a tenth of what one channel of DRAM copies."""
    hysteresis_s: float = 0.2
    """How long a phase, or a change of use, must last before anything moves."""
    even_on_one_node: bool = False
    """Look and call where nothing can move, too: to measure what that costs."""


@dataclass
class _Pending:
    """One object on its way."""

    target: int
    memory: int
    node: int
    why: str
    begin_ns: int
    moved: int = 0
    failed: int = 0
    """In this round: what is still there is tried again in the next."""
    cost_ns: int = 0
    tried: bool = False
    rounds: dict[int, tuple[Process, Iterator[NDArray[np.uint64]]]] = field(default_factory=dict)
    """By process, what is left of this round over its pages."""


class Adapter:
    """One run's migrations, and the thread that makes them."""

    def __init__(
        self,
        plan: Plan,
        places: Sequence[Place],
        targets: Targets,
        *,
        control: Control,
        folder: Path,
        pace: Pace,
        looking: Looking | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.done: list[Migration] = []
        self.lost = ""
        """Why pages could not be moved; empty while they can."""
        self._plan, self._places, self._targets = plan, places, targets
        self._control, self._pace, self._clock = control, pace, clock
        self._nodes = nodes_of(places)
        with (folder / "table").open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(layout.Table))
        self._table = layout.Table.from_buffer(self._map)
        self.stopping = threading.Event()
        """Set once no further call is to be made."""
        self._thread: threading.Thread | None = None
        self._start_ns = clock()
        self._phase = -1
        self._since_ns = clock()
        self._acted = False
        self._pending: dict[int, _Pending] = {}
        self._allowance = 0.0
        self._paid_ns = clock()
        self._numbers = {place.name: n for n, place in enumerate(places)}
        self._target_of_object = {
            plan.placements[place].object: target for place, target in targets.moving.items()
        }
        self._place_of_target = {target: place for place, target in targets.moving.items()}
        self._hotness = None if plan.phases else Hotness(plan, targets, looking)

    def start(self, present: Callable[[], dict[int, Process]]) -> None:
        """Poll from now on, on a thread of its own, for the processes that `present` returns."""
        self._thread = threading.Thread(target=self._work, args=(present,), daemon=True)
        self._thread.start()

    def _work(self, present: Callable[[], dict[int, Process]]) -> None:
        while not self.stopping.wait(POLL_S):
            # Before the program is there this thread only waits, so that the fork meets no lock
            # that it holds.
            if processes := present():
                try:
                    self.poll(processes)
                except (
                    Exception
                ) as error:  # the program goes on, and its record says why nothing moved
                    self.lost = repr(error)
                    return

    def poll(self, processes: dict[int, Process]) -> None:
        """See what is to move, and move as much as the rate allows."""
        now = self._clock()
        self._allowance = min(
            self._allowance + (now - self._paid_ns) / 1e9 * self._pace.bytes_per_s,
            max(self._pace.bytes_per_s / 4, self._pace.region_bytes),
        )
        self._paid_ns = now
        if self._hotness is None:
            self._see_phase(now)
        else:
            hysteresis_ns = round(self._pace.hysteresis_s * 1e9)
            for target, memory, why in self._hotness.changes(processes, now, hysteresis_ns):
                self._want(target, memory, why, now)
        for pending in list(self._pending.values()):
            self._move(pending, processes)

    def close(self) -> None:
        """End the thread after the call it is in; write down what was under way."""
        self.stopping.set()
        if self._thread is not None:
            self._thread.join()
        for pending in list(self._pending.values()):
            self._finish(pending)
        del self._table
        self._map.close()

    def _see_phase(self, now: int) -> None:
        phase = self._control.current_phase()
        if phase != self._phase:
            self._phase, self._since_ns, self._acted = phase, now, False
        if self._acted or now - self._since_ns < self._pace.hysteresis_s * 1e9:
            return
        self._acted = True
        rows = self._control.phases()
        name = rows[phase].name.decode(errors="replace") if phase < len(rows) else ""
        for placements in self._plan.phases:
            if placements.phase != name:
                continue
            for move in placements.moves:
                target = self._target_of_object.get(move.object)
                memory = self._numbers.get(move.memory)
                if target is not None and memory is not None:
                    self._want(target, memory, f"phase {name} began", now)

    def _want(self, target: int, memory: int, why: str, now: int) -> None:
        row = self._table.targets[target]
        if row.memory[0] == memory and target not in self._pending:
            return
        if (before := self._pending.pop(target, None)) is not None:
            self._finish(before)
        # What is allocated from now on goes there at once.
        row.memory[0] = memory
        self._pending[target] = _Pending(target, memory, self._nodes[memory], why, now)

    def _move(self, pending: _Pending, processes: dict[int, Process]) -> None:
        left = False
        for process in processes.values():
            regions = self._round(pending, process)
            try:
                while not left:
                    if self._allowance <= 0 or self.stopping.is_set():
                        left = True
                    elif (pages := next(regions, None)) is None:
                        break
                    elif len(pages):
                        self._move_region(pending, process, pages)
            except OSError as error:
                # Of a process that ends or becomes another program meanwhile nothing is left.
                if error.errno not in GONE:
                    self.lost = error.strerror or str(error)
        if left:
            return
        if pending.tried or self.lost:
            self._pending.pop(pending.target, None)
            self._finish(pending)
        else:
            # Once more after all is moved: what was allocated meanwhile in old places.
            pending.tried = True
            pending.failed = 0
            pending.rounds.clear()

    def _round(self, pending: _Pending, process: Process) -> Iterator[NDArray[np.uint64]]:
        """Return what is left of this round over the process' pages."""
        begun = pending.rounds.get(process.pid)
        # After an exec there is another process under the same number.
        if begun is None or begun[0] is not process:
            begun = pending.rounds[process.pid] = process, self._regions(pending, process)
        return begun[1]

    def _regions(self, pending: _Pending, process: Process) -> Iterator[NDArray[np.uint64]]:
        """Yield the numbers of the target's pages that are not where they are to be, by regions.

        Each page is asked after once, shortly before its turn. What is yielded is empty where many
        pages had nothing to move.
        """
        import numpy as np

        per_call = max(1, self._pace.region_bytes // layout.PAGE)
        rest = np.zeros(0, np.uint64)
        state = landing.read_state(process.pid, process.state)
        for extent in state.extents[: state.extent_count]:
            if extent.target != pending.target:
                continue
            first = extent.begin // layout.PAGE
            end = first + extent.bytes // layout.PAGE
            for begin in range(first, end, ASKED_PAGES):
                pages = np.arange(begin, min(begin + ASKED_PAGES, end), dtype=np.uint64)
                nodes = kernel.page_nodes(process.pid, pages * np.uint64(layout.PAGE))
                # Few pages of several stretches share a call, which has a price of its own.
                rest = np.concatenate((rest, pages[(nodes >= 0) & (nodes != pending.node)]))
                whole = len(rest) - len(rest) % per_call
                for at in range(0, whole, per_call):
                    yield rest[at : at + per_call]
                rest = rest[whole:]
                yield rest[:0]
        yield rest

    def _move_region(self, pending: _Pending, process: Process, pages: NDArray[np.uint64]) -> None:
        import numpy as np

        begun = time.monotonic_ns()
        status = kernel.move_pages(process.pid, pages * np.uint64(layout.PAGE), pending.node)
        pending.cost_ns += time.monotonic_ns() - begun
        moved = int((status == pending.node).sum())
        # Given back since they were asked after: nothing is left to move.
        gone = int(np.isin(status, (-errno.ENOENT, -errno.EFAULT)).sum())
        pending.moved += moved * layout.PAGE
        pending.failed += (len(pages) - moved - gone) * layout.PAGE
        self._allowance -= len(pages) * layout.PAGE

    def _finish(self, pending: _Pending) -> None:
        place = self._place_of_target[pending.target]
        placement = self._plan.placements[place]
        self.done.append(
            Migration(
                time_ns=pending.begin_ns - self._start_ns,
                why=pending.why,
                object=placement.object,
                name=placement.name,
                memory=self._places[pending.memory].name,
                moved_bytes=pending.moved,
                failed_bytes=pending.failed,
                cost_ns=pending.cost_ns,
            )
        )


def can_move(places: Sequence[Place], pace: Pace) -> bool:
    """Tell whether there is anywhere to move to."""
    return pace.even_on_one_node or len(set(nodes_of(places).values())) > 1


def nodes_of(places: Sequence[Place], root: Path = Path("/")) -> dict[int, int]:
    """Return each memory's node, or refuse: only pages of nodes can move."""
    taken = {place.spec.node for place in places if place.spec.kind == "node"}
    found: dict[int, int] = {}
    for number, place in enumerate(places):
        if place.spec.kind == "node" and place.spec.node is not None:
            found[number] = place.spec.node
        elif place.spec.kind == "dram":
            nodes = nodes_here(root)
            free = [node.id for node in nodes if node.cpus or node.id not in taken]
            found[number] = next((one for one in free if one not in taken), nodes[0].id)
        else:
            raise CommandError(
                f"--adapt moves pages between memory nodes, and {place.name} is {place.spec}, "
                "whose pages stay where they are: make it a node (nearfar machine convert --to "
                "system-ram), or leave out --adapt"
            )
    return found
