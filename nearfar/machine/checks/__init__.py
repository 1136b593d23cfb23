"""What the doctor looks at: one file each, found by itself.

A check takes the tree and what was read from it and returns its findings; one that finds nothing
of its kind on the machine says so (`absent`), so that a reader sees that it was looked for.
The abilities (nearfar/machine/abilities) are checks too: costs.py says what lacking one costs.
"""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.registry import Registry
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.sysfs import Tree

Check = Callable[[Tree, MachineProfile], list[Finding]]

CHECKS: Registry[Check] = Registry("nearfar.machine.checks", "check")


def works(name: str, found: str) -> list[Finding]:
    """Return the finding of something that works."""
    return [Finding(name=name, state="works", found=found)]


def lacks(name: str, found: str, costs: str, mend: str = "", symptom: str = "") -> list[Finding]:
    """Return the finding of something that lacks."""
    return [Finding(name=name, state="lacks", found=found, costs=costs, mend=mend, symptom=symptom)]


def note(name: str, found: str, costs: str, mend: str = "", symptom: str = "") -> list[Finding]:
    """Return something that is not wrong, but misleads who does not know it."""
    return [Finding(name=name, state="note", found=found, costs=costs, mend=mend, symptom=symptom)]


def unknown(name: str, why: str, mend: str = "") -> list[Finding]:
    """Return what this user or this tree cannot tell, and the command that could."""
    return [Finding(name=name, state="unknown", found=why, mend=mend)]


def absent(name: str, what: str) -> list[Finding]:
    """Return that the machine has no such thing."""
    return [Finding(name=name, state="absent", found=what)]
