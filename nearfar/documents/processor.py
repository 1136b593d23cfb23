"""The processor's name and ID, from the rows of /proc/cpuinfo."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")

ARM_IMPLEMENTERS = {"0x41": "Arm", "0x4e": "NVIDIA", "0xc0": "Ampere", "0x48": "HiSilicon"}
"""CPU implementer codes of /proc/cpuinfo, from Linux' arch/arm64/include/asm/cputype.h."""


def first_processor(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Return the rows of the first processor; empty where there are none."""
    rows: dict[str, str] = {}
    try:
        with cpuinfo.open() as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if not key.strip():
                    break
                rows[key.strip()] = value.strip()
    except OSError:
        pass
    return rows


def processor_name(rows: Mapping[str, str]) -> str:
    """Return the name that the kernel gives, else implementer and part; empty: unknown."""
    if "model name" in rows:
        return rows["model name"]
    implementer = rows.get("CPU implementer", "")
    if not implementer:
        return ""
    maker = ARM_IMPLEMENTERS.get(implementer.lower(), f"implementer {implementer}")
    return f"{maker} part {rows.get('CPU part', 'unknown')}"


def processor_id(rows: Mapping[str, str]) -> str:
    """Return vendor, family, model and stepping as perf writes them: GenuineIntel-6-55-7.

    Hypervisors that hide the name mostly pass these on. Of Arm cores it is implementer and part,
    0x41-0xd0c; empty: unknown.
    """
    try:
        family, model, stepping = (int(rows[key]) for key in ("cpu family", "model", "stepping"))
        return f"{rows['vendor_id']}-{family}-{model:X}-{stepping:X}"
    except (KeyError, ValueError):
        pass
    parts = [rows.get(key, "").lower() for key in ("CPU implementer", "CPU part")]
    return "-".join(parts) if all(parts) else ""


def cpu_model(cpuinfo: Path = CPUINFO) -> str:
    """Return this processor's name, or the architecture where the kernel gives none."""
    return processor_name(first_processor(cpuinfo)) or platform.machine()
