"""The Optane guide's machine in each of its states, as the kernel would show it in sysfs.

The files are made by hand from the guide's platform table, for machines without such hardware.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nearfar_studies.figures import published

State = Literal["memory-mode", "region", "not mounted", "without dax", "app-direct"]
STATES: tuple[State, ...] = ("memory-mode", "region", "not mounted", "without dax", "app-direct")

CPU = "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz"
CORES = 16

ND = "sys/bus/nd/devices"


def write(root: Path, state: State) -> Path:
    """Write the tree of `state` into `root` and return it."""
    guide = published("optane-guide")
    dram, pmem = (int(guide.value(key)) for key in ("dram_bytes", "pmem_bytes"))
    memory = pmem if state == "memory-mode" else dram
    files = {
        "proc/cpuinfo": f"vendor_id : GenuineIntel\nmodel name : {CPU}\nflags : avx2 avx512f clwb",
        "proc/mounts": _mounts(state),
        "sys/devices/system/cpu/online": f"0-{CORES - 1}",
        "sys/devices/system/node/online": "0",
        "sys/devices/system/node/node0/cpulist": f"0-{CORES - 1}",
        "sys/devices/system/node/node0/distance": "10",
        "sys/devices/system/node/node0/meminfo": (
            f"Node 0 MemTotal: {memory >> 10} kB\nNode 0 MemFree: {memory >> 10} kB"
        ),
    }
    if state == "memory-mode":
        cache = "sys/devices/system/node/node0/memory_side_cache/index1"
        files[f"{cache}/size"] = str(dram)
        files[f"{cache}/line_size"] = "64"
    else:
        files[f"{ND}/region0/size"] = str(pmem)
        files[f"{ND}/region0/numa_node"] = "0"
        files[f"{ND}/region0/target_node"] = "1"
    if state in ("not mounted", "without dax", "app-direct"):
        files[f"{ND}/namespace0.0/size"] = str(pmem)
        files[f"{ND}/namespace0.0/mode"] = "memory"
        files[f"{ND}/namespace0.0/holder"] = "pfn0.0"
        files[f"{ND}/pfn0.0/block/pmem0/size"] = str(pmem // 512)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def _mounts(state: State) -> str:
    root = "/dev/sda1 / ext4 rw 0 0"
    option = {"without dax": "rw", "app-direct": "rw,dax=always"}.get(state)
    return root if option is None else f"{root}\n/dev/pmem0 /mnt/pmem0 ext4 {option} 0 0"


SECONDS = 120.0
"""Time limit of a verb; when it is exceeded, the verb is ended and this is reported."""


@dataclass(frozen=True)
class ReplayedCommand:
    """One command and its output."""

    command: str
    exit_code: int | None
    """None: it took too long."""
    out: str
    error: str

    def lines(self, *starts: str) -> str:
        """Return the printed lines that begin with any of `starts`, with single blanks."""
        lines = [" ".join(line.split()) for line in self.out.splitlines()]
        return "\n".join(line for line in lines if line.startswith(starts))

    def ended(self) -> str:
        """Return how it ended: its last line on standard error, or a note on the time limit."""
        if self.exit_code is None:
            return f"took more than {SECONDS:.0f} s"
        last = self.error.strip().splitlines()
        return last[-1] if last else ""


def replay(arguments: Sequence[str], folder: Path) -> ReplayedCommand:
    """Run ``nearfar ARGUMENTS`` in `folder`."""
    command = shlex.join(["nearfar", *arguments])
    environment = os.environ | {"COLUMNS": "200", "TERM": "dumb"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return ReplayedCommand(command, None, "", "")
    return ReplayedCommand(command, done.returncode, done.stdout, done.stderr)
