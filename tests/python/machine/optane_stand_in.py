"""A simulated machine with Optane modules: its tree, and tools that change it.

ipmctl answers as its manual pages and listings of users show; ndctl, mkfs and mount change the tree
as the real tools change sysfs. The virtual machine tests the real ndctl.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from machine_trees import expand

from nearfar.machine.convert.draft import DraftStep

GIB = 1 << 30
TREE = """
sys/devices/system/cpu/online = 0-1
sys/devices/system/node/online = 0
sys/devices/system/node/node0/cpulist = 0-1
sys/devices/system/node/node0/meminfo:
    Node 0 MemTotal: 67108864 kB
    Node 0 MemFree: 60000000 kB
proc/sys/kernel/random/boot_id = first
proc/mounts =
proc/sys/kernel/osrelease = 5.4.0-42-generic
tools/ipmctl_show_-system_-capabilities:
    PlatformConfigSupported=1
    Alignment=1.000 GiB
    AllowedVolatileMode=Memory Mode
    CurrentVolatileMode=1LM
    AllowedAppDirectMode=App Direct
    ModesSupported=1LM, Memory Mode, App Direct
"""
NAMESPACES_EXIST = (
    "Create region configuration goal failed: Error 124 - Namespaces exist on specified DIMMs. "
    "They have to be removed before running this command.\n"
)
DIMMS = ("0x0001", "0x0101")


class StandIn:
    """Simulates two modules of 126 GiB on a socket with 64 GiB of DRAM, as in the guide."""

    def __init__(self, root: Path, memory_gib: int = 0) -> None:
        self.root = root
        self.goal_gib: int | None = None
        self.boots = 1
        self.done: list[str] = []
        self.lie: str = ""
        """The tool that exits with 0 and does nothing."""
        expand(TREE, root)
        self._divide(memory_gib)

    def run(self, step: DraftStep) -> str:
        """Do what the command does; return its output."""
        self.done.append(step.command())
        tool, *rest = step.argv
        if tool == self.lie:
            return "Error: something went wrong\n"
        if tool == "ipmctl":
            return self._ipmctl(rest)
        handler = {"ndctl": self._ndctl, "mount": self._mount}.get(tool)
        if handler:
            handler(rest)
        elif tool == "umount":
            (self.root / "proc/mounts").write_text("")
        elif tool.startswith("mkfs"):
            device = self.root / rest[-1].lstrip("/")
            device.parent.mkdir(exist_ok=True)
            device.write_bytes(bytes(1080) + b"\x53\xef")
        elif tool == "mkdir":
            (self.root / rest[-1].lstrip("/")).mkdir(parents=True)
        return ""

    def reboot(self) -> None:
        """Let the firmware apply the goal."""
        self.boots += 1
        self._write("proc/sys/kernel/random/boot_id", f"boot {self.boots}")
        if self.goal_gib is not None:
            self._divide(self.goal_gib)

    def _ipmctl(self, rest: list[str]) -> str:
        if rest[0] == "delete":
            self.goal_gib = None
            self._goal()
            return ""
        if self._namespace().exists():
            return NAMESPACES_EXIST
        values = dict(word.split("=") for word in rest if "=" in word)
        self.goal_gib = 252 * int(values.get("MemoryMode", "0")) // 100
        self._goal()
        return "A reboot is required to process new memory allocation goals.\n"

    def _ndctl(self, rest: list[str]) -> None:
        if rest[0] == "disable-namespace":
            (self._namespace() / "holder").unlink(missing_ok=True)
        elif rest[0] == "destroy-namespace":
            shutil.rmtree(self._namespace())
        elif rest[0] == "disable-region":
            (self.root / "sys/bus/nd/devices/region0/driver").unlink()
        elif rest[0] == "create-namespace":
            mode = {"--mode=fsdax": "memory", "--mode=devdax": "dax"}[
                next(word for word in rest if word.startswith("--mode="))
            ]
            self._write("sys/bus/nd/devices/namespace0.0/mode", mode)
            self._write("sys/bus/nd/devices/namespace0.0/size", str(100 * GIB))
            self._write("sys/bus/nd/devices/namespace0.0/holder", "pfn0.0")
            (self.root / "sys/bus/nd/devices/pfn0.0/block/pmem0").mkdir(parents=True, exist_ok=True)

    def _mount(self, rest: list[str]) -> None:
        self._write("proc/mounts", f"{rest[2]} {rest[3]} ext4 rw,relatime,dax=always 0 0")

    def _namespace(self) -> Path:
        return self.root / "sys/bus/nd/devices/namespace0.0"

    def _divide(self, memory_gib: int) -> None:
        direct = 252 - memory_gib
        self._write(
            "tools/ipmctl_show_-memoryresources",
            " MemoryType   | DDR         | PMemModule  | Total\n"
            "========================================================\n"
            f" Volatile     | {0 if memory_gib else 64}.000 GiB | {memory_gib}.000 GiB | 0 B\n"
            f" AppDirect    | -           | {direct}.000 GiB | {direct}.000 GiB\n"
            f" Cache        | {64 if memory_gib else 0}.000 GiB | -           | 0 B\n"
            " Inaccessible | 0.000 GiB   | 0.844 GiB   | 0.844 GiB\n"
            " Physical     | 64.000 GiB  | 252.844 GiB | 316.844 GiB\n",
        )
        self.goal_gib = None
        self._goal()
        region = self.root / "sys/bus/nd/devices/region0"
        shutil.rmtree(region, ignore_errors=True)
        if direct:
            for key, value in (("size", direct * GIB), ("numa_node", 0), ("target_node", 1)):
                self._write(f"sys/bus/nd/devices/region0/{key}", str(value))
            (region / "driver").symlink_to("../../drivers/nd_region")

    def _goal(self) -> None:
        text = (
            "There are no goal configs defined in the system.\n"
            "Please use 'show -region' to display currently valid persistent memory regions.\n"
        )
        if self.goal_gib is not None:
            memory, direct = self.goal_gib / 2, 126 - self.goal_gib / 2
            rows = "".join(
                f" 0x0000   | {dimm} | {memory:.3f} GiB | {direct:.3f} GiB | 0.000 GiB\n"
                for dimm in DIMMS
            )
            text = (
                " SocketID | DimmID | MemorySize  | AppDirect1Size | AppDirect2Size\n"
                "====================================================================\n"
                f"{rows}A reboot is required to process new memory allocation goals.\n"
            )
        self._write("tools/ipmctl_show_-goal", text)

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
