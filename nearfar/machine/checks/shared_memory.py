"""/dev/shm: memory that looks like a place for persistent data, and is DRAM."""

from __future__ import annotations

from nearfar.documents import MachineProfile
from nearfar.documents.machine_check import Finding
from nearfar.machine.checks import CHECKS, absent, note
from nearfar.machine.sysfs import Tree


@CHECKS.register("shared-memory")
def check(tree: Tree, machine: MachineProfile) -> list[Finding]:
    """Warn where persistent memory is here, or is emulated, and /dev/shm too."""
    mounts = [line.split() for line in (tree.text_if_allowed("proc/mounts") or "").splitlines()]
    shm = any(len(fields) > 2 and fields[1:3] == ["/dev/shm", "tmpfs"] for fields in mounts)
    if not shm:
        return absent("/dev/shm is not mounted")
    persistent = " although persistent memory is here" if machine.persistent_memory else ""
    return note(
        "/dev/shm is DRAM: not persistent, no DAX, no MAP_SYNC",
        f"measurements there are of DRAM{persistent}; libpmem reports is_pmem 0 and flushes by "
        "msync",
        "nearfar machine convert --to emulated-pmem:4GiB" if not persistent else "",
        "persistent maps as quick as volatile ones",
    )
