"""Weighted interleave, DAMON and tiers by the HMAT, each used: they need a newer kernel."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from guest import SkipCheckError, nearfar, nearfar_json

from nearfar.machine.sysfs import Tree

ALONE = True
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
DEMOTION = Path("/sys/kernel/mm/numa/demotion_enabled")
BALANCING = Path("/proc/sys/kernel/numa_balancing")

HOLD = "import time; held = bytearray(b'x') * ({mib} << 20); time.sleep({s}); print(len(held))"


def check() -> None:
    """Skipped on kernels that do not have them yet."""
    version = Tree(Path("/")).kernel()
    if version is None or version < (6, 11):
        raise SkipCheckError(
            f"Linux {version} has neither weighted interleave nor tiers by the HMAT; give a newer "
            "one by NEARFAR_VM_KERNEL=FOLDER (Linux 6.12 also wants QEMU 10: NEARFAR_VM_QEMU)"
        )
    found = nearfar_json("machine", "--check", status=1)["findings"]
    working = {line["name"]: line["found"] for line in found if line["state"] == "works"}
    assert {"weighted-interleave", "tiers", "damon"} <= set(working)
    assert "node 0 in" in working["tiers"] and "node 1 in" in working["tiers"]
    weighted_interleave()
    tiering()
    damon()


def weighted_interleave() -> None:
    """Pages lie as the weights say."""
    with setting(WEIGHTS / "node0", "3"), setting(WEIGHTS / "node1", "1"):
        record = run("weighted-interleave", 24, 1)
    pages = record["pages_by_memory"]
    share = pages["node:1"] / (pages["node:0"] + pages["node:1"])
    print(f"{share:.3f} on node 1, a quarter wanted")
    assert 0.2 < share < 0.3
    assert "node 0: 3, node 1: 1" in record["warnings"][0]


def tiering() -> None:
    """Refused with the commands that switch it on; then it runs."""
    with setting(DEMOTION, "0"), setting(BALANCING, "0"):
        refusal = nearfar("run", "--policy", "tiering", "--", "/usr/bin/python3", "-V", status=3)
        assert str(DEMOTION) in refusal and str(BALANCING) in refusal
    with setting(DEMOTION, "1"), setting(BALANCING, "2"):
        assert "demotion and promotion are on" in run("tiering", 4, 0)["warnings"][0]


def damon() -> None:
    """Expect untouched memory to be moved, and DAMON to be off again."""
    before = migrated()
    assert "moves pages unused" in run("damon", 16, 20)["warnings"][0]
    print(f"{migrated() - before} pages moved")
    assert migrated() > before
    assert Path("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").read_text().strip() == "0"


def run(policy: str, mib: int, seconds: int) -> Any:
    """Run a program that holds so much memory for so long; return its record."""
    path = Path("record.json")
    code = HOLD.format(mib=mib, s=seconds)
    words = ["--policy", policy, "-o", str(path), "--", "/usr/bin/python3", "-c", code]
    nearfar("run", *words)
    return json.loads(path.read_text())


def migrated() -> int:
    """Return how many pages the kernel has moved since it started."""
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counts["pgmigrate_success"])


@contextmanager
def setting(path: Path, value: str) -> Iterator[None]:
    """Hold a setting of the kernel."""
    before = path.read_text().strip()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)
