"""What every child process is given before it starts: a core, pages, a node, and our end as its."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

_PDEATHSIG, _THP_DISABLE = 1, 41
"""PR_SET_PDEATHSIG and PR_SET_THP_DISABLE of linux/prctl.h."""

_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
"""Number of the system call set_mempolicy, by machine."""

_BIND = 2
"""MPOL_BIND of linux/mempolicy.h."""

_MOST_NODES = 1024

libc = ctypes.CDLL(None, use_errno=True)


def prepare_child(
    cpus: set[int] | None = None, *, small_pages: bool = False, node: int | None = None
) -> Callable[[], None]:
    """Return what the child does before its program: dies with us, `cpus`, pages, node.

    Pages and node are inherited by whatever it starts.
    """
    mask = (ctypes.c_ulong * (_MOST_NODES // 64))()
    number = 0
    if node is not None:
        mask[node // 64] = 1 << (node % 64)
        number = _SET_MEMPOLICY[os.uname().machine]
    parent = os.getpid()

    def before() -> None:
        libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        if small_pages:
            libc.prctl(_THP_DISABLE, 1, 0, 0, 0)
        if node is not None and libc.syscall(number, _BIND, mask, ctypes.c_ulong(_MOST_NODES)):
            raise OSError(ctypes.get_errno(), "cannot bind memory to the node")

    return before


def can_bind() -> bool:
    """Say whether whole programs can be bound to a node on this machine."""
    return os.uname().machine in _SET_MEMPOLICY
