"""Ranges that move while the program runs: which of them are hot, and whose pages they are."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nearfar.documents import Plan
from nearfar.documents.plan import Part
from nearfar.run import layout, local_memories, process_memory
from nearfar.run.adapt import Adapter, Pace
from nearfar.run.hotness import INTERVAL_NS, OTHERS, Hotness, PageUse, uses
from nearfar.run.launch import RunEnvironment, run_environment
from nearfar.run.local_memories import LocalMemory, resolve_memories
from nearfar.run.movable import Movable, Movables, Piece
from nearfar.run.policies import BIND, INTERLEAVE
from nearfar.run.sample_budget import SampleBudget
from nearfar.run.targets import Targets, make_targets

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan

RANGE = 4 << 20
"""Bytes of each range of the program's objects."""
ELSEWHERE = 1
"""Node of all pages before they move; near and far memory are node 0."""


def array_and_file(file: str) -> Plan:
    parts = [
        Part(memory=memory, share=1 / 3, begin_bytes=n * RANGE, end_bytes=(n + 1) * RANGE)
        for n, memory in enumerate(("near", "far", "far"))
    ]
    made = plan(
        [
            placement(0, "make_array", "near", 12, parts=parts),
            placement(1, f"file {file}", "near", 12, kind="file", frames=[], parts=parts),
        ]
    )
    made.budget_bytes = 2 * RANGE + (1 << 20)
    return made


def policies(pid: int, begin: int) -> list[str]:
    """Return the policies of an object's ranges as the kernel has them, in their order."""
    found = []
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        address, policy, *_ = line.split()
        if begin - layout.PAGE <= int(address, 16) < begin + 3 * RANGE - layout.PAGE:
            found.append(policy)
    return found


@dataclass
class Shifting:
    """A program under the library that waits for ranges to touch."""

    made: Plan
    memories: list[LocalMemory]
    targets: Targets
    served: RunEnvironment
    child: subprocess.Popen[str]
    addresses: list[int]
    """Addresses of its array and its file."""


@contextmanager
def shifting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shifting]:
    """Start the program on node 0, which is near and far memory, as on a machine with one node."""
    one_node = [node for node in local_memories.local_nodes() if node.id == 0]
    monkeypatch.setattr(local_memories, "local_nodes", lambda _: one_node)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        program, file = Path(folder) / "shifting", Path(folder) / "shifting.data"
        source = str(PROGRAMS / "shifting.c")
        subprocess.run(["cc", "-O1", "-g", source, "-o", str(program)], check=True)
        file.write_bytes(bytes(3 * RANGE))
        made = array_and_file(file.name)
        memories = resolve_memories(made, ["far=node:0"])
        targets = make_targets(made, memories, adapt=True)
        with (
            run_environment(made, memories, targets, huge_pages=2) as served,
            subprocess.Popen(
                [str(program), str(file)], env=served.variables({}), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            ) as child,
        ):  # fmt: skip
            assert child.stdout is not None
            addresses = [int(word) for word in child.stdout.readline().split()]
            served.control.start(child.pid)
            yield Shifting(made, memories, targets, served, child, addresses)


def test_a_range_that_becomes_hot_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program under the library, its referenced bits, mappings and positions are real."""
    nodes: dict[int, int] = {}

    def page_nodes(_: int, addresses: NDArray[np.uint64]) -> NDArray[np.int32]:
        return np.array([nodes.get(int(each), ELSEWHERE) for each in addresses], np.int32)

    def move_pages(_: int, addresses: NDArray[np.uint64], node: int) -> NDArray[np.int32]:
        nodes.update((int(each), node) for each in addresses)
        return np.full(len(addresses), node, np.int32)

    clock = [0]
    with shifting(monkeypatch) as run:
        adapter = Adapter(
            run.made, run.memories, run.targets, control=run.served.control,
            folder=run.served.folder,
            pace=Pace(hysteresis_s=0, bytes_per_s=1e12), clock=lambda: clock[0],
            samples=SampleBudget(0.0, lambda _: 1 << 62),
        )  # fmt: skip
        monkeypatch.setattr(process_memory, "page_nodes", page_nodes)
        monkeypatch.setattr(process_memory, "move_pages", move_pages)

        def sample(hot: int) -> None:
            """Touch one range of each object between clearing and counting."""
            assert run.child.stdin is not None
            assert run.child.stdout is not None
            adapter.poll(run.served.server.placed_processes())
            print(hot * RANGE >> 20, 0, file=run.child.stdin, flush=True)
            assert run.child.stdout.readline()
            for _ in range(2):
                clock[0] += 32 * INTERVAL_NS
                adapter.poll(run.served.server.placed_processes())

        for begin in run.addresses:
            assert policies(run.child.pid, begin) == ["prefer:0", "prefer=static:0", "prefer:0"]
        sample(0)
        sample(0)
        assert not adapter.done
        assert not nodes
        sample(2)
        run.child.communicate()
        adapter.close()
    moved = {(each.name, each.begin_bytes, each.end_bytes, each.memory) for each in adapter.done}
    assert moved == {
        (name, begin, begin + RANGE, memory)
        for name in ("make_array", run.made.placements[1].name)
        for begin, memory in ((0, "far"), (2 * RANGE, "near"))
    }
    # A block's first page is the library's, so its positions begin a page before it.
    array, mapping = run.addresses[0] - layout.PAGE, run.addresses[1]
    pages = {
        page
        for begin in (array, array + 2 * RANGE, mapping, mapping + 2 * RANGE)
        for page in range(begin, begin + RANGE, layout.PAGE)
    }
    assert nodes.keys() == pages | {array + 3 * RANGE}
    assert sum(each.moved_bytes for each in adapter.done) == len(nodes) * layout.PAGE


@pytest.mark.parametrize(("mode", "name"), [(BIND, "bind"), (INTERLEAVE, "interleave")])
def test_near_ranges_that_may_move_keep_the_mode_of_numactls_policy(
    monkeypatch: pytest.MonkeyPatch, mode: int, name: str
) -> None:
    monkeypatch.setattr(process_memory, "own_policy", lambda: (mode, {0}))
    with shifting(monkeypatch) as run:
        for begin in run.addresses:
            assert policies(run.child.pid, begin) == [f"{name}:0", "prefer=static:0", "prefer:0"]
        run.child.communicate()
    assert run.child.returncode == 0


def test_use_is_counted_for_each_range_and_shared_out_where_one_mapping_has_several() -> None:
    first, second, whole = Movable(1, 0), Movable(1, 1), Movable(2)
    pieces = [
        Piece(0x40000, 0x50000, whole),
        Piece(0x10000, 0x20000, first),
        Piece(0x20000, 0x30000, second),
    ]
    text = (
        "10000-1c000 rw-p 0 0:0 0\nRss: 48 kB\nReferenced: 48 kB\n"
        "1c000-24000 rw-p 0 0:0 0\nRss: 32 kB\nReferenced: 16 kB\n"
        "24000-30000 rw-p 0 0:0 0\nRss: 48 kB\nReferenced: 0 kB\n"
        "38000-48000 rw-p 0 0:0 0\nRss: 64 kB\nReferenced: 64 kB\nAnonHugePages: 0 kB\n"
    )
    result = uses(text, pieces)
    assert result[first] == PageUse(64 << 10, 56 << 10)
    assert result[second] == PageUse(64 << 10, 8 << 10)
    assert result[whole] == result[OTHERS] == PageUse(32 << 10, 32 << 10)


def test_several_cold_ranges_leave_for_a_larger_hot_one() -> None:
    parts = [
        Part(memory=memory, share=share, begin_bytes=begin << 20, end_bytes=end << 20)
        for memory, share, begin, end in (
            ("near", 0.25, 0, 2), ("far", 0.5, 2, 6), ("near", 0.25, 6, 8),
        )
    ]  # fmt: skip
    made = plan([placement(0, "object", "near", 8, parts=parts)])
    made.budget_bytes = 4 << 20
    targets = make_targets(made, resolve_memories(made, ["far=node:0"]), adapt=True)
    watch = Hotness(made.budget_bytes, Movables(targets), SampleBudget(0.0))
    (target,) = targets.moving.values()
    first, middle, last = (Movable(target, number) for number in range(3))
    used = {
        first: PageUse(2 << 20, 0),
        middle: PageUse(4 << 20, 4 << 20),
        last: PageUse(2 << 20, 1 << 20),
    }
    moved = [(movable, memory) for movable, memory, _ in watch.decide(used, 0, 0)]
    assert moved == [(first, 1), (last, 1), (middle, 0)]
    # Nothing is hot enough to come back.
    assert not list(watch.decide(used, 1, 0))


def test_long_ranges_are_divided_so_that_a_part_can_move() -> None:
    parts = [
        Part(memory="near", share=1 / 3, begin_bytes=0, end_bytes=8 << 20),
        Part(memory="far", share=2 / 3, begin_bytes=8 << 20, end_bytes=24 << 20),
    ]
    made = plan([placement(0, "object", "near", 24, parts=parts)])
    memories = resolve_memories(made, ["far=node:0"])
    for adapt, ends in ((False, [8, 24]), (True, [8, 16, 24])):
        targets = make_targets(made, memories, adapt=adapt)
        _, ranges = targets.shapes[targets.of_object[0]]
        assert [end >> 20 for _, end in ranges] == ends
        assert targets.shares(targets.of_object[0]) == pytest.approx({0: 1 / 3, 1: 2 / 3})
