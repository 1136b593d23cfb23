"""Users of a device or of files on it: processes, swap, device mapper, fstab."""

from __future__ import annotations

import os
import re

from nearfar.machine.convert.draft import Draft
from nearfar.machine.convert.state import Far
from nearfar.machine.sysfs import Tree


def check_unused(tree: Tree, far: Far, draft: Draft) -> None:
    """Add an obstacle for everything that still uses `far`, open pools first of all."""
    paths = [f"/dev/{name}" for name in (far.block, far.dax) if name]
    if far.mount:
        paths.append(far.mount)
    for pid, name, path in processes(tree, paths):
        draft.stop(f"process {pid} ({name}) has {path} open", f"sudo kill {pid}   # or end it well")
    for line in (tree.text_if_allowed("proc/swaps") or "").splitlines():
        if line.split()[:1] == [f"/dev/{far.block}"]:
            draft.stop(f"/dev/{far.block} is swap", f"sudo swapoff /dev/{far.block}")
    for holder in tree.entries(f"sys/class/block/{far.block}/holders", ".+"):
        draft.stop(
            f"/dev/{far.block} belongs to {holder} (LVM, RAID or encryption)",
            f"sudo dmsetup info {holder}   # take it apart first",
        )
    for line in (tree.text_if_allowed("etc/fstab") or "").splitlines():
        fields = line.split()
        if fields and not line.startswith("#") and {fields[0], *fields[1:2]} & set(paths):
            draft.warn(
                f"/etc/fstab mounts {fields[0]}: without a change there the next boot may stop"
            )
    if tree.live and os.geteuid() != 0:
        draft.warn("only root sees who has files open: run this with sudo to be sure")


def processes(tree: Tree, paths: list[str]) -> list[tuple[int, str, str]]:
    """Return (process, its name, path) of open and mapped files that are or lie below `paths`."""
    users = []
    for pid in tree.entries("proc", r"[0-9]+"):
        if tree.live and int(pid) == os.getpid():
            continue
        for path in _open(tree, pid):
            if any(path == base or path.startswith(f"{base}/") for base in paths):
                users.append((int(pid), tree.text_if_allowed(f"proc/{pid}/comm") or "?", path))
                break
    return users


def _open(tree: Tree, pid: str) -> list[str]:
    paths = []
    for fd in tree.entries(f"proc/{pid}/fd", "[0-9]+"):
        try:
            paths.append(str((tree.root / f"proc/{pid}/fd/{fd}").readlink()))
        except OSError:
            continue
    for line in (tree.text_if_allowed(f"proc/{pid}/maps") or "").splitlines():
        match = re.search(r" (/\S.*)$", line)
        if match:
            paths.append(match[1])
    return paths
