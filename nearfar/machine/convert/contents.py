"""Whether a block device holds a file system, or anything at all."""

from __future__ import annotations

from nearfar.machine.sysfs import Tree

HEAD_BYTES = 128 << 10
"""Enough for the superblocks of ext4 (at 1 KiB), xfs (at 0) and btrfs (at 64 KiB)."""
EXT_MAGIC = (1080, b"\x53\xef")
XFS_MAGIC = (0, b"XFSB")


def contents(tree: Tree, block: str | None) -> str | None:
    """Return ext4, xfs, data (something else) or nothing; None where it cannot be read."""
    if block is None:
        return None
    try:
        with (tree.root / "dev" / block).open("rb") as device:
            head = device.read(HEAD_BYTES)
    except OSError:
        return None
    for name, (offset, magic) in (("ext4", EXT_MAGIC), ("xfs", XFS_MAGIC)):
        if head[offset : offset + len(magic)] == magic:
            return name
    return "data" if any(head) else "nothing"
