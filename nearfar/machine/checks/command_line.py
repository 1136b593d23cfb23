"""The kernel's command line: words that take memory away or change what it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, lacks, note, unknown, works
from nearfar.machine.sysfs import Tree

TRAPS = Path(__file__).with_suffix(".toml")
"""Effect, costs and symptom of each word, or its beginning."""


@CHECKS.register("command-line")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for each trap, and name the memory that `memmap=` set aside."""
    del machine
    text = tree.text_if_allowed("proc/cmdline")
    if text is None:
        return unknown("the kernel's command line cannot be read")
    traps = tomllib.loads(TRAPS.read_text())
    lines: list[Finding] = []
    for word in text.split():
        for trap, of in traps.items():
            if word == trap or (trap.endswith(("=", "fake")) and word.startswith(trap)):
                lines += lacks(
                    f"{word}: {of['what']}",
                    of["costs"],
                    _without(word),
                    of.get("symptom", ""),
                )
        if word.startswith("memmap=") and "!" in word:
            lines += note(
                f"{word}: DRAM set aside as emulated persistent memory",
                "it is as quick as DRAM, and empty after a power loss",
                "nearfar machine convert --to emulated-pmem:0B   # gives it back",
            )
    return lines or works("nothing that changes memory")


def _without(word: str) -> str:
    return f"sudo sed -i 's/{word}//' /etc/default/grub && sudo update-grub   # then reboot"
