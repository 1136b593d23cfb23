"""userfaultfd: page faults handled by a program, the way to emulate far memory by pages."""

from __future__ import annotations

import os

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, kernel_name, lacking, usable
from nearfar.machine.syscalls import try_userfaultfd
from nearfar.machine.sysfs import Tree

SWITCH = "proc/sys/vm/unprivileged_userfaultfd"
USER_MODE = (5, 11)
"""The kernel that lets everyone handle faults of user mode, whatever the switch says."""


@ABILITIES.register("userfaultfd")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Return whether user-mode faults can be handled; on the running machine, by trying it."""
    del machine
    if not tree.exists(SWITCH):
        return lacking(f"{kernel_name(tree)} here was built without CONFIG_USERFAULTFD")
    if tree.live:
        error = try_userfaultfd()
        if error:
            return lacking(
                f"it was refused ({os.strerror(error)})",
                "sudo sysctl vm.unprivileged_userfaultfd=1",
            )
        return usable("for faults of user mode")
    version = tree.kernel()
    if tree.number(SWITCH) == 0 and (version is None or version < USER_MODE):
        return lacking("only root may use it", "sudo sysctl vm.unprivileged_userfaultfd=1")
    return usable("for faults of user mode")
