"""`nearfar measure` takes every kind of memory: a node, a DAX file, a DAX device, a CXL node."""

import json
from pathlib import Path

from guest import modes, nearfar, nodes, spare_device

QUICK = [
    "--only",
    "idle",
    "--repetitions",
    "2",
    "--threads",
    "1",
    "--no-samples",
    "--no-spin",
    "--quiet",
    "--accept-noise",
]


def measure(spec: str, largest: str = "1MiB") -> None:
    """Measure one memory; function only, for an emulated processor's times mean nothing."""
    path = Path("device.json")
    nearfar("measure", spec, *QUICK, "--largest", largest, "-o", str(path))
    found = json.loads(path.read_text())
    assert found["kind"] == "device-profile"
    assert found["measured"]["memory_spec"] == spec
    assert found["latency"], "no latency was measured"
    path.unlink()


def check() -> None:
    """Far node, file, device; a file system without DAX is refused; a CXL device as a node."""
    measure("node:1")
    measure("file:/mnt/pmem0,dax=require")
    refusal = nearfar("measure", "file:/tmp,dax=require", *QUICK, "-o", "x.json", status=3)
    assert "page cache" in refusal
    cxl = [name for name, mode in modes().items() if mode == "devdax"]
    measure(f"devdax:{spare_device()}", "2MiB")
    for name in cxl:
        nearfar("machine", "convert", name, "--to", "system-ram", "--destroy", name, "--yes")
        assert nodes() == [0, 1, 3]
        # Every access to it is emulated as one to a device: some 10 us.
        measure("node:3", "64KiB")
