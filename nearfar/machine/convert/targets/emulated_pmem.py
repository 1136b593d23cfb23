"""emulated-pmem: DRAM that the kernel sets aside at boot (``memmap=``) as persistent memory."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable

from nearfar.base.units import format_bytes
from nearfar.machine.checks.container import SIGNS
from nearfar.machine.convert.contents import contents
from nearfar.machine.convert.draft import DraftConversion, DraftStep
from nearfar.machine.convert.request import EMULATED_STEP_BYTES, ConversionRequest
from nearfar.machine.convert.state import ConvertibleMemory, all_far
from nearfar.machine.convert.steps import need_tools, reboot, unmount
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.convert.targets.fsdax import to_fsdax
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import find_tool

DROP_IN = "/etc/default/grub.d/nearfar.cfg"
"""File that update-grub of Debian and Ubuntu reads after /etc/default/grub."""
LEFT_SHARE = 0.25
"""Share of memory that must remain: a server's daemons and page cache need about a quarter."""
ABOVE_BYTES = 4 << 30
"""Address above which a region is preferred: below 4 GiB, devices' addresses divide memory."""
GRUB_CONFIGS = ("boot/grub/grub.cfg", "boot/grub2/grub.cfg")
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


@TARGETS.register("emulated-pmem")
def convert(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """Draft a boot option, a reboot, a namespace and a file system; 0B removes the option."""
    regions = [far for far in all_far(tree) if far.provider == "e820"]
    now = reserved(tree)
    if request.size_bytes == 0:
        _draft_release(tree, regions, bool(now), draft)
        return
    if now:
        if now[0][0] != request.size_bytes:
            draft.stop(
                f"{format_bytes(now[0][0])} are set aside already",
                "sudo nearfar machine convert --to emulated-pmem:0B --yes",
            )
            return
        if not regions:
            draft.stop(
                "the command line sets memory aside, and the kernel made no region of it: it has "
                "no driver for it (CONFIG_X86_PMEM_LEGACY)",
                "sudo modprobe nd_e820",
            )
        for far in regions:
            old = far.mode != "raw" or contents(tree, far.block) in ("ext4", "xfs", None)
            to_fsdax(tree, far, request.file_system, draft, worthless=not old)
        return
    _check(tree, draft)
    start = place(memory_ranges(tree), request.size_bytes)
    if start is None:
        draft.stop(
            f"no range of memory can spare {format_bytes(request.size_bytes)} and leave a quarter "
            "of all: ask for less"
        )
        return
    option = f"memmap={request.size_bytes >> 20}M!{start >> 20}M"
    _boot_with(tree, option, draft)
    draft.steps.append(reboot("the kernel sets the memory aside while it starts"))
    draft.steps += _after_reboot(request, alone=not all_far(tree))


def _after_reboot(request: ConversionRequest, *, alone: bool) -> list[DraftStep]:
    """Return the steps after the reboot; beside other regions, the new one's number is unknown."""
    steps: list[tuple[tuple[str, ...], str]] = [
        (
            ("ndctl", "create-namespace", "--force", "--reconfig=namespace0.0", "--mode=fsdax"),
            "the region's namespace, with DAX",
        ),
        ((f"mkfs.{request.file_system}", "/dev/pmem0"), "a file system on it"),
        (("mkdir", "-p", "/mnt/pmem0"), "where it is mounted"),
        (("mount", "-o", "dax", "/dev/pmem0", "/mnt/pmem0"), "with DAX"),
    ]
    if not alone:
        steps = [
            (
                ("nearfar", "machine", "convert", "--resume", "--yes"),
                "its namespace and file system; their numbers are known only then, because there "
                "are other regions",
            )
        ]
    return [
        DraftStep(why=why, expected="", holds=lambda tree: False, argv=argv, after_reboot=True)
        for argv, why in steps
    ]


def reserved(tree: Tree) -> list[tuple[int, int]]:
    """Return (bytes, start) of each region that the running kernel's command line reserves."""
    words = (tree.text_if_allowed("proc/cmdline") or "").split()
    number = "([0-9]+)([KMGT]?)"
    matches = [re.fullmatch(f"memmap={number}!{number}", word) for word in words]
    return [(int(m[1]) << UNITS[m[2]], int(m[3]) << UNITS[m[4]]) for m in matches if m]


def place(ranges: list[tuple[int, int]], size: int) -> int | None:
    """Return the start of a region of `size` bytes in `ranges` of [start, end), or None.

    The region is at the lower end of the largest range above 4 GiB, on a whole GiB if possible. If
    no such range is large enough, the region is at the upper end of a range below 4 GiB.
    """
    if size > (1 - LEFT_SHARE) * sum(end - start for start, end in ranges):
        return None
    high = [(start, end) for start, end in ranges if start >= ABOVE_BYTES]
    for start, end in sorted(high, key=lambda r: r[0] - r[1]):
        for unit in (1 << 30, EMULATED_STEP_BYTES):
            at = -(-start // unit) * unit
            if at + size <= end:
                return at
    for start, end in sorted(ranges, key=lambda r: r[0] - r[1]):
        at = (end - size) // EMULATED_STEP_BYTES * EMULATED_STEP_BYTES
        if end <= ABOVE_BYTES and at >= max(start, EMULATED_STEP_BYTES):
            return at
    return None


def memory_ranges(tree: Tree) -> list[tuple[int, int]]:
    """Return [start, end) of the firmware's ranges of ordinary memory."""
    ranges = []
    for entry in tree.entries("sys/firmware/memmap", "[0-9]+"):
        here = f"sys/firmware/memmap/{entry}"
        start, end = tree.number(f"{here}/start"), tree.number(f"{here}/end")
        if tree.text(f"{here}/type") == "System RAM" and start is not None and end is not None:
            ranges.append((start, end + 1))
    return ranges


def _check(tree: Tree, draft: DraftConversion) -> None:
    need_tools(tree, draft, "ndctl")
    if tree.live and platform.machine() != "x86_64":
        draft.stop("memmap= with ! is an option of x86-64 kernels")
    if any(tree.exists(sign) for sign in SIGNS):
        draft.stop("this is a container, and the boot loader is its host's: run this there")
    release = tree.text("proc/sys/kernel/osrelease")
    config = tree.text_if_allowed(f"boot/config-{release}")
    if config is None:
        draft.warn("whether this kernel has a driver for it (CONFIG_X86_PMEM_LEGACY) is not known")
    elif not re.search(r"^CONFIG_X86_PMEM_LEGACY=[ym]", config, re.MULTILINE):
        draft.stop("this kernel has no driver for it (CONFIG_X86_PMEM_LEGACY)")


def _boot_with(tree: Tree, option: str, draft: DraftConversion) -> None:
    if tree.exists("etc/default/grub.d"):
        line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {option}"'
        if tree.text_if_allowed(DROP_IN[1:]) != line:
            draft.steps.append(
                DraftStep(
                    why="the boot loader passes it to the kernel",
                    expected=f"{DROP_IN} holds {option}",
                    holds=lambda tree: tree.text(DROP_IN[1:]) == line,
                    writes=(DROP_IN, line),
                )
            )
        _update_grub(tree, draft, lambda text: option in text, f"grub.cfg has {option}")
    elif tree.live and find_tool("grubby"):
        draft.steps.append(
            DraftStep(
                why="the boot loader passes it to the kernel",
                expected=f"the boot entries have {option}",
                holds=lambda tree: True,  # grubby's files differ; the next boot shows it
                argv=("grubby", "--update-kernel=ALL", f"--args={option}"),
            )
        )
    else:
        draft.stop(
            "no GRUB with /etc/default/grub.d and no grubby here: add "
            f"{option} to the kernel's command line yourself, reboot, and run this again"
        )


def _draft_release(
    tree: Tree, regions: list[ConvertibleMemory], running: bool, draft: DraftConversion
) -> None:
    ours = tree.exists(DROP_IN[1:])
    if not running and not ours:
        return
    for far in regions:
        unmount(tree, far, draft)
    if ours:
        draft.steps.append(
            DraftStep(
                why="the kernel no longer reserves it",
                expected=f"{DROP_IN} is gone",
                holds=lambda tree: not tree.exists(DROP_IN[1:]),
                argv=("rm", DROP_IN),
                destroys=tuple(far.name for far in regions if far.mode != "raw"),
            )
        )
        _update_grub(tree, draft, lambda text: "memmap=" not in text, "grub.cfg has no memmap=")
    else:
        draft.stop(
            "memmap= was not set by nearfar, which takes back only its own",
            "sudo sed -i 's/memmap=[^ \"]*//' /etc/default/grub && sudo update-grub",
        )
    if running:
        draft.steps.append(reboot("the kernel takes the memory back while it starts"))


def _update_grub(
    tree: Tree, draft: DraftConversion, good: Callable[[str], bool], expected: str
) -> None:
    need_tools(tree, draft, "update-grub")

    def holds(tree: Tree) -> bool:
        texts = [tree.text_if_allowed(path) for path in GRUB_CONFIGS]
        return all(good(text) for text in texts if text is not None)

    draft.steps.append(
        DraftStep(
            why="the boot loader's own file is written again",
            expected=expected,
            holds=holds,
            argv=("update-grub",),
        )
    )
