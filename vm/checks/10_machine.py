"""The guest is the machine that the other checks are written for."""

from guest import NODES, nodes, sh


def check() -> None:
    """Two nodes, the second without CPUs and slower; an NVDIMM and a CXL device, both unused."""
    assert nodes() == [0, 1]
    assert (NODES / "node1/cpulist").read_text().strip() == ""
    latency = NODES / "node1/access0/initiators/read_latency"
    assert latency.read_text().strip() == "250"
    names = sh("ls /sys/bus/nd/devices /sys/bus/cxl/devices")
    assert "nmem0" in names and "mem0" in names
