"""A CXL device becomes a region, and the region a device that programs map."""

import mmap
import os

from guest import SkipCheckError, modes, nearfar, sh


def check() -> None:
    """Make the region as the check says; look at its state, not at cxl's exit status."""
    if sh("cat /sys/bus/cxl/devices/mem0/ram/size").strip() not in ("0", "0x0"):
        raise SkipCheckError("the CXL device is volatile: its region is memory at once")
    before = set(modes())
    sh("cxl create-region -m -t pmem -d decoder0.0 mem0", status=None)
    (region,) = sh("ls /sys/bus/cxl/devices | grep '^region'").split()
    # Persistent memory is a region of the same number on the nd bus.
    assert "done: it is devdax" in nearfar("machine", "convert", region, "--to", "devdax", "--yes")
    (name,) = set(modes()) - before
    assert modes()[name] == "devdax"
    # A window that is not routed to the device reads as zeros and drops what is stored.
    device = os.open(f"/dev/dax{name.removeprefix('namespace')}", os.O_RDWR)
    with mmap.mmap(device, 4 << 20, mmap.MAP_SHARED) as pages:
        pages[:5] = b"hello"
        assert pages[:5] == b"hello"
    os.close(device)
    found = nearfar("machine")
    assert "mem0: 256 MiB persistent, node 3" in found
