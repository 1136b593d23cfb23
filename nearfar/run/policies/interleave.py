"""Pages interleaved over all nodes in turn."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents.machine import Node
from nearfar.run.policies import INTERLEAVE, POLICIES, Policy, with_memory


@POLICIES.register("interleave")
def interleave(nodes: list[Node], root: Path) -> Policy:
    """Return the policy; with one node, its note states that it changes nothing."""
    del root
    chosen = with_memory(nodes)
    note = "" if len(chosen) > 1 else "this machine has one memory node: all pages go there"
    return Policy(INTERLEAVE, chosen, note=note)
