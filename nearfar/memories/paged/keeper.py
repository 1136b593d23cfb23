"""Keeps a program alive at its memory limit when the kernel would kill it although swap has room.

If a program touched all of its pages since the kernel's last scan, the kernel finds no page to
evict, reports out of memory and kills the program. (Version 1 of control groups did so in 4 of 10
runs of random reads at half of their memory.) With this module, the process waits, gets a few more
pages for some milliseconds, and continues. It is killed only if that does not help, as with locked
pages. In version 2 a second limit, which slows processes but does not kill them, does the same.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nearfar.base.errors import NearfarError
from nearfar.memories.paged.acts import write
from nearfar.memories.paged.group import ControlGroup

RELIEF_BYTES = 128 << 10
"""As many pages as the kernel sends away at once."""
RELIEF_S = 0.01
MAX_IN_VAIN = 20
"""Reliefs in a row without a page from swap, after which the program cannot go on."""
LOOK_S = 0.2
"""Time between two looks at the locked pages."""
LOCKED_SHARE = 0.9
"""Share of the limit that may be locked: a program needs some pages that come and go."""
HARD_SHARE = 1.05
"""Limit beyond which version 2 kills, over the one at which it slows down."""


@dataclass
class Keeper:
    """Counts the times at which a group got more pages."""

    reliefs: int = 0


Way = Literal["kernel", "memory.high"]
"""memory.high: use only the limit at which version 2 slows a program down."""


@contextlib.contextmanager
def kept(group: ControlGroup, budget_bytes: int, way: Way = "kernel") -> Iterator[Keeper]:
    """Limit `group` to `budget_bytes` and keep its program alive while the block runs."""
    keeper = Keeper()
    if way == "memory.high":
        write(group.path / "memory.high", str(budget_bytes))
        yield keeper
        return
    if group.place.version == 2:
        group.limit(round(HARD_SHARE * budget_bytes))
        with contextlib.suppress(OSError):
            write(group.path / "memory.high", str(budget_bytes))
        yield keeper
        return
    group.limit(budget_bytes)
    try:
        write(group.path / "memory.oom_control", "1")
    except OSError:  # this kernel cannot disable its out-of-memory killer
        yield keeper
        return
    over = os.eventfd(0)
    thread = threading.Thread(target=_keep, args=(group, budget_bytes, keeper, over), daemon=True)
    thread.start()
    try:
        yield keeper
    finally:
        os.eventfd_write(over, 1)
        thread.join()
        os.close(over)


def _keep(group: ControlGroup, budget_bytes: int, keeper: Keeper, over: int) -> None:
    """Relieve the group whenever it is out of memory, until `over` (an eventfd) is written."""
    event = os.eventfd(0)
    control = os.open(group.path / "memory.oom_control", os.O_RDONLY)
    in_vain = last_ins = 0
    try:
        write(group.path / "cgroup.event_control", f"{event} {control}")
        while over not in (ready := select.select([event, over], [], [], LOOK_S)[0]):
            if event in ready:
                os.eventfd_read(event)
            if group.counts().locked_bytes > LOCKED_SHARE * budget_bytes:
                # If a call locks too much memory, the kernel retries forever without an error.
                write(group.path / "memory.oom_control", "0")
                return
            while _is_out_of_memory(group) and over not in select.select([over], [], [], 0)[0]:
                ins = group.counts().swap_ins
                in_vain = 0 if ins > last_ins else in_vain + 1
                last_ins = ins
                if in_vain > MAX_IN_VAIN:
                    write(group.path / "memory.oom_control", "0")
                    return
                keeper.reliefs += 1
                _relieve(group, budget_bytes)
    finally:
        os.close(event)
        os.close(control)


def _is_out_of_memory(group: ControlGroup) -> bool:
    return "under_oom 1" in (group.path / "memory.oom_control").read_text()


def _relieve(group: ControlGroup, budget_bytes: int) -> None:
    group.limit(budget_bytes + RELIEF_BYTES)
    time.sleep(RELIEF_S)
    for _ in range(MAX_IN_VAIN):
        try:
            group.limit(budget_bytes)
        except NearfarError:  # the kernel can evict no page now
            time.sleep(RELIEF_S)
        else:
            return
