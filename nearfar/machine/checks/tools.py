"""The tools that set up what is here: installed or not, and whose status cannot be trusted."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, lacks, note, works
from nearfar.machine.persistent_memory import DAX_DEVICES
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import find_tool

LIARS = {
    "ipmctl": "ipmctl load",
    "cxl": "cxl create-region -t ram",
}
"""Tools with a command that was seen to exit with 0 although it failed."""


@CHECKS.register("tools")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Look for each tool that something on this machine needs."""
    if not tree.live:
        return []
    wanted = {}
    if machine.persistent_memory:
        wanted["ndctl"] = "namespaces"
    if tree.entries(DAX_DEVICES, r"dax.+") or machine.persistent_memory:
        wanted["daxctl"] = "device-dax as memory"
    if machine.cxl:
        wanted["cxl"] = "CXL regions"
    if len(machine.nodes) > 1:
        wanted["numactl"] = "running a program on a node"
    if not wanted:
        return absent("nothing here that needs a tool")
    lines: list[Finding] = []
    for tool, why in wanted.items():
        if find_tool(tool) is None:
            lines += lacks(
                f"{tool} is not installed",
                f"no {why}",
                f"sudo apt-get install {tool}",
            )
    lines = lines or works(f"installed: {', '.join(wanted)}")
    for tool, command in LIARS.items():
        if find_tool(tool) and (tool in wanted or machine.persistent_memory):
            lines += note(
                f"`{command}` may end with 0 although it failed",
                "a script goes on as if it had worked",
                symptom="nothing changed, and no error",
            )
    return lines
