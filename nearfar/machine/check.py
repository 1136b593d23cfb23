"""The doctor: every check and every ability of a machine as findings."""

from __future__ import annotations

from pathlib import Path

from nearfar.documents import MachineProfile, producer
from nearfar.documents.machine import Ability
from nearfar.documents.machine_check import Finding, MachineCheck
from nearfar.machine.checks import CHECKS
from nearfar.machine.costs import COSTS
from nearfar.machine.read import read_machine
from nearfar.machine.sysfs import Tree


def check_machine(root: Path = Path("/")) -> MachineCheck:
    """Return what works and what is missing on the machine whose `sys` and `proc` lie in `root`."""
    machine = read_machine(root)
    tree = Tree(root)
    findings = [_of_ability(ability) for ability in machine.abilities]
    findings += _of_checks(tree, machine)
    findings.sort(key=lambda finding: finding.name)
    return MachineCheck(producer=producer(), findings=findings)


def _of_checks(tree: Tree, machine: MachineProfile) -> list[Finding]:
    return [line for name in CHECKS.names() for line in CHECKS.get(name)(tree, machine)]


def _of_ability(ability: Ability) -> Finding:
    costs, symptom = ("", "") if ability.usable else COSTS.get(ability.name, ("", ""))
    return Finding(
        name=ability.name,
        state="works" if ability.usable else "lacks",
        found=ability.detail,
        costs=costs,
        mend=ability.remedy,
        symptom=symptom,
    )
