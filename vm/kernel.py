"""The guest's kernel: Debian's for clouds, downloaded once with apt and unpacked into build/vm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

META = "linux-image-cloud-amd64"
"""Depends on the present kernel; it has what the guest needs and boots quickly."""


class NotHereError(Exception):
    """The guest cannot be had on this machine, and why."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    folder: Path
    release: str

    @property
    def image(self) -> Path:
        """The bootable image."""
        return self.folder / "boot" / f"vmlinuz-{self.release}"

    @property
    def config(self) -> Path:
        """What it was built with."""
        return self.folder / "boot" / f"config-{self.release}"

    @property
    def version(self) -> tuple[int, int]:
        """Its first two numbers."""
        first, second = (int(word) for word in re.findall(r"\d+", self.release)[:2])
        return first, second

    @property
    def modules(self) -> Path:
        """The folder of its modules."""
        return self.folder / "lib/modules" / self.release


def get_kernel(cache: Path) -> Kernel:
    """Return the kernel named by NEARFAR_VM_KERNEL, else Debian's, downloaded if need be."""
    given = os.environ.get("NEARFAR_VM_KERNEL")
    if not given:
        return _open(_debian(cache))
    path = Path(given)
    return _open(_unpacked(path, cache) if path.suffix == ".deb" else path)


def _unpacked(package: Path, cache: Path) -> Path:
    """Return the folder that a kernel package is unpacked to, once."""
    if not package.is_file():
        raise NotHereError(f"there is no {package}, which NEARFAR_VM_KERNEL names")
    folder = cache / "given" / package.stem
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=cache) as work:
            unpacked = Path(work) / "unpacked"
            done = subprocess.run(["dpkg-deb", "-x", package, unpacked], check=False)
            if done.returncode != 0:
                raise NotHereError(f"{package} is no package that dpkg-deb can unpack")
            folder.parent.mkdir(parents=True, exist_ok=True)
            unpacked.rename(folder)
    return folder


def _open(folder: Path) -> Kernel:
    releases = sorted(path.name for path in (folder / "lib/modules").glob("*"))
    if not releases or not (folder / "boot" / f"vmlinuz-{releases[0]}").exists():
        raise NotHereError(
            f"{folder} is no unpacked kernel package (boot/vmlinuz-*, lib/modules/*)"
        )
    kernel = Kernel(folder, releases[0])
    if not (kernel.modules / "modules.dep").exists():
        subprocess.run(["/usr/sbin/depmod", "-b", folder, kernel.release], check=True)
    return kernel


def _debian(cache: Path) -> Path:
    found = sorted(cache.glob("linux-image-*"))
    if found:
        return found[-1]
    if shutil.which("apt-get") is None:
        raise NotHereError("no apt here to get a kernel with; name one by NEARFAR_VM_KERNEL=FOLDER")
    listed = subprocess.run(
        ["apt-cache", "depends", META], check=False, capture_output=True, text=True
    ).stdout
    packages = [line.split()[-1] for line in listed.splitlines() if "Depends: linux-image" in line]
    if not packages:
        raise NotHereError(f"apt knows no {META} (apt-get update?)")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        got = subprocess.run(
            ["apt-get", "-qq", "download", packages[0]],
            check=False,
            cwd=work,
            capture_output=True,
            text=True,
        )
        files = list(Path(work).glob("*.deb"))
        if not files:
            raise NotHereError(
                f"{packages[0]} could not be downloaded: {got.stderr.strip()[-200:]}"
            )
        unpacked = Path(work) / "unpacked"
        subprocess.run(["dpkg-deb", "-x", files[0], unpacked], check=True)
        # Another process may have been first.
        if not (cache / packages[0]).exists():
            unpacked.rename(cache / packages[0])
    return cache / packages[0]
