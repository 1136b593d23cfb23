"""Redis and SQLite: all of their objects on the far node, by nearfar's account and the kernel's."""

import json
import shlex
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from guest import SkipCheckError, nearfar
from pages import FAR_SLOTS, NEAR_SLOTS, resident_by_node

REAL = Path("/payload/real")
BESIDE = True
ON_PLAN = 0.99
RECOGNISED = 0.95
"""Of an object's bytes where the plan says; of the profile's bytes recognised."""
LEAST_BYTES = 64 << 10
"""Of an object that is judged by itself: of a smaller one no page may have been looked at."""


class Watch(threading.Thread):
    """Asks where a program's pages are while it runs, and keeps the fullest moment."""

    def __init__(self, program: Path) -> None:
        super().__init__(daemon=True)
        self.program = program
        self.far: Counter[int] = Counter()
        self.near: Counter[int] = Counter()
        self.end = threading.Event()

    def run(self) -> None:
        """Look twice a second."""
        while not self.end.wait(0.5):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if (folder / "exe").readlink() != self.program:
                        continue
                    far = resident_by_node(int(folder.name), FAR_SLOTS)
                    near = resident_by_node(int(folder.name), NEAR_SLOTS)
                except OSError:
                    continue  # It has ended meanwhile.
                if far.total() >= self.far.total():
                    self.far, self.near = far, near


def check() -> None:
    """Both programs, or a reason."""
    folders = sorted(REAL.glob("*/plan.json")) if REAL.is_dir() else []
    if len(folders) < 2:
        raise SkipCheckError("Redis and SQLite were not built (python vm/real_programs.py)")
    for plan in folders:
        one(plan.parent)


def one(folder: Path) -> None:
    """Run one program under its plan."""
    record = Path("record.json")
    watch = Watch(folder / "program")
    watch.start()
    began = time.monotonic()
    words = shlex.split((folder / "command").read_text())
    nearfar("run", str(folder / "plan.json"), "--map", "far=node:1", "-o", str(record), *words)
    watch.end.set()
    watch.join()
    print(f"{folder.name}: {time.monotonic() - began:.0f} s, move_pages: far's blocks "
          f"{dict(watch.far)}, near's {dict(watch.near)}")  # fmt: skip
    found = json.loads(record.read_text())
    assert found["recognised_share_of_profile"] >= RECOGNISED
    assert found["fallback_bytes"] == 0
    judged = 0
    for thing in found["objects"]:
        landed = sum(thing["bytes_by_memory"].values())
        if thing["on_plan"] is not None and landed >= LEAST_BYTES:
            assert thing["on_plan"] >= ON_PLAN, thing
            judged += landed
    assert judged > 1 << 20, "objects of a size worth judging"
    # The kernel's own word, page by page: no block that belongs to the far memory is elsewhere, and
    # what lies there is about what nearfar says.
    assert watch.far.total() > 1 << 20
    assert watch.far[1] >= ON_PLAN * watch.far.total(), watch.far
    subprocess.run(["rm", "-f", "/tmp/redis.sock"], check=False)
