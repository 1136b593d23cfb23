"""Blocks of a file: file systems compared and absent, and the kernel's share."""

from __future__ import annotations

import tempfile
from pathlib import Path

from nearfar.documents.bench import BenchResult
from nearfar_bench.kind import KINDS, KindReport
from nearfar_bench.memories import MOUNTS, TMPFS, file_system, has_dax

PERSISTENT = ("ext4 with DAX", "xfs with DAX", "device-DAX")
"""Ways to use persistent memory that only some machines have."""


@KINDS.register("blocks")
class Blocks(KindReport):
    """Report of `blocks`: the kernel's share and the file systems."""

    def columns(self) -> list[str]:
        """Return the kernel's share of processor time and the payload bandwidth."""
        return ["kernel_share", "payload_gb_per_s"]

    def summary(self, result: BenchResult) -> list[str]:
        """Return the file system of each memory, and those this machine does not have."""
        words = dict.fromkeys(
            {**result.arguments, **cell.arguments}.get("memory", "") for cell in result.cells
        )
        kinds = {word: kind_of_file_system(word) for word in words}
        names = [f"{word} is {kind}" for word, kind in kinds.items() if kind]
        absent = [kind for kind in PERSISTENT if kind not in kinds.values()]
        sentences = ["; ".join(names)] if names else []
        if absent:
            sentences.append(
                f"not compared, as this machine does not have them: {', '.join(absent)}"
            )
        sentences.append(
            "kernel_share is a share of processor time (getrusage), which does not include waiting "
            "for a disk"
        )
        return sentences


def kind_of_file_system(word: str, mounts: Path = MOUNTS) -> str:
    """Return the storage behind a word of `memory`, such as ``ext4 with DAX``; "" if unknown."""
    name, _, rest = word.partition(":")
    if name == "devdax":
        return "device-DAX"
    folder = TMPFS if word.startswith("tmpfs") else Path(rest or tempfile.gettempdir())
    kind = file_system(folder, mounts)
    return f"{kind} with DAX" if kind and has_dax(folder, mounts) else kind
