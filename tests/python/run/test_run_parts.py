"""Parts of a run that need no program: the table's layout, policies, hotness, memories."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.base.errors import CommandError, ExitCode, NearfarError
from nearfar.documents import Plan
from nearfar.documents.machine import Node
from nearfar.run import layout, process_memory
from nearfar.run.adapt import Pace, can_move, nodes_of
from nearfar.run.hotness import INTERVAL_NS, Hotness, PageUse
from nearfar.run.local_memories import (
    local_nodes,
    memory_warnings,
    near_mode,
    near_nodes,
    resolve_memories,
)
from nearfar.run.movable import Movable, Movables
from nearfar.run.policies import (
    BIND,
    DEFAULT,
    INTERLEAVE,
    POLICIES,
    PREFERRED,
    WEIGHTED_INTERLEAVE,
)
from nearfar.run.policy_run import anonymous_by_node
from nearfar.run.sample_budget import (
    MAX_CPU_SHARE,
    SampleBudget,
    accessed_bit_ns,
    process_cpu_ns,
    resident_pages,
)
from nearfar.run.server import PlacedProcess
from nearfar.run.snapshot import sampled_pages
from nearfar.run.targets import make_targets

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import objects_plan, placement, plan

ROOT = Path(__file__).parents[3]


def test_both_sides_use_the_same_table_layout(tmp_path: Path) -> None:
    structures = {
        "nf_run_memory": layout.TableMemory, "nf_run_target": layout.Target,
        "nf_run_range": layout.Range, "nf_run_file": layout.File,
        "nf_run_table": layout.Table, "nf_run_extent": layout.Extent,
        "nf_run_mapped": layout.Mapped, "nf_run_state": layout.State,
        "nf_run_ask": layout.LibraryRequest, "nf_run_answer": layout.LibraryAnswer,
    }  # fmt: skip
    lines = [
        f'printf("%zu\\n", offsetof(struct {name}, {field[0]}));'
        for name, kind in structures.items()
        for field in kind._fields_
    ] + [f'printf("%zu\\n", sizeof(struct {name}));' for name in structures]
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "run/table.h"\nint main(void) {{ {" ".join(lines)} return 0; }}\n'
    )
    program = tmp_path / "layout"
    subprocess.run(["cc", f"-I{ROOT / 'native'}", str(source), "-o", str(program)], check=True)
    native = [int(word) for word in subprocess.check_output([str(program)]).split()]
    python = [
        getattr(kind, field[0]).offset for kind in structures.values() for field in kind._fields_
    ] + [ctypes.sizeof(kind) for kind in structures.values()]
    assert native == python


def test_one_page_in_eight_is_sampled() -> None:
    pages = sampled_pages(layout.FIRST_ADDRESS, 1 << 30)
    assert len(pages) * layout.PAGE / (1 << 30) == pytest.approx(1 / 8, rel=0.02)


def nodes(*cpus: list[int]) -> list[Node]:
    return [
        Node(id=n, cpus=own, memory_bytes=1 << 30, free_bytes=1 << 30, distances={})
        for n, own in enumerate(cpus)
    ]


NEAR_AND_FAR = nodes([0, 1], [])


def test_policies_report_what_the_machine_lacks(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    for name in ("weighted-interleave", "tiering", "damon"):
        with pytest.raises(NearfarError) as refused:
            POLICIES.get(name)(NEAR_AND_FAR, tmp_path)
        assert refused.value.exit_code == ExitCode.MACHINE_LACKS
        assert "\n" not in str(refused.value)
    with pytest.raises(NearfarError, match="without CPUs"):
        POLICIES.get("preferred")(nodes([0]), tmp_path)
    assert POLICIES.get("interleave")(NEAR_AND_FAR, tmp_path).nodes == (0, 1)
    assert POLICIES.get("preferred")(NEAR_AND_FAR, tmp_path).nodes == (1,)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_tiering_names_the_commands_that_enable_it(tmp_path: Path) -> None:
    write(tmp_path / "sys/kernel/mm/numa/demotion_enabled", "false\n")
    write(tmp_path / "proc/sys/kernel/numa_balancing", "1\n")
    with pytest.raises(NearfarError, match=r"demotion_enabled; echo 2 .*numa_balancing"):
        POLICIES.get("tiering")(NEAR_AND_FAR, tmp_path)
    write(tmp_path / "sys/kernel/mm/numa/demotion_enabled", "true\n")
    write(tmp_path / "proc/sys/kernel/numa_balancing", "2\n")
    assert POLICIES.get("tiering")(NEAR_AND_FAR, tmp_path).nodes == ()


def test_weights_of_one_node_are_no_policy(tmp_path: Path) -> None:
    folder = tmp_path / "sys/kernel/mm/mempolicy/weighted_interleave"
    for node, weight in enumerate((19, 7)):
        write(folder / f"node{node}", f"{weight}\n")
    policy = POLICIES.get("weighted-interleave")
    assert "all pages go there" in policy(nodes([0]), tmp_path).note
    assert "node 0: 19, node 1: 7" in policy(NEAR_AND_FAR, tmp_path).note


def test_damon_is_set_up_and_removed(tmp_path: Path) -> None:
    """The files follow the kernel's guide; no kernel moves anything here."""
    admin = tmp_path / "sys/kernel/mm/damon/admin/kdamonds"
    context = admin / "0/contexts/0"
    scheme = context / "schemes/0"
    for path in (
        admin / "nr_kdamonds", admin / "0/state", admin / "0/contexts/nr_contexts",
        context / "operations", context / "targets/nr_targets", context / "schemes/nr_schemes",
        scheme / "action", scheme / "target_nid", context / "targets/0/regions/nr_regions",
        *(context / f"targets/0/regions/{n}" / end for n in (0, 1) for end in ("start", "end")),
        *(scheme / "access_pattern" / what / end
          for what in ("sz", "nr_accesses", "age") for end in ("min", "max")),
    ):  # fmt: skip
        write(path, "")
    write(tmp_path / "proc/iomem", "00001000-0009fbff : System RAM\n000a0000-000fffff : Reserved\n"
          "  000f0000-000fffff : System ROM\n100000000-27fffffff : System RAM\n")  # fmt: skip
    policy = POLICIES.get("damon")(NEAR_AND_FAR, tmp_path)
    regions = context / "targets/0/regions"
    assert (regions / "nr_regions").read_text() == "2"
    assert (regions / "1/start").read_text() == str(0x100000000)
    assert (regions / "1/end").read_text() == str(0x280000000)
    assert (admin / "0/state").read_text() == "on"
    assert (scheme / "action").read_text() == "migrate_cold"
    assert (scheme / "target_nid").read_text() == "1"
    policy.undo()
    assert (admin / "nr_kdamonds").read_text() == "0"


def test_numa_maps_are_read() -> None:
    text = (
        "55d0 default file=/bin/cat mapped=8 N0=8 kernelpagesize_kB=4\n"
        "7f00 prefer:1 anon=30 dirty=30 N0=10 N1=20 kernelpagesize_kB=4\n"
        "7f80 default anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n"
    )
    assert anonymous_by_node(text) == {0: 10 << 12, 1: (20 << 12) + (2 << 21)}


def watched(made: Plan) -> tuple[Hotness, list[Movable]]:
    """Return a watch of a plan's objects, and each of them."""
    targets = make_targets(made, resolve_memories(made, ["far=node:0"]), adapt=True)
    movables = [Movable(targets.moving[number]) for number in range(len(made.placements))]
    assert len({0, *(movable.target for movable in movables)}) == len(movables) + 1
    return Hotness(made.budget_bytes, Movables(targets), SampleBudget(0.0)), movables


def hot_and_cold() -> tuple[Hotness, Movable, Movable]:
    """Return a watch of a cold near object and a hot far object."""
    made = plan([placement(0, "cold", "near", 4), placement(1, "hot", "far", 4)])
    made.budget_bytes = 4 << 20
    watch, (cold, hot) = watched(made)
    return watch, cold, hot


def moves(
    watch: Hotness, total: dict[Movable, PageUse], now_ns: int, patience: int
) -> dict[Movable, int]:
    return {movable: memory for movable, memory, _ in watch.decide(total, now_ns, patience)}


def test_a_hot_far_object_is_exchanged_with_a_cold_near_object() -> None:
    watch, cold, hot = hot_and_cold()
    used = {cold: PageUse(4 << 20, 0), hot: PageUse(4 << 20, 4 << 20)}
    hysteresis = 3 * INTERVAL_NS
    assert moves(watch, used, 0, hysteresis) == {}
    assert moves(watch, used, 2 * INTERVAL_NS, hysteresis) == {}
    assert moves(watch, used, hysteresis, hysteresis) == {cold: 1, hot: 0}
    # Now the places are right and stay.
    assert moves(watch, used, 9 * hysteresis, hysteresis) == {}
    assert moves(watch, used, 18 * hysteresis, hysteresis) == {}


def test_what_the_kernel_does_not_move_is_left_where_it_is() -> None:
    made = plan([placement(n, str(n), "near" if n == 0 else "far", 4) for n in range(3)])
    made.budget_bytes = 4 << 20
    watch, (cold, shared, hot) = watched(made)
    used = {
        cold: PageUse(4 << 20, 0),
        shared: PageUse(4 << 20, 4 << 20),
        hot: PageUse(4 << 20, 3 << 20),
    }
    assert moves(watch, used, 0, 0) == {cold: 1, shared: 0}
    watch.stays(shared, near=False)
    # The room that the cold one left is the next hot one's.
    assert moves(watch, used, INTERVAL_NS, 0) == {hot: 0}
    # What could not leave keeps its space.
    watch, (cold, shared, hot) = watched(made)
    watch.stays(cold, near=True)
    assert moves(watch, used, 0, 0) == {}


def test_an_object_that_moves_back_and_forth_waits_twice_as_long_each_time() -> None:
    watch, first, other = hot_and_cold()
    now, waited = 0, []
    for turn in range(5):
        used = [PageUse(4 << 20, 0), PageUse(4 << 20, 4 << 20)][:: 1 if turn % 2 == 0 else -1]
        total = dict(zip((first, other), used, strict=True))
        begun = now
        while not moves(watch, total, now, INTERVAL_NS):
            now += INTERVAL_NS
        waited.append((now - begun) // INTERVAL_NS)
    assert waited == [1, 2, 4, 8, 16]


def test_of_two_similarly_hot_objects_one_moves_eventually() -> None:
    """Which of them is hotter changes from sample to sample."""
    made = plan([placement(n, str(n), "near" if n == 0 else "far", 4) for n in range(3)])
    made.budget_bytes = 4 << 20
    watch, (cold, first, other) = watched(made)
    hysteresis = 4 * INTERVAL_NS

    def look(turn: int) -> dict[Movable, int]:
        shares = {cold: 0.0, first: 0.9, other: 0.9 + (-1) ** turn * 0.05}
        total = {t: PageUse(4 << 20, round(share * (4 << 20))) for t, share in shares.items()}
        return moves(watch, total, turn * INTERVAL_NS, hysteresis)

    assert [look(turn) for turn in range(4)] == [{}] * 4
    assert look(4) == {cold: 1, other: 0}


def test_an_object_that_disappeared_for_a_sample_waits_again() -> None:
    watch, cold, hot = hot_and_cold()
    there = {cold: PageUse(4 << 20, 0), hot: PageUse(4 << 20, 4 << 20)}
    gone = {cold: PageUse(4 << 20, 0)}
    hysteresis = 2 * INTERVAL_NS
    for turn, total in enumerate((there, gone, there, there)):
        assert moves(watch, total, turn * INTERVAL_NS, hysteresis) == {}, turn
    assert moves(watch, there, 4 * INTERVAL_NS, hysteresis) == {cold: 1, hot: 0}


def test_sampling_takes_a_share_of_the_programs_time() -> None:
    """Samples of any size take no more than their share of its CPU time."""
    pid = os.getpid()
    used_ns = 0
    budget = SampleBudget(500.0, lambda _: used_ns)
    processes = {pid: PlacedProcess(pid, 0)}
    assert not budget.affords({})
    looks = 0
    for _ in range(1000):
        used_ns += 10**8
        if budget.affords(processes):
            looks += 1
            budget.charge(resident_pages(pid), 3_000_000)
        # This process may grow meanwhile.
        assert budget.spent_ns <= 1.1 * MAX_CPU_SHARE * used_ns
    assert 0 < looks < 1000
    assert budget.spent_ns > 0.5 * MAX_CPU_SHARE * used_ns
    assert 0 <= accessed_bit_ns() < 1e5
    assert process_cpu_ns(pid) > 0


def two_sockets(root: Path) -> Path:
    """Write nodes 0 and 2 with CPUs, and 1 without."""
    write(root / "sys/devices/system/node/online", "0-2\n")
    for node, cpus in enumerate(("0", "", "1")):
        folder = root / f"sys/devices/system/node/node{node}"
        write(folder / "cpulist", f"{cpus}\n")
        write(folder / "meminfo", f"Node {node} MemTotal: 1024 kB\nNode {node} MemFree: 512 kB\n")
    return root


@pytest.mark.parametrize(
    ("policy", "far", "near"),
    [
        (set(), "node:1", [0, 2]),
        ({0}, "node:1", [0]),
        ({1, 2}, "node:1", [2]),
        ({1}, "node:1", [0, 2]),
        (set(), "node:0", [2]),
    ],
)
def test_near_memory_is_the_nodes_that_a_policy_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: set[int], far: str, near: list[int]
) -> None:
    root = two_sockets(tmp_path)
    monkeypatch.setattr(process_memory, "own_policy", lambda: (BIND, policy))
    made = objects_plan({"make_array": "far"})
    memories = resolve_memories(made, [f"far={far}"], root)
    assert near_nodes(memories, root) == near
    assert nodes_of(memories, root)[0] == near
    said = [each for each in memory_warnings(memories, made, root) if "numactl" in each]
    assert len(said) == (bool(policy) and policy.isdisjoint(near))
    assert all("on node 1, and near memory is nodes 0 and 2:" in each for each in said)


@pytest.mark.parametrize(
    ("mode", "policy", "kept"),
    [
        (BIND, {0, 2}, True),
        (BIND, {2}, True),
        (BIND, {0, 1, 2}, False),
        (BIND, {1}, False),
        (INTERLEAVE, {0, 2}, True),
        (WEIGHTED_INTERLEAVE, {0, 1, 2}, True),
        (INTERLEAVE, {1}, False),
        (PREFERRED, {0}, False),
        (DEFAULT, set(), False),
    ],
)
def test_near_memory_is_interleaved_or_bound_as_a_policy_has_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, policy: set[int], kept: bool
) -> None:
    root = two_sockets(tmp_path)
    monkeypatch.setattr(process_memory, "own_policy", lambda: (mode, policy))
    memories = resolve_memories(objects_plan({"make_array": "far"}), ["far=node:1"], root)
    assert near_mode(near_nodes(memories, root)) == (mode if kept else DEFAULT)


def test_the_policy_of_this_process_is_known() -> None:
    code = (
        "from nearfar.run.process_memory import own_policy, set_mempolicy\n"
        "print(own_policy()); set_mempolicy(3, [0]); print(own_policy())\n"
        "set_mempolicy(1 << 15 | 2, [0]); print(own_policy())"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert shown.splitlines() == ["(0, set())", "(3, {0})", "(2, {0})"]


def test_nothing_can_move_on_a_single_node() -> None:
    made = objects_plan({"make_array": "far"})
    near = resolve_memories(made, ["far=node:0"])
    assert can_move(near, Pace()) == (len(local_nodes()) > 1)
    assert can_move(near, Pace(even_on_one_node=True))


def test_memories_are_refused_in_one_sentence(tmp_path: Path) -> None:
    made = objects_plan({"make_array": "far"})
    for mapped, message in (
        ([], "has no local memory"),
        (["far=node:4711"], "no memory node 4711"),
        ([f"far=file:{tmp_path}/absent"], "not a folder"),
        (["far=devdax:/dev/dax99.9"], "no DAX device"),
        (["far=model:optane-100-6dimm"], "cannot be model"),
        (["fear=node:0"], "did you mean 'far'"),
        (["near=file:/dev/shm", "far=node:0"], "near memory is dram or node"),
        (["far"], "NAME=SPEC"),
    ):
        with pytest.raises(CommandError, match=message):
            resolve_memories(made, mapped)
    # The device's name is accepted too, and unused memories need no replacement.
    assert resolve_memories(made, ["optane=node:0"])[1].spec.node == 0
    assert len(resolve_memories(objects_plan({"make_array": "near"}), [])) == 1
