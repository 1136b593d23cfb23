"""The guest's disk: this machine's tools and Python with what nearfar imports, as one image.

Nothing is installed: files are copied with the shared libraries they need. nearfar's own code is
not on it, so that it is made anew only when Python, a package, a tool or the kernel changes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

from kernel import Kernel, NotHereError

TOOLS = [
    "busybox",
    "bash",
    "ndctl",
    "daxctl",
    "cxl",
    "numactl",
    "mkfs.ext4",
    "mount",
    "umount",
    "modprobe",
    "depmod",
]
OPTIONAL = ("addr2line", "llvm-symbolizer-16", "nm", "readelf", "mkfs.xfs", "strace")
"""One llvm-symbolizer answers all of a run; without it addr2line is started for every stack, which
an emulated processor takes a second for."""
PACKAGES = [
    "attr",
    "attrs",
    "cyclopts",
    "docstring_parser",
    "docutils",
    "jinja2",
    "markdown_it",
    "markupsafe",
    "mdurl",
    "msgspec",
    "numpy",
    "numpy.libs",
    "packaging",
    "pygments",
    "readchar",
    "readchar-*.dist-info",
    "rich",
    "rich_rst",
    "ruptures",
    "scipy",
    "scipy.libs",
    "typing_extensions.py",
    "uniplot",
    "uniplot-*.dist-info",
]
"""What nearfar imports at run time, of its dependencies; pictures and Parquet are left out."""
LEFT_OUT = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"}
MODULES = [
    "virtio_pci",
    "virtio_blk",
    "ext4",
    "nfit",
    "nd_pmem",
    "dax_pmem",
    "device_dax",
    "kmem",
    "cxl_acpi",
    "cxl_pci",
    "cxl_mem",
    "cxl_pmem",
    "cxl_port",
    "dax_cxl",
    "hmem",
    "dax_hmem",
    "nd_e820",
]
SPARE_BYTES = 256 << 20
"""Room for what the checks write: it is gone when the guest ends."""
SEARCH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/bin"


def module_files(kernel: Kernel) -> list[Path]:
    """Return the files of the modules that the guest loads, in the order to load them."""
    files: dict[Path, None] = {}
    for module in MODULES:
        shown = subprocess.run(
            ["/usr/sbin/modprobe", "-C", "/dev/null", "-d", kernel.folder, "-S", kernel.release,
             "--show-depends", module],
            check=False, capture_output=True, text=True,
        ).stdout  # fmt: skip
        for line in shown.splitlines():
            if line.startswith("insmod "):
                files[Path(line.split()[1])] = None
    return list(files)


def get_disk(cache: Path, kernel: Kernel) -> Path:
    """Return the image, made if what it is made of has changed."""
    tools = {name: shutil.which(name, path=SEARCH) for name in (*TOOLS, *OPTIONAL)}
    missing = [name for name in TOOLS if tools[name] is None]
    if missing:
        raise NotHereError(
            f"not installed: {', '.join(missing)} (apt-get install busybox-static ndctl daxctl "
            "numactl e2fsprogs kmod)"
        )
    site = Path(sysconfig.get_path("purelib"))
    standard = Path(sysconfig.get_path("stdlib"))
    wanted = [Path(path) for path in tools.values() if path]
    wanted += _packages(site)
    wanted += [standard, Path(sys.executable).resolve(), kernel.image, Path(__file__)]
    # One of each kernel is kept.
    image = cache / f"disk-{kernel.release}-{_key(wanted)}.ext4"
    if not image.exists():
        for old in cache.glob(f"disk-{kernel.release}-*.ext4"):
            old.unlink()
        with tempfile.TemporaryDirectory(dir=cache) as work:
            root = Path(work) / "root"
            _fill(root, [Path(p) for p in tools.values() if p], site, standard, kernel)
            pack(root, Path(work) / "image", spare_bytes=SPARE_BYTES)
            names = [str(path.relative_to(root)) for path in root.rglob("*.so*")]
            _list_of(image).write_text("\n".join(names))
            (Path(work) / "image").rename(image)
    return image


def _packages(site: Path) -> list[Path]:
    return [path for name in PACKAGES for path in sorted(site.glob(name))]


def libraries_on(disk: Path) -> set[str]:
    """Return the paths of the libraries on an image, without the first slash."""
    return set(_list_of(disk).read_text().splitlines())


def _list_of(image: Path) -> Path:
    return image.with_suffix(".libraries")


def _key(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        status = path.stat()
        found.update(f"{path} {status.st_mtime_ns} {status.st_size}\n".encode())
    return found.hexdigest()[:12]


def _fill(root: Path, tools: list[Path], site: Path, standard: Path, kernel: Kernel) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in [
        "proc",
        "sys",
        "dev",
        "tmp",
        "run",
        "mnt",
        "etc/default/grub.d",
        "boot",
        "root",
        "var/lib/nearfar",
        "payload",
        "opt/site",
    ]:
        (root / name).mkdir(parents=True)
    (root / "etc/passwd").write_text(
        "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"
    )
    (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    (root / "etc/mtab").symlink_to("/proc/mounts")
    for path in tools:
        _copy(path, root / "usr/bin" / path.name)
    (root / "usr/bin/sh").symlink_to("bash")
    for path in (Path("/etc/mke2fs.conf"), Path("/etc/ndctl.conf.d")):
        if path.exists():
            _copy(path, root / str(path)[1:])
    python = Path(sys.executable).resolve()
    _copy(python, root / str(python)[1:])
    (root / "usr/bin/python3").unlink(missing_ok=True)
    (root / "usr/bin/python3").symlink_to(python)
    _copy(standard, root / str(standard)[1:])
    for path in _packages(site):
        _copy(path, root / "opt/site" / path.name)
    for file in module_files(kernel):
        _copy(file, root / "usr" / file.relative_to(kernel.folder))
    for file in kernel.modules.glob("modules.[bo]*"):
        _copy(file, root / "usr/lib/modules" / kernel.release / file.name)
    subprocess.run(["/usr/sbin/depmod", "-b", root, kernel.release], check=True)
    copy_libraries(root, root)


def copy_libraries(where: Path, root: Path, known: Collection[str] = ()) -> None:
    """Copy to `root` what is linked with programs and libraries below `where`, but for `known`."""
    files = [
        path
        for path in where.rglob("*")
        if path.is_file() and not path.is_symlink() and _is_elf(path) and path.suffix != ".ko"
    ]
    shown = subprocess.run(["ldd", *files], check=False, capture_output=True, text=True).stdout
    for library in sorted(set(re.findall(r"(/\S+) \(0x", shown))):
        target = root / library[1:]
        here = library.startswith(str(where)) or library[1:] in known
        if not here and not target.exists():
            _copy(Path(library), target)


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(
            source,
            target,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=lambda folder, names: [
                name for name in names if name in LEFT_OUT or name == "site-packages"
            ],
        )
    else:
        shutil.copy2(source, target)


def pack(root: Path, image: Path, *, spare_bytes: int) -> None:
    """Make an image of a folder."""
    used = sum(
        (path.lstat().st_size + 4095) // 4096 * 4096 + 512
        for path in root.rglob("*")
        if not path.is_dir()
    )
    with image.open("wb") as file:
        file.truncate((used * 11 // 10 + spare_bytes) >> 20 << 20)
    done = subprocess.run(
        ["/usr/sbin/mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", root, image],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise NotHereError(
            f"mkfs.ext4 could not pack the guest's disk: {done.stderr.strip()[-200:]}"
        )
