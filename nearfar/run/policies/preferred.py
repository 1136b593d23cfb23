"""Pages on the far node while it has room."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.machine import Node
from nearfar.run.policies import POLICIES, PREFERRED, Policy, far_node, lacks


@POLICIES.register("preferred")
def preferred(nodes: list[Node], root: Path) -> Policy:
    """Return the policy: all data far, which is what a plan has to beat."""
    del root
    far = far_node(nodes)
    if far is None:
        raise lacks(
            "--policy preferred puts pages on the node without CPUs, and all memory nodes here "
            "have some: nearfar machine --check shows the nodes and what could be made one"
        )
    return Policy(PREFERRED, (far,))
