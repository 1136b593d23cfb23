"""Another NUMA node: all of the program's memory is there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

from nearfar.emulate.runs import plain_of, plain_run, times_of
from nearfar.emulate.way import WAYS, Say, Times, Wanted
from nearfar.memories import topology
from nearfar.profile.session import ProfileRequest
from nearfar.run.kernel import set_mempolicy
from nearfar.run.policies import BIND


@WAYS.register("node")
class Node:
    """The one among other nodes whose memory the kernel says is furthest; usually CPU-less."""

    slows_down: ClassVar[bool] = False

    def lacks(self, wanted: Wanted, executable: Path) -> str:
        """Return why not."""
        del executable
        if wanted.placements:
            return "a plan is for objects: `nearfar run` puts them on nodes"
        if far_node(wanted) is None:
            return "this machine has no other NUMA node with memory"
        return ""

    def run(self, request: ProfileRequest, wanted: Wanted, say: Say) -> Times:
        """Run near, then bound to the node."""
        node = far_node(wanted)
        assert node is not None
        with tempfile.TemporaryDirectory(prefix="nearfar-plain-") as folder:
            build = plain_of(request, Path(folder))
            say("run 1 of 2: near")
            near = plain_run(request, build)
            say(f"run 2 of 2: on node {node}")
            emulated = plain_run(request, build, lambda: set_mempolicy(BIND, [node]))
        return times_of(near, emulated, [f"all memory on node {node}, files in the page cache not"])


def far_node(wanted: Wanted) -> int | None:
    """Return a node other than the near one that has memory, one without CPUs first."""
    others = [node for node in wanted.machine.nodes if node != wanted.machine.node]
    with_memory = [node for node in others if topology.node_memory_bytes(node)[0]]
    return min(with_memory, key=lambda node: len(topology.node_cpus(node)), default=None)
