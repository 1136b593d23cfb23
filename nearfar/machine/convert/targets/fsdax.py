"""fsdax: a file system on persistent memory, mounted with DAX."""

from __future__ import annotations

from nearfar.machine.convert.choose import choose
from nearfar.machine.convert.draft import DraftConversion
from nearfar.machine.convert.request import ConversionRequest
from nearfar.machine.convert.state import ConvertibleMemory
from nearfar.machine.convert.steps import (
    make_file_system,
    need_tools,
    reconfigure,
    take_back,
    unmount,
)
from nearfar.machine.convert.targets import TARGETS
from nearfar.machine.sysfs import Tree


@TARGETS.register("fsdax")
def convert(tree: Tree, request: ConversionRequest, draft: DraftConversion) -> None:
    """Draft the way from any mode: a device, a namespace of mode fsdax, a file system, a mount."""
    to_fsdax(tree, choose(tree, request), request.file_system, draft)


def to_fsdax(
    tree: Tree,
    far: ConvertibleMemory,
    file_system: str,
    draft: DraftConversion,
    *,
    worthless: bool = False,
) -> None:
    """Draft the steps from a device to a mounted DAX file system.

    With `worthless`, the device holds no data that the user must agree to lose.
    """
    if far.region is None:
        draft.stop(
            f"{far.name} belongs to no persistent-memory region: it can be devdax or system-ram, "
            "but hold no file system"
        )
        return
    if far.mode == "fsdax" and far.mounted_with_dax:
        return
    need_tools(tree, draft, "ndctl")
    if far.mode == "fsdax":
        unmount(tree, far, draft)  # It is mounted without DAX, or not at all.
        make_file_system(tree, far, draft, file_system, fresh=False)
        return
    was_memory = far.mode == "system-ram"
    if was_memory:
        take_back(tree, far, draft)
    else:
        unmount(tree, far, draft)
    reconfigure(far, "fsdax", draft, keeps=was_memory or worthless)
    make_file_system(tree, far, draft, file_system, fresh=True)
