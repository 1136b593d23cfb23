"""Pages on the far node while it has free memory."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.machine import Node
from nearfar.run.policies import POLICIES, PREFERRED, Policy, far_node, lacks


@POLICIES.register("preferred")
def preferred(nodes: list[Node], root: Path) -> Policy:
    """Return the policy: all data far, the baseline of a plan."""
    del root
    far = far_node(nodes)
    if far is None:
        raise lacks(
            "--policy preferred puts pages on the node without CPUs, and all memory nodes here "
            "have CPUs: nearfar machine --check shows the nodes and what could be made one"
        )
    return Policy(PREFERRED, (far,))
