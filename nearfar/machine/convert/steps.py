"""Steps of conversions that several targets share."""

from __future__ import annotations

import os
import re

from nearfar.machine.convert.contents import contents
from nearfar.machine.convert.draft import DraftConversion, DraftStep
from nearfar.machine.convert.state import (
    ConvertibleMemory,
    all_far,
    find,
    node_bytes,
    usual_block,
    usual_dax,
)
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import find_tool

POLICY = "sys/devices/system/memory/auto_online_blocks"
PACKAGES = {"mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "cxl": "ndctl"}
"""Debian's package of a tool, where it has another name."""


def need_tools(tree: Tree, draft: DraftConversion, *tools: str) -> None:
    """Add an obstacle for each tool that is not installed on this machine."""
    for tool in tools:
        if tree.live and find_tool(tool) is None:
            draft.stop(
                f"{tool} is not installed", f"sudo apt-get install {PACKAGES.get(tool, tool)}"
            )


def unmount(tree: Tree, far: ConvertibleMemory, draft: DraftConversion) -> None:
    """Add the step that unmounts `far` if it is mounted, and an obstacle for each of its users."""
    check_unused(tree, far, draft)
    if far.mount is None:
        return
    block, mount = far.block, far.mount
    draft.steps.append(
        DraftStep(
            why=f"{mount} must not be in use when the device below it changes",
            expected=f"nothing is mounted from /dev/{block}",
            holds=lambda tree: _mount_point(tree, far.name) is None,
            argv=("umount", mount),
        )
    )


def reconfigure(
    far: ConvertibleMemory, mode: str, draft: DraftConversion, *, keeps: bool = False
) -> None:
    """Add the step that gives the namespace, or a new one in an empty region, this `mode`.

    The step destroys the namespace's data. `keeps`: there are no data to lose, because the memory
    belongs to a node or an earlier step makes the namespace.
    """
    common = (f"--mode={mode}", "--align=2M")
    argv: tuple[str, ...]
    if far.mode == "empty":
        argv = ("ndctl", "create-namespace", *common, f"--region={far.region}")
        expected = f"{far.region} has a namespace of mode {mode}"
    else:
        argv = ("ndctl", "create-namespace", "--force", f"--reconfig={far.name}", *common)
        expected = f"{far.name} is {mode}"
    draft.steps.append(
        DraftStep(
            why=f"{far.name} becomes {mode}, in pages of 2 MiB",
            expected=expected,
            holds=lambda tree: any(now.mode == mode for now in _current(tree, far)),
            argv=argv,
            destroys=() if keeps or far.mode == "empty" else (far.name,),
        )
    )


def take_back(tree: Tree, far: ConvertibleMemory, draft: DraftConversion) -> None:
    """Add the steps that remove memory from its node, so that it is a device again."""
    need_tools(tree, draft, "daxctl")
    dax = far.dax or usual_dax(far.name)
    total, free = node_bytes(tree, far.node)
    elsewhere = sum(
        node_bytes(tree, int(name.removeprefix("node")))[1]
        for name in tree.entries("sys/devices/system/node", "node[0-9]+")
        if name != f"node{far.node}"
    )
    if total - free > elsewhere:
        draft.stop(
            f"node {far.node} holds {(total - free) >> 20} MiB in use, and the other nodes have "
            f"{elsewhere >> 20} MiB free for them",
            "",
        )
    if total:
        draft.steps.append(
            DraftStep(
                why=f"the kernel moves everything away from node {far.node}",
                expected=f"node {far.node} has no memory",
                holds=lambda tree: node_bytes(tree, far.node)[0] == 0,
                argv=("daxctl", "offline-memory", dax),
            )
        )
    draft.steps.append(
        DraftStep(
            why="the device is taken from the kernel's memory",
            expected=f"{dax} is a device",
            holds=lambda tree: any(now.mode == "devdax" for now in _current(tree, far)),
            argv=("daxctl", "reconfigure-device", "--mode=devdax", "--force", dax),
        )
    )


def give_to_node(
    tree: Tree, far: ConvertibleMemory, draft: DraftConversion, *, destroys: tuple[str, ...]
) -> None:
    """Add the steps that make the device memory of a node of its own; its data are lost."""
    need_tools(tree, draft, "daxctl")
    dax = far.dax or usual_dax(far.name)
    policy = tree.text(POLICY)
    if policy is None and tree.live:
        draft.stop("this kernel cannot add memory (CONFIG_MEMORY_HOTPLUG)")
    racing = policy not in (None, "offline")
    if racing:
        draft.steps.append(
            _policy_step(str(policy), "offline", "daxctl refuses to race with the kernel")
        )
    draft.steps.append(
        DraftStep(
            why=f"{dax} becomes memory of node {far.node}",
            expected=f"{dax} is memory of node {far.node}",
            holds=lambda tree: any(
                now.mode == "system-ram" and node_bytes(tree, now.node)[0] > 0
                for now in _current(tree, far)
            ),
            argv=("daxctl", "reconfigure-device", "--mode=system-ram", dax),
            destroys=destroys,
        )
    )
    if racing:
        draft.steps.append(_policy_step("offline", str(policy), "as it was before"))


def make_file_system(
    tree: Tree, far: ConvertibleMemory, draft: DraftConversion, kind: str, *, fresh: bool
) -> None:
    """Add the steps that make a file system, if there is none, and mount it with DAX.

    `fresh`: an earlier step makes the namespace, so it has no data to keep.
    """
    need_tools(tree, draft, f"mkfs.{kind}")
    block = (far.block if not fresh else None) or usual_block(far.name)
    there = "nothing" if fresh else contents(tree, block)
    if there is None:
        draft.warn(f"only root may read /dev/{block}: whether it holds a file system is not known")
    if there not in ("ext4", "xfs"):
        force = "-f" if kind == "xfs" else "-F"
        extra = ("-m", "reflink=0") if kind == "xfs" else ("-q", "-b", "4096")
        draft.steps.append(
            DraftStep(
                why="DAX needs a file system that knows it, with blocks of a page",
                expected=f"/dev/{block} holds {kind}",
                holds=lambda tree: contents(tree, block) == kind,
                argv=(f"mkfs.{kind}", force, *extra, f"/dev/{block}"),
                destroys=(far.name,) if there in ("data", None) else (),
            )
        )
    mount = f"/mnt/{block}"
    if not (tree.root / mount[1:]).is_dir():
        draft.steps.append(
            DraftStep(
                why="where it is mounted",
                expected=f"{mount} is a folder",
                holds=lambda tree: (tree.root / mount[1:]).is_dir(),
                argv=("mkdir", "-p", mount),
            )
        )
    draft.steps.append(
        DraftStep(
            why="with DAX, loads and stores reach the memory itself",
            expected=f"/dev/{block} is mounted with DAX",
            holds=lambda tree: any(
                now.mount and now.mounted_with_dax for now in _current(tree, far)
            ),
            argv=("mount", "-o", "dax", f"/dev/{block}", mount),
        )
    )


def reboot(why: str) -> DraftStep:
    """Return the step of a reboot, which only the user can do."""
    return DraftStep(why=why, expected="", holds=lambda tree: False, argv=("reboot",), reboot=True)


def _policy_step(was: str, becomes: str, why: str) -> DraftStep:
    return DraftStep(
        why=f"{why} (auto_online_blocks is {was})",
        expected=f"auto_online_blocks is {becomes}",
        holds=lambda tree: tree.text(POLICY) == becomes,
        writes=(f"/{POLICY}", becomes),
    )


def _current(tree: Tree, far: ConvertibleMemory) -> list[ConvertibleMemory]:
    """Return the present state of `far`: itself, or the namespaces of a region that was empty."""
    if far.mode == "empty":
        return [now for now in all_far(tree) if now.region == far.region]
    now = find(tree, far.name)
    return [now] if now else []


def _mount_point(tree: Tree, name: str) -> str | None:
    now = find(tree, name)
    return now.mount if now else None


def check_unused(tree: Tree, far: ConvertibleMemory, draft: DraftConversion) -> None:
    """Add an obstacle for each user of `far`: open files, swap, device mapper; warn of fstab."""
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
    """Return (pid, name, path) of each process with an open or mapped file at or below `paths`."""
    users = []
    for pid in tree.entries("proc", r"[0-9]+"):
        if tree.live and int(pid) == os.getpid():
            continue
        for path in _open_paths(tree, pid):
            if any(path == base or path.startswith(f"{base}/") for base in paths):
                users.append((int(pid), tree.text_if_allowed(f"proc/{pid}/comm") or "?", path))
                break
    return users


def _open_paths(tree: Tree, pid: str) -> list[str]:
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
