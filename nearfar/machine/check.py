"""`nearfar machine --check`: every check and every ability of a machine as findings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from nearfar.documents import MachineProfile, producer
from nearfar.documents.machine import Ability
from nearfar.documents.machine_check import Finding, MachineCheck
from nearfar.machine.checks import CHECKS
from nearfar.machine.read import read_machine
from nearfar.machine.sysfs import Tree

COSTS = Path(__file__).with_name("costs.toml")
"""File with the cost and the symptom of each missing ability."""


def check_machine(root: Path = Path("/")) -> MachineCheck:
    """Return what works and what is missing; `root` has the machine's folders `sys` and `proc`."""
    machine = read_machine(root)
    tree = Tree(root)
    costs = tomllib.loads(COSTS.read_text())
    findings = [_of_ability(ability, costs) for ability in machine.abilities]
    findings += _of_checks(tree, machine)
    findings.sort(key=lambda finding: finding.name)
    return MachineCheck(producer=producer(), findings=findings)


def _of_checks(tree: Tree, machine: MachineProfile) -> list[Finding]:
    return [
        msgspec.structs.replace(line, name=name)
        for name in CHECKS.names()
        for line in CHECKS.get(name)(tree, machine)
    ]


def _of_ability(ability: Ability, costs: dict[str, dict[str, str]]) -> Finding:
    lost = {} if ability.usable else costs.get(ability.name, {})
    return Finding(
        name=ability.name,
        state="works" if ability.usable else "lacks",
        found=ability.detail,
        costs=lost.get("costs", ""),
        fix=ability.remedy,
        symptom=lost.get("symptom", ""),
    )
