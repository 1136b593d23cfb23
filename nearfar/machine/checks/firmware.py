"""Firmware: the machine's, and that of its memory modules, which should be one version."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine import cxl
from nearfar.machine.checks import CHECKS, lacks, unknown, works
from nearfar.machine.ipmctl import table
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import ask


@CHECKS.register("firmware")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Name the BIOS; compare the versions of CXL devices and of Optane modules."""
    parts = [
        tree.text_if_allowed(f"sys/class/dmi/id/{key}") or ""
        for key in ("bios_vendor", "bios_version", "bios_date")
    ]
    bios = " ".join(part for part in parts if part)
    lines = (
        works(f"of the machine: {bios}")
        if bios
        else unknown("the machine's firmware does not name itself", "sudo dmidecode -t bios")
    )
    versions = {
        device.device: tree.text(f"{cxl.DEVICES}/{device.device}/firmware_version")
        for device in machine.cxl
    }
    lines += _one_version("CXL devices", versions)
    if machine.persistent_memory or tree.entries("sys/bus/nd/devices", "nmem[0-9]+"):
        rows = table(ask(tree, "ipmctl", "show", "-dimm").text)
        lines += _one_version(
            "PMem modules", {row.get("DimmID", "?"): row.get("FWVersion") for row in rows}
        )
    return lines


def _one_version(what: str, versions: dict[str, str | None]) -> list[Finding]:
    told = {device: version for device, version in versions.items() if version}
    if not told:
        return []
    shown = ", ".join(f"{device} {version}" for device, version in told.items())
    if len(set(told.values())) == 1:
        return works(f"of {what}: {shown}")
    return lacks(
        f"{what} differ in version: {shown}",
        "modules of one interleave set run at the pace, and with the faults, of the oldest",
        "sudo ipmctl show -firmware" if "PMem" in what else "cxl list -MF",
    )
