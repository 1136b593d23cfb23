"""The NVDIMM becomes a file system with DAX: labels first, so that it can hold two namespaces."""

import mmap
import os

from guest import modes, nearfar, sh

MAP_SHARED_VALIDATE, MAP_SYNC = 0x03, 0x80000
"""From Linux' include/uapi/linux/mman.h and asm-generic/mman.h."""


def check() -> None:
    """Dry run first; then for good; a second time there is nothing to do."""
    sh("ndctl disable-region all; ndctl init-labels -f all; ndctl enable-region all", status=None)
    shown = nearfar("machine", "convert", "region0", "--to", "fsdax")
    assert "ndctl create-namespace" in shown and "nothing was done" in shown
    assert modes() == {}
    sh("ndctl create-namespace -m devdax -s 512M -r region0")
    (name,) = modes()
    refusal = nearfar("machine", "convert", name, "--to", "fsdax", "--yes", status=2)
    assert f"--destroy {name}" in refusal
    assert modes() == {name: "devdax"}
    done = nearfar("machine", "convert", name, "--to", "fsdax", "--destroy", name, "--yes")
    assert "done: it is fsdax" in done
    assert modes() == {name: "fsdax"}
    assert "dax=always" in sh("grep /mnt/pmem0 /proc/mounts")
    assert "nothing to do" in nearfar("machine", "convert", name, "--to", "fsdax", "--yes")
    # What MAP_SYNC promises: only a file system with DAX takes it.
    for path, good in (("/mnt/pmem0/sync", True), ("/dev/shm/sync", False)):
        with open(path, "w+b") as file:  # noqa: PTH123
            file.truncate(1 << 20)
            try:
                pages = mmap.mmap(file.fileno(), 1 << 20, MAP_SHARED_VALIDATE | MAP_SYNC)
            except OSError as error:
                assert not good, error
                print(f"{path}: {os.strerror(error.errno or 0)}")
            else:
                assert good
                pages[:5] = b"hello"
                pages.close()
                assert file.read(5) == b"hello"
