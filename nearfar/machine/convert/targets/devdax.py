"""devdax: a device that programs map, without a file system."""

from __future__ import annotations

from nearfar.machine.convert.choose import choose
from nearfar.machine.convert.draft import DraftConversion
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.convert.steps import need_tools, reconfigure, take_back, unmount
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.sysfs import Tree


@TARGETS.register("devdax")
def convert(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """Draft how to take a device back from its node, or to give its namespace mode devdax."""
    far = choose(tree, request)
    if far.mode == "devdax":
        return
    if far.mode == "system-ram":
        take_back(tree, far, draft)
        return
    need_tools(tree, draft, "ndctl")
    unmount(tree, far, draft)
    reconfigure(far, "devdax", draft)
