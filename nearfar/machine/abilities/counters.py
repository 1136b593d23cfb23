"""Hardware performance counters: there, and allowed."""

from __future__ import annotations

import errno
import os

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, lacking, usable
from nearfar.machine.syscalls import try_cache_miss_counter
from nearfar.machine.sysfs import Tree

PMU = r"cpu|cpu_core|cpu_atom|armv[0-9].*"
"""Names the kernel gives a processor's own counters on x86, hybrid x86 and Arm."""

USER_LEVEL = 2
"""The highest kernel.perf_event_paranoid that lets a process count its own user-mode events."""


@ABILITIES.register("counters")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Look for a PMU and the paranoia level; on the running machine also open a counter."""
    if not tree.exists("proc/sys/kernel/perf_event_paranoid"):
        return lacking("the kernel was built without perf events")
    if not tree.entries("sys/bus/event_source/devices", PMU):
        if machine.virtualisation == "none":
            return lacking("the kernel has no driver for this processor's counters")
        return lacking(
            f"no hardware events: the hypervisor ({machine.virtualisation}) does not pass them on",
        )
    level = tree.number("proc/sys/kernel/perf_event_paranoid") or 0
    fix = f"sudo sysctl kernel.perf_event_paranoid={USER_LEVEL}"
    if level > USER_LEVEL and not (tree.live and os.geteuid() == 0):
        return lacking(f"kernel.perf_event_paranoid is {level}: only root may count", fix)
    if tree.live:
        error = try_cache_miss_counter()
        if error in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
            return lacking("the processor's counters do not count cache misses here")
        if error:
            return lacking(
                f"perf_event_open was refused ({os.strerror(error)}): a container's seccomp "
                "filter does so",
                "docker run --security-opt seccomp=unconfined ...",
            )
    return usable(f"hardware events of own processes (perf_event_paranoid {level})")
