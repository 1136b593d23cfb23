"""Sensors of persistent-memory modules: health, life, temperature, as ipmctl or ndctl tell root."""

from __future__ import annotations

import json
from typing import Any

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, unknown, works
from nearfar.machine.ipmctl import table
from nearfar.machine.persistent_memory import DEVICES
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import ask

GOOD = ("normal", "healthy", "ok", "")
COSTS = (
    "a module that is hot, worn or failing slows down or stops: its measurements are not the "
    "memory's, and its data should be copied away"
)
LIFE_PERCENT = 10
"""Remaining life, %, below which figures and data are at risk. Makers set the alarm for spare
capacity, which ndctl and ipmctl show, between 5 and 50 %."""


@CHECKS.register("pmem-sensors")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Ask ipmctl, and ndctl where ipmctl knows no module."""
    del machine
    if not tree.entries(DEVICES, r"nmem[0-9]+"):
        return absent("no persistent-memory module")
    rows = table(ask(tree, "ipmctl", "show", "-sensor").text)
    if rows:
        return _ipmctl(rows)
    answer = ask(tree, "ndctl", "list", "-DH")
    modules = _modules(answer.text)
    if any("health" in module for module in modules):
        return _ndctl([module for module in modules if "health" in module])
    if modules:
        return unknown(
            "ndctl shows no health of the modules: root is needed, or the module has no sensors "
            "(virtual ones have none)",
            "sudo ndctl list -DH",
        )
    why = {
        "not installed": "ndctl is not installed",
        "not captured": "the captured tree holds no answer of ndctl",
    }.get(answer.problem, "ndctl shows no module")
    return unknown(why, "sudo ndctl list -DH")


def _ipmctl(rows: list[dict[str, str]]) -> list[Finding]:
    lines: list[Finding] = []
    for row in rows:
        value, state = row.get("CurrentValue", ""), row.get("CurrentState", "")
        bad = state.lower() not in GOOD
        if row.get("Type") == "Health":
            bad = bad or value.lower() not in GOOD
        if row.get("Type") == "PercentageRemaining":
            digits = value.rstrip("% ")
            bad = bad or (digits.isdigit() and int(digits) < LIFE_PERCENT)
        if bad:
            lines += lacks(
                f"module {row.get('DimmID')}: {row.get('Type')} is {value} {state}".rstrip(),
                COSTS,
                f"sudo ipmctl show -a -sensor -dimm {row.get('DimmID')}",
            )
    shown = ", ".join(
        f"{row.get('DimmID')} {row.get('CurrentValue')}"
        for row in rows
        if row.get("Type") in ("Health", "MediaTemperature", "PercentageRemaining")
    )
    return lines or works(shown)


def _ndctl(modules: list[dict[str, Any]]) -> list[Finding]:
    lines: list[Finding] = []
    for module in modules:
        health = module["health"]
        alarms = [key for key in health if key.startswith("alarm_") and health[key] is True]
        if str(health.get("health_state", "")).lower() not in GOOD or alarms:
            lines += lacks(
                f"{module.get('dev')}: {health.get('health_state')} {' '.join(alarms)}".rstrip(),
                COSTS,
                f"sudo ndctl list -DH -d {module.get('dev')}",
            )
    shown = ", ".join(f"{m.get('dev')} {m['health'].get('health_state')}" for m in modules)
    return lines or works(shown)


def _modules(text: str) -> list[dict[str, Any]]:
    """Return ndctl's modules from its output: a single module, a list, or buses with modules."""
    try:
        decoded = json.loads(text or "[]")
    except ValueError:
        return []
    decoded = decoded if isinstance(decoded, list) else [decoded]
    modules = [entry for entry in decoded if isinstance(entry, dict)]
    nested = [inner for entry in modules for inner in entry.get("dimms", [])]
    return nested or [entry for entry in modules if str(entry.get("dev", "")).startswith("nmem")]
