"""What needs a newer kernel: weighted interleave, DAMON, tiers by the HMAT."""

from pathlib import Path

from guest import SkipCheckError, nearfar_json

from nearfar.machine.sysfs import Tree


def check() -> None:
    """Skipped on kernels that do not have them yet."""
    version = Tree(Path("/")).kernel()
    if version is None or version < (6, 10):
        raise SkipCheckError(
            f"Linux {version} has neither weighted interleave nor tiers by the HMAT; give a newer "
            "one by NEARFAR_VM_KERNEL=FOLDER (Linux 6.12 also wants QEMU 10: NEARFAR_VM_QEMU)"
        )
    found = nearfar_json("machine", "--check", status=1)["findings"]
    working = {line["name"] for line in found if line["state"] == "works"}
    assert {"weighted-interleave", "tiers", "damon"} <= working
