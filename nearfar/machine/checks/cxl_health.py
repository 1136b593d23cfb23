"""Health of CXL memory devices, as `cxl list -H` tells root."""

from __future__ import annotations

import json
from typing import Any

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, unknown, works
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import ask

WRONG = (
    "maintenance_needed",
    "performance_degraded",
    "hw_replacement_needed",
    "media_not_ready",
    "data_lost",
    "media_powerloss_persistence_loss",
    "media_shutdown_persistence_loss",
    "media_persistence_loss_imminent",
    "media_powerloss_data_loss",
    "media_shutdown_data_loss",
    "media_data_loss_imminent",
)
"""The keys of cxl-list's health that are true when something is wrong (cxl-list(1), -H)."""


@CHECKS.register("cxl-health")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Ask cxl for every memory device's health."""
    if not machine.cxl:
        return absent("no CXL memory device")
    answer = ask(tree, "cxl", "list", "-MH")
    devices = _devices(answer.text)
    told = [device for device in devices if isinstance(device.get("health"), dict)]
    if not told:
        why = {
            "not installed": "cxl is not installed",
            "not captured": "the captured tree holds no answer of it",
        }.get(answer.problem, "root is needed")
        return unknown(f"cxl shows no health of the devices ({why})", "sudo cxl list -MH")
    lines: list[Finding] = []
    for device in told:
        wrong = [key for key in WRONG if device["health"].get(key) is True]
        if wrong:
            lines += lacks(
                f"{device.get('memdev')}: {', '.join(wrong)}",
                "it is slower than it should be, or about to lose data",
                f"sudo cxl list -MH -m {device.get('memdev')}",
            )
        else:
            lines += works(f"{device.get('memdev')}: nothing is wrong")
    return lines


def _devices(text: str) -> list[dict[str, Any]]:
    try:
        decoded = json.loads(text or "[]")
    except ValueError:
        return []
    decoded = decoded if isinstance(decoded, list) else [decoded]
    return [entry for entry in decoded if isinstance(entry, dict)]
