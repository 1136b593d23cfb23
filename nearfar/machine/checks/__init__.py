"""Checks of `nearfar machine --check`: one file each, found by the registry.

A check takes the tree and the profile read from it and returns its findings. A check without an
object on this machine reports `absent`, so readers see that it ran. Findings get the name that
their check is registered by. The abilities (nearfar/machine/abilities) are checks too: costs.toml
gives the loss if one is missing.
"""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base.registry import Registry
from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.sysfs import Tree

Check = Callable[[Tree, MachineProfile], list[Finding]]

CHECKS: Registry[Check] = Registry("nearfar.machine.checks", "check")


def works(text: str) -> list[Finding]:
    """Return the finding of something that works."""
    return [Finding(name="", state="works", found=text)]


def lacks(text: str, costs: str, fix: str = "", symptom: str = "") -> list[Finding]:
    """Return the finding of something missing or wrong."""
    return [Finding(name="", state="lacks", found=text, costs=costs, fix=fix, symptom=symptom)]


def note(text: str, costs: str, fix: str = "", symptom: str = "") -> list[Finding]:
    """Return a finding about something that works, but may mislead users."""
    return [Finding(name="", state="note", found=text, costs=costs, fix=fix, symptom=symptom)]


def unknown(why: str, fix: str = "") -> list[Finding]:
    """Return a finding that could not be made here, and the command that could make it."""
    return [Finding(name="", state="unknown", found=why, fix=fix)]


def absent(what: str) -> list[Finding]:
    """Return the finding of something that the machine does not have."""
    return [Finding(name="", state="absent", found=what)]
