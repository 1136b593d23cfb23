"""The kernel's command line: words that take memory away or change what it is."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, lacks, note, unknown, works
from nearfar.machine.sysfs import Tree

NAME = "command-line"
TRAPS = {
    "efi=nosoftreserve": (
        "memory for special use (CXL, HBM) became ordinary memory at boot",
        "its node may share a tier with DRAM, and the kernel's own data may lie in it",
        "all nodes in one tier, although the kernel has tiers",
    ),
    "numa=off": (
        "all memory is one node",
        "no program can say in which memory its data lie",
        "numactl -H shows one node on a machine of two sockets",
    ),
    "numa=fake": ("nodes are made up", "distances and latencies between them mean nothing", ""),
    "mem=": ("memory beyond a limit is cut off", "the machine has less than was built in", ""),
    "transparent_hugepage=never": (
        "transparent huge pages are off from boot on",
        "random accesses over a large heap pay a page walk each",
        "",
    ),
    "cgroup_disable=memory": ("memory cgroups are off", "no container's near share is kept", ""),
    "nohmat": ("the HMAT is not read", "no figures of nodes, and no order of tiers", ""),
}
"""Word, or its beginning, to: what it does, what that costs, how it shows."""


@CHECKS.register(NAME)
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for each trap, and name the memory that `memmap=` set aside."""
    del machine
    text = tree.text_if_allowed("proc/cmdline")
    if text is None:
        return unknown(NAME, "the kernel's command line cannot be read")
    lines: list[Finding] = []
    for word in text.split():
        for trap, (what, costs, symptom) in TRAPS.items():
            if word == trap or (trap.endswith(("=", "fake")) and word.startswith(trap)):
                lines += lacks(NAME, f"{word}: {what}", costs, _without(word), symptom)
        if word.startswith("memmap=") and "!" in word:
            lines += note(
                NAME,
                f"{word}: DRAM set aside as emulated persistent memory",
                "it is as quick as DRAM, and empty after a power loss",
                "nearfar machine convert --to emulated-pmem:0B   # gives it back",
            )
    return lines or works(NAME, "nothing that changes memory")


def _without(word: str) -> str:
    return f"sudo sed -i 's/{word}//' /etc/default/grub && sudo update-grub   # then reboot"
