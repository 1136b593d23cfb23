"""DRAM becomes persistent memory over a reboot, and is given back: convert --to emulated-pmem.

The guest has no boot loader; QEMU gives its kernel the command line. `guest/update-grub` makes
grub.cfg of /etc/default/grub.d as GRUB's does, and boot.py boots once more with what it says.
"""

import re
from pathlib import Path

from guest import nearfar, nearfar_json, sh

NOTE = Path("/var/lib/nearfar/conversion.json")
SIZE = "emulated-pmem:128MiB"
GRUB = Path("/boot/grub/grub.cfg")


def check() -> None:
    """Up to the reboot: the boot loader is told, the request is kept, nothing else is done."""
    shown = nearfar("machine", "convert", "--to", SIZE)
    assert "memmap=128M!" in shown and "sudo reboot" in shown and "nothing was done" in shown
    assert "reconfig=namespace0.0" not in shown, "that is the NVDIMM's"
    assert not NOTE.exists() and not GRUB.exists()
    assert "now reboot" in nearfar("machine", "convert", "--to", SIZE, "--yes")
    assert re.search(r"memmap=128M!\d+M", GRUB.read_text())
    assert NOTE.exists()
    # There was no reboot yet; and another conversion does not get between.
    assert "waits for a reboot" in nearfar("machine", "convert", "--resume", "--yes", status=3)
    refusal = nearfar("machine", "convert", "--to", "emulated-pmem:256MiB", "--yes", status=2)
    assert "was begun and not finished" in refusal


def check_after_reboot() -> None:
    """Expect the kernel to set memory aside; make namespace, file system, mount; undo all."""
    assert "memmap=128M!" in Path("/proc/cmdline").read_text()
    shown = nearfar("machine", "convert", "--resume", "--yes")
    assert f"done: it is {SIZE}" in shown
    assert not NOTE.exists()
    (line,) = sh("grep ' /mnt/pmem' /proc/mounts").splitlines()
    assert "dax=always" in line
    place = Path(f"/sys/class/block/{Path(line.split()[0]).name}").resolve()
    (made,) = {part for part in place.parts if part.startswith("namespace")}
    provider = next(
        folder / "provider" for folder in place.parents if (folder / "provider").exists()
    )
    assert provider.read_text().strip() == "e820"
    assert "nothing to do" in nearfar("machine", "convert", "--to", SIZE, "--yes")
    found = nearfar_json("machine", "--check", status=1)["findings"]
    said = {(one["name"], one["state"]) for one in found}
    assert ("persistent-memory", "works") in said, said
    # Back: its data are destroyed only by name, and the boot loader forgets it.
    Path(line.split()[1], "kept").write_text("data")
    back = ("machine", "convert", "--to", "emulated-pmem:0B", "--yes")
    assert f"--destroy {made}" in nearfar(*back, status=2)
    assert "memmap=" in GRUB.read_text()
    assert "now reboot" in nearfar(*back, "--destroy", made)
    assert "memmap=" not in GRUB.read_text()
