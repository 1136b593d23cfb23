"""The in-situ pipeline with its consumer's memory on the far node, and in a DAX file."""

import re
import threading
from pathlib import Path

from guest import SkipCheckError

from nearfar_studies.in_situ_run import far_here, run_pipeline_here

PROGRAM = Path("/payload/programs/in_situ")
NODES, SETS = 60_000, 4
"""A set is half a megabyte; times mean nothing here."""


def check() -> None:
    """Two threads, two memories, two locks: its sums are right, and its parts add up."""
    if not PROGRAM.exists():
        raise SkipCheckError("no C compiler where the guest was made: no program to run")
    print(f"the study takes {far_here()}")
    for far in ("node:1", "file:/mnt/pmem0"):
        most, end = [0], threading.Event()
        watcher = threading.Thread(target=watch, args=(far, most, end))
        watcher.start()
        ran = run_pipeline_here(far, nodes=NODES, sets=SETS, program=PROGRAM)
        end.set()
        watcher.join()
        parts = ran.pipeline
        print(far, parts, f"{most[0]} bytes there")
        assert min(parts.generate, parts.transfer, parts.analyse) > 0
        assert parts.generate + parts.generate_idle <= parts.total
        assert parts.transfer + parts.analyse + parts.transfer_idle <= parts.total
        assert most[0] >= NODES * 8, "the consumer's own copy of a set"


def watch(far: str, most: list[int], end: threading.Event) -> None:
    """Keep the most bytes that the program had in its far memory, as /proc tells it."""
    while not end.wait(0.002):  # a run takes 40 ms on a quick machine
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "exe").readlink() == PROGRAM:
                    most[0] = max(most[0], bytes_in(far, folder))
            except OSError:
                continue  # It has ended meanwhile.


def bytes_in(far: str, process: Path) -> int:
    """Return bytes of pages on the node; of a DAX file, which has none, of its mappings."""
    kind, _, where = far.partition(":")
    if kind == "node":
        return 4096 * sum(map(int, re.findall(rf" N{where}=(\d+)", read(process / "numa_maps"))))
    found = re.findall(rf"^(\w+)-(\w+) .* {where}/", read(process / "maps"), re.MULTILINE)
    return sum(int(high, 16) - int(low, 16) for low, high in found)


def read(path: Path) -> str:
    """Return a file of /proc."""
    return path.read_text()
