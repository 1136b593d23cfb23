"""Device-dax: may this user open it, and can it become memory of a node."""

from __future__ import annotations

import os

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, works
from nearfar.machine.persistent_memory import DAX_DEVICES, is_system_ram
from nearfar.machine.sysfs import Tree


@CHECKS.register("devdax")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look at every device that is not memory of a node yet."""
    del machine
    devices = [
        dax
        for dax in tree.entries(DAX_DEVICES, r"dax[0-9]+\.[0-9]+")
        if not is_system_ram(tree, dax) and tree.number(f"{DAX_DEVICES}/{dax}/size") != 0
    ]
    if not devices:
        legacy = tree.entries("sys/class/dax", r"dax[0-9]+\.[0-9]+")
        if legacy and not tree.exists("sys/bus/dax"):
            return lacks(
                f"{', '.join(legacy)} use the old device model (/sys/class/dax)",
                "they cannot become memory of a node",
                "sudo daxctl migrate-device-model   # then reboot",
            )
        return absent("no device-dax")
    lines: list[Finding] = []
    for dax in devices:
        path = f"/dev/{dax}"
        if tree.live and not os.access(path, os.R_OK | os.W_OK):
            lines += lacks(
                f"{path} may not be opened by this user",
                "nearfar cannot measure it, and no program of this user can use it",
                f"sudo chown {os.environ.get('USER', str(os.geteuid()))} {path}",
            )
        else:
            lines += works(f"devdax:{path}")
    return lines
