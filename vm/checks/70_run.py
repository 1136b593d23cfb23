"""`nearfar run` puts a program's objects on near, far, DAX file and DAX device, as planned."""

import re
import subprocess
import threading
from pathlib import Path

import planned
from guest import nodes, spare_device

SEEN: dict[str, int] = {}
"""Most pages of the program on a node, or in a file, as /proc/PID/numa_maps tells it."""


def watch(stop: threading.Event) -> None:
    """Look at the program's pages as it runs, without nearfar."""
    while not stop.wait(0.2):
        pids = subprocess.run(["pidof", "objects"], capture_output=True, text=True, check=False)
        for pid in pids.stdout.split():
            counts: dict[str, int] = {}
            try:
                text = Path(f"/proc/{pid}/numa_maps").read_text()
            except OSError:
                continue
            for line in text.splitlines():
                file = re.search(r"file=(\S+)", line)
                kib = re.search(r"kernelpagesize_kB=(\d+)", line)
                for node, pages in re.findall(r" N(\d+)=(\d+)", line):
                    size = int(pages) * int(kib[1] if kib else 4) << 10
                    for key in (f"node {node}", file[1] if file else ""):
                        counts[key] = counts.get(key, 0) + size
            for key, size in counts.items():
                SEEN[key] = max(SEEN.get(key, 0), size)


def check() -> None:
    """Every object's pages are where the plan says, by nearfar's account and by the kernel's."""
    where = {
        "make_array": "far",
        "make_list": "near",
        "make_growing": "device",
        "make_mapping": "far",
        "make_cleared": "file",
    }
    maps = {"far": "node:1", "device": f"devdax:{spare_device()}", "file": "file:/mnt/pmem0"}
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(stop,))
    watcher.start()
    record = planned.run(planned.plan(where), "4", "phases", maps=maps)
    stop.set()
    watcher.join()
    planned.assert_on_plan(record, set(where))
    assert record["recognised_share_of_profile"] >= 0.95
    assert record["fallback_bytes"] == 0
    print(SEEN, record["warnings"])
    assert not [warning for warning in record["warnings"] if "DAX" in warning]
    # The array and the mapping.
    assert SEEN["node 1"] >= 0.99 * 2 * (4 << 20)
    if 3 in nodes():
        record = planned.run(planned.plan({"make_cleared": "cxl"}), "1", maps={"cxl": "node:3"})
        planned.assert_on_plan(record, {"make_cleared"})
