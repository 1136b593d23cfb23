"""Setting up swap for a run: what the spec needs, in which order, and how it is undone."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.machine.sysfs import Tree
from nearfar.memories.paged.acts import Act
from nearfar.memories.paged.ledger import Ledger
from nearfar.memories.spec import MemorySpec

ZSWAP = "sys/module/zswap/parameters"
_HIGHEST = 32767
"""Highest priority of swap."""
_CAP_SYS_ADMIN = 21
"""Number in capability.h."""
_MAGIC_AT = 4086
"""Where swap space says that it is one, in its first page."""

Pair = tuple[Act, Act | None]
"""An act, and the one that undoes it."""


@dataclass(frozen=True)
class Swap:
    """Swap that is set up."""

    path: str
    algorithm: str
    """Compression; empty: none."""
    readahead_pages: int


def _lacks(text: str) -> NearfarError:
    return NearfarError(text, ExitCode.MACHINE_LACKS)


def missing(spec: MemorySpec, root: Path = Path("/")) -> str:
    """Return why this machine cannot set up `spec`, with the remedy; empty if it can."""
    tree = Tree(root)
    if tree.text("proc/swaps") is None:
        return "this kernel has no swap (CONFIG_SWAP), or this container hides /proc/swaps"
    if tree.live and not _may_administer(tree):
        return "swapon needs root (CAP_SYS_ADMIN, which containers rarely have): run with sudo"
    if spec.kind == "zram" and not tree.exists("sys/class/zram-control"):
        return "the kernel's zram is not there: modprobe zram (CONFIG_ZRAM)"
    if spec.kind == "zram" and not os.access(root / "sys/class/zram-control/hot_add", os.R_OK):
        return "zram devices may not be made here: a container sees them and may not add any"
    if spec.kind == "zswap":
        return _missing_zswap(tree)
    return ""


def _may_administer(tree: Tree) -> bool:
    rights = tree.table("proc/self/status").get("CapEff", "0")
    return bool(int(rights, 16) >> _CAP_SYS_ADMIN & 1)


def _missing_zswap(tree: Tree) -> str:
    enabled = tree.text(f"{ZSWAP}/enabled")
    if enabled is None:
        return "the kernel has no zswap (CONFIG_ZSWAP)"
    if enabled == "N" and len((tree.text("proc/swaps") or "").splitlines()) > 1:
        return (
            "zswap is off and other swap is in use, which it would compress too: swapoff that, or "
            "measure zram"
        )
    return ""


def check(spec: MemorySpec, size_bytes: int, root: Path = Path("/")) -> None:
    """Refuse a `spec` that cannot be set up, before anything is changed."""
    if why := missing(spec, root):
        raise _lacks(f"cannot use {spec}: {why}")
    if spec.kind == "zram":
        _check_algorithm(spec, root)
        return
    path = swap_path(spec)
    if _is_device(path):
        _check_device(path, size_bytes)
    else:
        _check_file(path, size_bytes)


def swap_path(spec: MemorySpec) -> Path:
    """Return the swap file or device of `spec`; for a folder, a new file in it."""
    path = spec.path or Path("/var/tmp")
    return path / f"nearfar-swap-{os.getpid()}" if path.is_dir() else path


def _is_device(path: Path) -> bool:
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return False


def _check_device(path: Path, size_bytes: int) -> None:
    try:
        with path.open("rb") as device:
            device.seek(_MAGIC_AT)
            magic = device.read(10)
            size = device.seek(0, os.SEEK_END)
    except OSError as error:
        raise _lacks(f"cannot read {path}: {error.strerror}") from error
    if magic != b"SWAPSPACE2":
        raise _lacks(
            f"{path} has no swap space, and its data would be lost: run mkswap {path} first if "
            "you do not need them"
        )
    if size < size_bytes:
        raise _lacks(
            f"{path} has {format_bytes(size)} and {format_bytes(size_bytes)} may be swapped: swap "
            "would be full; use a larger device or less memory"
        )
    if any(line.split()[0] == str(path) for line in Path("/proc/swaps").read_text().splitlines()):
        raise _lacks(f"{path} is swap in use, which nearfar leaves alone: swapoff {path} first")


def _check_file(path: Path, size_bytes: int) -> None:
    if path.exists():
        raise _lacks(f"{path} is there, and its content would be lost: name a new file or a folder")
    try:
        status = os.statvfs(path.parent)
    except OSError as error:
        raise _lacks(f"cannot make a swap file in {path.parent}: {error.strerror}") from error
    free = status.f_bavail * status.f_frsize
    if free < size_bytes:
        raise _lacks(
            f"{path.parent} has {format_bytes(free)} free and {format_bytes(size_bytes)} may be "
            "swapped: swap would be full; name a folder with more room"
        )


def _check_algorithm(spec: MemorySpec, root: Path) -> None:
    if not spec.algorithm:
        return
    tree = Tree(root)
    for device in tree.entries("sys/block", r"zram[0-9]+"):
        there = (tree.text(f"sys/block/{device}/comp_algorithm") or "").replace("[", "")
        names = there.replace("]", "").split()
        if spec.algorithm not in names:
            raise _lacks(
                f"this kernel's zram has no {spec.algorithm}: it has {', '.join(names)} (modprobe "
                f"{spec.algorithm} may add it)"
            )
        return


def acts(spec: MemorySpec, size_bytes: int, zram: int | None = None) -> list[Pair]:
    """Return (act, its undo) to set up `spec`, in order; for zram, those after device creation."""
    if spec.kind == "zram":
        number = "N" if zram is None else str(zram)
        block, device = f"/sys/block/zram{number}", f"/dev/zram{number}"
        chosen = [(Act("write", f"{block}/comp_algorithm", spec.algorithm), None)]
        return [
            *(chosen if spec.algorithm else []),
            (Act("write", f"{block}/disksize", str(size_bytes)), None),
            (Act("mkswap", device), None),
            _swapon(device),
        ]
    path = swap_path(spec)
    pairs: list[Pair] = []
    if not _is_device(path):
        made = str(size_bytes)
        pairs = [
            (Act("allocate", str(path), made), Act("unlink", str(path))),
            (Act("mkswap", str(path)), None),
        ]
    if spec.kind == "zswap":
        pairs += _zswap(spec)
    return [*pairs, _swapon(str(path))]


def _swapon(path: str) -> Pair:
    return Act("swapon", path, str(_HIGHEST)), Act("swapoff", path)


def _zswap(spec: MemorySpec) -> list[Pair]:
    tree, pairs = Tree(Path("/")), list[Pair]()
    wanted = {"enabled": "Y"} | ({"compressor": spec.algorithm} if spec.algorithm else {})
    for name, value in sorted(wanted.items()):  # the compressor before it is used
        before = tree.text(f"{ZSWAP}/{name}") or ""
        if before != value:
            path = f"/{ZSWAP}/{name}"
            pairs.append((Act("write", path, value), Act("write", path, before)))
    return pairs


def command_lines(spec: MemorySpec, size_bytes: int) -> list[str]:
    """Return the commands that would set the memory up, and remove it at the end."""
    pairs = acts(spec, size_bytes)
    begin = ["cat /sys/class/zram-control/hot_add  # makes zramN"] if spec.kind == "zram" else []
    end = [Act("remove-zram", "zramN").command()] if spec.kind == "zram" else []
    undone = [undo.command() for _, undo in reversed(pairs) if undo is not None]
    return [*begin, *(act.command() for act, _ in pairs), *(f"{line}  # at the end" for line in (
        *undone, *end))]  # fmt: skip


def set_up(ledger: Ledger, spec: MemorySpec, size_bytes: int) -> Swap:
    """Set up `spec` with room for `size_bytes`; the ledger undoes it."""
    check(spec, size_bytes)
    number = ledger.add_zram() if spec.kind == "zram" else None
    for act, undo in acts(spec, size_bytes, number):
        ledger.do(act, undo)
    tree = Tree(Path("/"))
    cluster = tree.number("proc/sys/vm/page-cluster") or 0
    if number is None:
        algorithm = tree.text(f"{ZSWAP}/compressor") if spec.kind == "zswap" else ""
        return Swap(str(swap_path(spec)), algorithm or "", 1 << cluster)
    names = (tree.text(f"sys/block/zram{number}/comp_algorithm") or "").split()
    chosen = next((name.strip("[]") for name in names if name.startswith("[")), "")
    # At a fault the kernel reads one page of zram, without readahead (SWP_SYNCHRONOUS_IO).
    return Swap(f"/dev/zram{number}", chosen, 1)
