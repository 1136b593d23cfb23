"""system-ram: memory of a node of its own, for any program."""

from __future__ import annotations

from nearfar.machine.convert.choose import choose
from nearfar.machine.convert.draft import DraftConversion
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.convert.steps import give_to_node, need_tools, reconfigure, unmount
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.sysfs import Tree

KMEM = "drivers/dax/kmem.ko"


@TARGETS.register("system-ram")
def convert(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """Draft the way by devdax; needs the kernel's kmem driver and a node set by the firmware."""
    far = choose(tree, request)
    if far.mode == "system-ram":
        return
    if not _has_kmem(tree):
        draft.stop("this kernel has no kmem driver (CONFIG_DEV_DAX_KMEM, since Linux 5.1)")
    if far.node is None or far.node < 0:
        draft.stop(
            f"the firmware sets no node for {far.name} (target_node): its memory would join a "
            "node of DRAM, and nothing could distinguish them"
        )
    unmount(tree, far, draft)
    if far.mode != "devdax":
        need_tools(tree, draft, "ndctl")
        reconfigure(far, "devdax", draft)
    give_to_node(tree, far, draft, destroys=(far.name,) if far.mode == "devdax" else ())


def _has_kmem(tree: Tree) -> bool:
    if tree.exists("sys/bus/dax/drivers/kmem") or not tree.live:
        return True  # A captured tree does not hold the modules.
    release = tree.text("proc/sys/kernel/osrelease")
    folder = f"lib/modules/{release}"
    return any(
        KMEM in (tree.text_if_allowed(f"{folder}/{name}") or "")
        for name in ("modules.dep", "modules.builtin")
    )
