"""app-direct, memory-mode, mixed: how Optane modules are divided, by a goal and a reboot."""

from __future__ import annotations

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.machine.convert.draft import DraftConversion, DraftStep
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.convert.state import ConvertibleMemory, all_far, find
from nearfar.machine.convert.steps import need_tools, reboot, take_back, unmount
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.convert.targets.fsdax import to_fsdax
from nearfar.machine.ipmctl import (
    Resources,
    capabilities,
    goal_share,
    goal_waits,
    resources,
)
from nearfar.machine.sysfs import Tree
from nearfar.machine.tools import ask, find_tool

ADJUSTED = 0.10
"""Relative adjustment of capacities for alignment, up to which ipmctl does not ask (its manual)."""
RATIO = (4, 16)
"""Ratios of far to near memory that Intel recommends for Memory Mode; ipmctl warns below 1:4."""
MODULES = "sys/bus/nd/devices"


@TARGETS.register("app-direct")
def app_direct(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """All persistent: a goal, a reboot, then a namespace and a file system in each region."""
    _convert(tree, request, draft, 0)


@TARGETS.register("memory-mode")
def memory_mode(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """All memory: every namespace destroyed first (ipmctl's error 124), a goal, a reboot."""
    _convert(tree, request, draft, 100)


@TARGETS.register("mixed")
def mixed(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """Draft a part as memory and the remainder as persistent."""
    _convert(tree, request, draft, request.percent)


def _convert(tree: Tree, request: ConversionRequest, draft: DraftConversion, percent: int) -> None:
    now = _resources(tree)
    wanted = percent / 100
    persistent = [far for far in all_far(tree) if far.provider not in ("e820", "hmem")]
    if abs(now.memory_mode_bytes / now.modules_bytes - wanted) <= ADJUSTED / 2 and (
        now.inaccessible_bytes <= ADJUSTED * now.modules_bytes and not goal_waits(tree)
    ):
        for far in persistent if percent < 100 else []:
            if far.mode == "empty":
                to_fsdax(tree, far, request.file_system, draft)
        return
    if goal_waits(tree):
        share = goal_share(tree)
        if share is not None and abs(share - wanted) <= ADJUSTED:
            draft.steps.append(reboot("the firmware divides the modules while it starts"))
            _afterwards(draft, request, percent)
            return
    _check_platform(tree, draft, percent, now)
    for far in persistent:
        _draft_destruction(tree, far, draft)
    for region in sorted({far.region for far in persistent if far.region}):
        if tree.link_name(f"{MODULES}/{region}/driver"):
            draft.steps.append(_disable_step(region))
    if goal_waits(tree):
        draft.steps.append(
            DraftStep(
                why="another goal waits for the reboot, and there can be only one",
                expected="no goal waits",
                holds=lambda tree: goal_waits(tree) is False,
                argv=("ipmctl", "delete", "-f", "-goal"),
            )
        )
    words = {0: ("PersistentMemoryType=AppDirect",), 100: ("MemoryMode=100",)}.get(
        percent, (f"MemoryMode={percent}", "PersistentMemoryType=AppDirect")
    )
    draft.steps.append(
        DraftStep(
            why="tells the firmware how to divide the modules (-f answers its question)",
            expected="a goal waits for the reboot",
            holds=lambda tree: goal_waits(tree) is True,
            argv=("ipmctl", "create", "-f", "-goal", *words),
        )
    )
    draft.steps.append(reboot("the firmware divides the modules while it starts"))
    _afterwards(draft, request, percent)


def _resources(tree: Tree) -> Resources:
    """Return the capacity that can be divided; refuse without modules or ipmctl."""
    if tree.live and not tree.entries(MODULES, r"nmem[0-9]+"):
        raise NearfarError(
            "the kernel sees no Optane module to divide (no nmem in /sys/bus/nd/devices; if there "
            "are modules: sudo modprobe nfit); without any: --to emulated-pmem:4GiB",
            ExitCode.MACHINE_LACKS,
        )
    if tree.live and find_tool("ipmctl") is None:
        raise NearfarError(
            "ipmctl is not installed, and nothing else divides Optane modules; install it with: "
            "sudo apt-get install ipmctl",
            ExitCode.MACHINE_LACKS,
        )
    capacity = resources(tree)
    if capacity is None or not capacity.modules_bytes:
        output = " ".join(ask(tree, "ipmctl", "show", "-memoryresources").text.split())
        raise NearfarError(
            "ipmctl shows no Optane modules here"
            + (f" (it says: {output[:100]})" if output else "; it may need root: try with sudo"),
            ExitCode.MACHINE_LACKS,
        )
    return capacity


def _check_platform(tree: Tree, draft: DraftConversion, percent: int, now: Resources) -> None:
    need_tools(tree, draft, "ndctl")
    able = capabilities(tree)
    if not able:
        draft.warn("ipmctl does not say what the platform supports (show -system -capabilities)")
    if able.get("PlatformConfigSupported") == "0":
        draft.stop("the platform lets only the BIOS set-up divide the modules")
    if percent and "Memory Mode" not in able.get("ModesSupported", "Memory Mode"):
        draft.stop("the platform does not support Memory Mode (ModesSupported)")
    if percent < 100 and "App Direct" not in able.get("ModesSupported", "App Direct"):
        draft.stop("the platform does not support App Direct (ModesSupported)")
    if percent and able.get("AllowedVolatileMode") == "1LM":
        draft.stop(
            "the BIOS allows only 1LM: capacity in Memory Mode would be inaccessible; set the "
            "volatile memory mode to 2LM or auto in its set-up"
        )
    if percent < 100 and able.get("AllowedAppDirectMode") == "Disabled":
        draft.stop("the BIOS has App Direct switched off; switch it on in its set-up")
    for module in tree.entries(MODULES, "nmem[0-9]+"):
        if tree.text_if_allowed(f"{MODULES}/{module}/security") == "locked":
            draft.stop(
                f"module {module} is locked: a goal is not applied to it",
                f"sudo ndctl load-keys && sudo ndctl enable-dimm {module}",
            )
    if percent and now.dram_bytes:
        ratio = percent / 100 * now.modules_bytes / now.dram_bytes
        if not RATIO[0] * 0.995 <= ratio <= RATIO[1] * 1.005:
            draft.warn(
                f"near to far memory would be 1:{ratio:.1f} ({format_bytes(now.dram_bytes)} of "
                f"DRAM), outside the recommended 1:{RATIO[0]} to 1:{RATIO[1]}"
            )


def _draft_destruction(tree: Tree, far: ConvertibleMemory, draft: DraftConversion) -> None:
    """Draft the removal of a namespace: ipmctl makes no goal while one exists (error 124)."""
    if far.mode == "empty" or far.region is None:
        return
    if far.mode == "system-ram":
        take_back(tree, far, draft)
    else:
        unmount(tree, far, draft)
    draft.steps.append(
        DraftStep(
            why="a namespace in use cannot be destroyed",
            expected=f"{far.name} is disabled",
            holds=lambda tree: _disabled(tree, far.name),
            argv=("ndctl", "disable-namespace", far.name),
        )
    )
    draft.steps.append(
        DraftStep(
            why="ipmctl makes no goal while a namespace exists (error 124)",
            expected=f"{far.name} is gone",
            holds=lambda tree: find(tree, far.name) is None,
            argv=("ndctl", "destroy-namespace", far.name),
            destroys=(far.name,),
        )
    )


def _disable_step(region: str) -> DraftStep:
    return DraftStep(
        why="the guides disable a region before its modules are divided again",
        expected=f"{region} is disabled",
        holds=lambda tree: tree.link_name(f"{MODULES}/{region}/driver") is None,
        argv=("ndctl", "disable-region", region),
    )


def _disabled(tree: Tree, name: str) -> bool:
    now = find(tree, name)
    return now is None or (now.block is None and now.dax is None)


def _afterwards(draft: DraftConversion, request: ConversionRequest, percent: int) -> None:
    """Add the steps after the reboot, with usual names; the actual names are read again then."""
    if percent == 100:
        return
    kind = request.file_system
    for argv, why in (
        (("ndctl", "create-namespace", "--mode=fsdax", "--align=2M"), "in each region"),
        ((f"mkfs.{kind}", "/dev/pmem0"), "a file system on each"),
        (("mkdir", "-p", "/mnt/pmem0"), "where it is mounted"),
        (("mount", "-o", "dax", "/dev/pmem0", "/mnt/pmem0"), "with DAX"),
    ):
        draft.steps.append(
            DraftStep(why=why, expected="", holds=lambda tree: False, argv=argv, after_reboot=True)
        )
