"""The far node is taken away while a program has its data there: the kernel moves them."""

import subprocess
import threading
import time

import planned
from guest import modes, nearfar, nodes, sh


def check() -> None:
    """Expect the program to end well, and nothing to be left on the node."""
    (name,) = [name for name in modes() if name == "namespace0.1"]
    nearfar("machine", "convert", name, "--to", "system-ram", "--destroy", name, "--yes")
    assert 2 in nodes()
    path = planned.plan({"make_array": "far", "make_mapping": "far"})
    held = 0

    def take() -> None:
        nonlocal held
        for _ in range(300):
            pages = subprocess.run(
                "cat /proc/$(pidof objects)/numa_maps | grep -o N2=[0-9]* | cut -d= -f2",
                shell=True, capture_output=True, text=True, check=False,
            ).stdout.split()  # fmt: skip
            held = sum(int(count) for count in pages)
            if held >= 2 * (4 << 20) // 4096:
                break
            time.sleep(0.2)
        sh("daxctl offline-memory dax0.1")

    taker = threading.Thread(target=take)
    taker.start()
    record = planned.run(path, "4", *["phases"] * 12, maps={"far": "node:2"})
    taker.join()
    assert held, "the program had its data there"
    assert 2 not in nodes()
    print(planned.landings(record), record["warnings"])
    assert "done: it is devdax" in nearfar("machine", "convert", name, "--to", "devdax", "--yes")
