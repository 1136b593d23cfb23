"""ipmctl's output as numbers: tables with ``|``, or ``Key=value`` lines of its first versions.

The formats are those of ipmctl's manual pages (show -memoryresources, -sensor, -dimm, -goal,
-system -capabilities) and of outputs that users published.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import ask

UNITS = {"B": 1, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
NO_GOAL = "no goal configs"
REBOOT = "reboot is required"


@dataclass(frozen=True)
class Resources:
    """How the modules' capacity is divided, bytes."""

    memory_mode_bytes: int
    app_direct_bytes: int
    inaccessible_bytes: int
    modules_bytes: int
    dram_bytes: int | None


def resources(tree: Tree) -> Resources | None:
    """Return the division of the modules' capacity; None without an answer of ipmctl or modules."""
    text = ask(tree, "ipmctl", "show", "-memoryresources").text
    rows = {row["MemoryType"]: row for row in table(text) if "MemoryType" in row}
    if rows:
        # The middle column is called DCPMM or PMemModule.
        (column,) = [key for key in rows["Physical"] if key not in ("MemoryType", "DDR", "Total")]
        sizes = {kind: size_bytes(row[column]) or 0 for kind, row in rows.items()}
        return Resources(
            memory_mode_bytes=sizes.get("Volatile", 0),
            app_direct_bytes=sizes.get("AppDirect", 0),
            inaccessible_bytes=sizes.get("Inaccessible", 0),
            modules_bytes=sizes["Physical"],
            dram_bytes=size_bytes(rows["Physical"]["DDR"]),
        )
    values = settings(text)
    if "Capacity" not in values:
        return None
    return Resources(
        memory_mode_bytes=size_bytes(values.get("MemoryCapacity", "")) or 0,
        app_direct_bytes=size_bytes(values.get("AppDirectCapacity", "")) or 0,
        inaccessible_bytes=(size_bytes(values.get("InaccessibleCapacity", "")) or 0)
        + (size_bytes(values.get("UnconfiguredCapacity", "")) or 0),
        modules_bytes=size_bytes(values["Capacity"]) or 0,
        dram_bytes=None,
    )


def goal_waits(tree: Tree) -> bool | None:
    """Return whether a goal waits for the next boot; None if ipmctl does not report it."""
    text = ask(tree, "ipmctl", "show", "-goal").text
    if NO_GOAL in text or "no result" in text.lower():
        return False
    return True if REBOOT in text or table(text) else None


def capabilities(tree: Tree) -> dict[str, str]:
    """Return what the platform supports, such as ModesSupported; empty without an answer."""
    return settings(ask(tree, "ipmctl", "show", "-system", "-capabilities").text)


def table(text: str) -> list[dict[str, str]]:
    """Return the rows of a ``|`` table below its line of ``=``."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if number and re.fullmatch(r"\s*={5,}\s*", line):
            keys = [key.strip() for key in lines[number - 1].split("|")]
            cells = [[cell.strip() for cell in row.split("|")] for row in lines[number + 1 :]]
            return [dict(zip(keys, row, strict=True)) for row in cells if len(row) == len(keys) > 1]
    return []


def settings(text: str) -> dict[str, str]:
    """Return the ``Key=value`` lines."""
    matches = re.finditer(r"^[ \t-]*([A-Za-z0-9]+)=(.*)$", text, re.MULTILINE)
    return {match[1]: match[2].strip() for match in matches}


def size_bytes(text: str) -> int | None:
    """Return ``126.422 GiB`` in bytes; None for ``-`` and what is no size."""
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]+)", text.strip())
    if match is None or match[2] not in UNITS:
        return None
    return round(float(match[1]) * UNITS[match[2]])


def goal_share(tree: Tree) -> float | None:
    """Return the share of Memory Mode in the goal that waits; None if no goal waits."""
    rows = table(ask(tree, "ipmctl", "show", "-goal").text)
    memory = sum(size_bytes(row.get("MemorySize", "")) or 0 for row in rows)
    direct = sum(
        size_bytes(row.get(key, "")) or 0
        for row in rows
        for key in ("AppDirect1Size", "AppDirect2Size")
    )
    return memory / (memory + direct) if memory + direct else None
