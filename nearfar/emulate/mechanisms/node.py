"""Another NUMA node: all of the program's memory is bound to it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from nearfar.base.folders import owned_folder
from nearfar.emulate.mechanism import MECHANISMS, EmulationTarget, EmulationTimes, Say
from nearfar.emulate.runs import plain_build_of, run_plain, times_of
from nearfar.memories import topology
from nearfar.profile.session import ProfileRequest
from nearfar.run.policies import BIND
from nearfar.run.process_memory import set_mempolicy


@MECHANISMS.register("node")
class FarNode:
    """All memory on another NUMA node, preferably a node without CPUs."""

    slows_down: ClassVar[bool] = False

    def missing(self, target: EmulationTarget, executable: Path) -> str:
        """Return why it cannot be used."""
        del executable
        if target.placements:
            return "a plan is for objects: `nearfar run` puts them on nodes"
        if far_node(target) is None:
            return "this machine has no other NUMA node with memory"
        return ""

    def run(self, request: ProfileRequest, target: EmulationTarget, say: Say) -> EmulationTimes:
        """Run near, then bound to the node."""
        node = far_node(target)
        assert node is not None
        with owned_folder("nearfar-plain-", None) as folder:
            build = plain_build_of(request, folder)
            say("run 1 of 2: near")
            near = run_plain(request, build)
            say(f"run 2 of 2: on node {node}")
            emulated = run_plain(request, build, lambda: set_mempolicy(BIND, [node]))
        return times_of(near, emulated, [f"all memory on node {node}, except files in page cache"])


def far_node(target: EmulationTarget) -> int | None:
    """Return another node with memory, preferably without CPUs; None: there is no such node."""
    others = [node for node in target.machine.nodes if node != target.machine.node]
    with_memory = [node for node in others if topology.node_memory_bytes(node)[0]]
    return min(with_memory, key=lambda node: len(topology.node_cpus(node)), default=None)
