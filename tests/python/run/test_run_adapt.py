"""Migration while a program runs, with this process as the program and a fake kernel."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from patience import patience

from nearfar.documents import Plan
from nearfar.documents.machine import Node
from nearfar.documents.plan import Move, PhasePlacements
from nearfar.program.launch import Job, RunOutcome
from nearfar.run import launch, layout, local_memories, process_memory
from nearfar.run.adapt import Adapter, Pace
from nearfar.run.launch import RunEnvironment, run_environment
from nearfar.run.local_memories import resolve_memories
from nearfar.run.server import PlacedProcess
from nearfar.run.targets import make_targets

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan

ELSEWHERE = 1
"""The initial node of the pages; far memory is node 0."""
REGION = 4
"""Pages."""
PAGES = range(1000, 1062)
"""Page numbers; the last region is incomplete."""
POLL_NS = 50_000_000


class MadeUpKernel:
    """Fakes the kernel: knows the node of each page, counts queries and moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node_of = dict.fromkeys(PAGES, ELSEWHERE)
        self.asked: Counter[int] = Counter()
        self.moved: list[int] = []
        """Number of pages in each call."""
        self.gone: set[int] = set()
        """Pages freed after they were queried."""
        self.stuck: set[int] = set()
        self.in_call: Callable[[], object] = lambda: None
        """Called in every call that moves."""
        monkeypatch.setattr(process_memory, "page_nodes", self.page_nodes)
        monkeypatch.setattr(process_memory, "move_pages", self.move_pages)

    def page_nodes(self, _: int, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
        pages = [int(address) // layout.PAGE for address in addresses]
        self.asked.update(pages)
        return np.array([self.node_of.get(page, -errno.ENOENT) for page in pages], np.int32)

    def move_pages(self, _: int, addresses: NDArray[np.uint64], node: int) -> NDArray[np.int32]:
        self.in_call()
        status = []
        for page in (int(address) // layout.PAGE for address in addresses):
            if page in self.gone:
                self.node_of.pop(page, None)
                status.append(-errno.ENOENT)
            elif page in self.stuck:
                status.append(-errno.EBUSY)
            else:
                self.node_of[page] = node
                status.append(node)
        self.moved.append(len(status))
        return np.array(status, np.int32)


def moving_plan(source: str = "near", memory: str = "far") -> Plan:
    """Return a plan whose only object goes to another memory in the phase "work"."""
    move = Move(object=0, source=source, memory=memory, bytes=1 << 20, cost_ns=0)
    return plan(
        [placement(0, "object", source)], phases=[PhasePlacements(phase="work", moves=[move])]
    )


def state_of_pages() -> layout.State:
    """Return the library's state of a process with `PAGES` pages of the plan's object."""
    state = layout.State(magic=layout.MAGIC.rstrip(b"\0"), extent_count=1)
    state.extents[0] = layout.Extent(
        PAGES[0] * layout.PAGE, len(PAGES) * layout.PAGE, 1, 0, layout.NO_POSITION
    )
    return state


def make_adapter(
    served: RunEnvironment, made: Plan, pace: Pace, clock: list[int], far: str = "far=node:0"
) -> Adapter:
    places = resolve_memories(made, [far])
    targets = make_targets(made, places, adapt=True)
    assert targets.moving == {0: 1}
    return Adapter(
        made, places, targets, control=served.control, folder=served.folder, pace=pace,
        clock=lambda: clock[0],
    )  # fmt: skip


def served_plan(made: Plan, far: str = "far=node:0") -> AbstractContextManager[RunEnvironment]:
    places = resolve_memories(made, [far])
    return run_environment(made, places, make_targets(made, places, adapt=True))


def test_pages_of_a_move_are_queried_once_in_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate spreads queries over any number of polls: large objects have millions of pages."""
    made_up = MadeUpKernel(monkeypatch)
    made_up.gone, made_up.stuck = {PAGES[5]}, {PAGES[-1]}
    made, state, clock = moving_plan(), state_of_pages(), [0]
    processes = {os.getpid(): PlacedProcess(os.getpid(), ctypes.addressof(state))}
    region_bytes = REGION * layout.PAGE
    pace = Pace(region_bytes, bytes_per_s=region_bytes * 1e9 / POLL_NS, hysteresis_s=0)
    with served_plan(made) as served:
        adapter = make_adapter(served, made, pace, clock)
        served.control.begin("work")
        polls = 0
        while not adapter.done:
            clock[0] += POLL_NS
            adapter.poll(processes)
            polls += 1
            assert len(made_up.moved) <= polls, "more than the rate allows"
            assert polls < 100
        adapter.close()
    regions = -(-len(PAGES) // REGION)
    # A second round finds new allocations and the one page that would not move.
    assert made_up.moved == [REGION] * (regions - 1) + [len(PAGES) % REGION, 1]
    assert polls > regions
    assert made_up.asked == dict.fromkeys(PAGES, 2)
    (migration,) = adapter.done
    assert migration.moved_bytes == (len(PAGES) - 2) * layout.PAGE
    assert migration.failed_bytes == layout.PAGE


def test_pages_that_come_near_stay_on_any_node_of_near_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sockets = [
        Node(id=node, cpus=cpus, memory_bytes=1 << 30, free_bytes=1 << 30, distances={})
        for node, cpus in enumerate(([0], [], [1]))
    ]
    monkeypatch.setattr(local_memories, "local_nodes", lambda _: sockets)
    monkeypatch.setattr(process_memory, "own_policy", lambda: (0, set()))
    made_up = MadeUpKernel(monkeypatch)
    made_up.node_of = {page: page % 3 for page in PAGES}
    made, state, clock, far = moving_plan("far", "near"), state_of_pages(), [0], "far=node:1"
    with served_plan(made, far) as served:
        adapter = make_adapter(served, made, Pace(REGION * layout.PAGE, hysteresis_s=0), clock, far)
        served.control.begin("work")
        clock[0] += POLL_NS
        adapter.poll({os.getpid(): PlacedProcess(os.getpid(), ctypes.addressof(state))})
        adapter.close()
    assert made_up.node_of == {page: 2 if page % 3 == 2 else 0 for page in PAGES}
    (migration,) = adapter.done
    assert migration.moved_bytes == sum(page % 3 == 1 for page in PAGES) * layout.PAGE


def ask(served: RunEnvironment, question: layout.LibraryRequest) -> layout.LibraryAnswer:
    """Send a question as the library in the program does; raise TimeoutError without an answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
        end.settimeout(patience(20))
        end.connect(str(served.folder / "socket"))
        end.send(bytes(question))
        return layout.LibraryAnswer.from_buffer_copy(end.recv(ctypes.sizeof(layout.LibraryAnswer)))


def test_no_stack_waits_for_a_move_and_an_interrupt_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel is slow with the first region; meanwhile a stack is queried, then ^C arrives."""
    made_up = MadeUpKernel(monkeypatch)
    made, state, pid = moving_plan(), state_of_pages(), os.getpid()
    moving = threading.Event()
    pace = Pace(REGION * layout.PAGE, hysteresis_s=0)
    threads = set(threading.enumerate())
    with served_plan(made) as served:
        clock = [0]
        adapter = make_adapter(served, made, pace, clock)
        clock[0] = 10**9

        def call() -> None:
            moving.set()
            # Without the interrupt this would take minutes.
            assert adapter.stopping.wait(patience(60))

        def interrupted(*_: object) -> RunOutcome:
            ask(served, layout.LibraryRequest(layout.HELLO, pid, ctypes.addressof(state)))
            served.control.begin("work")
            assert moving.wait(patience(20))
            unknown = layout.LibraryRequest(layout.STACK, pid, count=1)
            assert ask(served, unknown).object == layout.NO_OBJECT
            raise KeyboardInterrupt

        made_up.in_call = call
        monkeypatch.setattr(launch, "run_job", interrupted)
        with pytest.raises(KeyboardInterrupt):
            launch.run_planned(served, Job([]), executable=Path(), environment={}, adapter=adapter)
        assert set(threading.enumerate()) == threads
    # The current region was moved, and no other was begun.
    assert made_up.moved == [REGION]
    (migration,) = adapter.done
    assert migration.moved_bytes == REGION * layout.PAGE


@pytest.mark.parametrize(
    ("number", "lost"),
    [(errno.EINVAL, False), (errno.EFAULT, False), (errno.ESRCH, False), (errno.ENODEV, True)],
)
def test_a_process_that_ends_meanwhile_is_not_a_refusal_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch, number: int, lost: bool
) -> None:
    made_up = MadeUpKernel(monkeypatch)

    def refuse() -> None:
        raise OSError(number, os.strerror(number))

    made_up.in_call = refuse
    made, state, clock = moving_plan(), state_of_pages(), [0]
    with served_plan(made) as served:
        adapter = make_adapter(served, made, Pace(REGION * layout.PAGE, hysteresis_s=0), clock)
        served.control.begin("work")
        clock[0] += POLL_NS
        adapter.poll({os.getpid(): PlacedProcess(os.getpid(), ctypes.addressof(state))})
        adapter.close()
    assert bool(adapter.lost) == lost


def test_the_reason_why_the_adapter_stopped_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    with served_plan(moving_plan()) as served:
        adapter = make_adapter(served, moving_plan(), Pace(REGION * layout.PAGE), [0])

        def fail(_: object) -> None:
            raise ValueError("what nobody thought of")

        monkeypatch.setattr(adapter, "poll", fail)
        stopped = threading.Event()
        adapter.start(lambda: stopped.set() or {1: PlacedProcess(1, 0)})  # type: ignore[func-returns-value]
        assert stopped.wait(patience(20))
        adapter.close()
    assert "what nobody thought of" in adapter.lost
