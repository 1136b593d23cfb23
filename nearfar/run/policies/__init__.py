"""The kernel's policies to spread data over memory nodes, one per file.

To add one, write a file here with a function registered as below. It returns the `Policy` under
which a program runs, or raises NearfarError (exit code 3) with one sentence on what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.registry import Registry
from nearfar.documents.machine import Node

DEFAULT, PREFERRED, BIND, INTERLEAVE, WEIGHTED_INTERLEAVE = 0, 1, 2, 3, 6
"""Modes of set_mempolicy(2), linux/mempolicy.h."""


@dataclass(frozen=True)
class Policy:
    """The kernel policy of one run."""

    mode: int = DEFAULT
    nodes: tuple[int, ...] = ()
    undo: Callable[[], None] = lambda: None
    """Restores the machine's settings."""
    note: str = ""
    """A warning for the RunRecord; empty: none."""


POLICIES: Registry[Callable[[list[Node], Path], Policy]] = Registry(
    "nearfar.run.policies", "policy"
)


def lacks(sentence: str) -> NearfarError:
    """Return the error for a machine without the requirements (exit code 3)."""
    return NearfarError(sentence, ExitCode.MACHINE_LACKS)


def with_memory(nodes: list[Node]) -> tuple[int, ...]:
    """Return the nodes that have memory."""
    return tuple(node.id for node in nodes if node.memory_bytes)


def far_node(nodes: list[Node]) -> int | None:
    """Return the first node with memory and no CPU; None: all have some."""
    return next((node.id for node in nodes if node.memory_bytes and not node.cpus), None)
