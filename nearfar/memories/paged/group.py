"""A control group with a limit of memory, in version 1 or 2 of the kernel's interface."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.memories.paged.acts import Act, write
from nearfar.memories.paged.ledger import Ledger

_DELEGATE = "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes ..."


def _lacks(text: str) -> NearfarError:
    return NearfarError(text, ExitCode.MACHINE_LACKS)


@dataclass(frozen=True)
class GroupParent:
    """Group below which others can be made."""

    version: int
    parent: Path

    @property
    def limit(self) -> str:
        """File of the limit."""
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"


@dataclass(frozen=True)
class GroupCounts:
    """Counts of a group since it was made."""

    major_faults: int
    """Faults that waited for a page, of swap or of a file."""
    swap_ins: int
    """Pages that came back from swap."""
    used_bytes: int
    """Memory that counts against the limit now."""
    peak_bytes: int
    """Peak of `used_bytes`."""
    locked_bytes: int
    """Pages that cannot be sent away now."""
    killed: int
    """Processes that the kernel ended for want of memory."""


def find_group_parent(root: Path = Path("/")) -> GroupParent:
    """Return the group below which this process may make a group with a limit; refuse if none.

    In version 1 this is the process's own group. In version 2, a group that has processes cannot
    enable controllers for its children. So the parent is the nearest group, upward from the
    process's own, that has no processes (or is the top) and enables the memory controller.
    """
    mounts = list(_mounts(root))
    for version, point, inside, controllers in mounts:
        own = _own_group(root, version)
        if version == 1 and "memory" in controllers and own is not None:
            place = GroupParent(1, root / _group_folder(point, inside, own).lstrip("/"))
            return _allowed(place)
    for version, point, inside, _ in mounts:
        own = _own_group(root, version)
        top = root / point.lstrip("/")
        if version != 2 or own is None or "memory" not in _words(top / "cgroup.controllers"):
            continue
        here = root / _group_folder(point, inside, own).lstrip("/")
        for above in (here, *here.parents):
            empty = above != here or above == top or not _words(above / "cgroup.procs")
            if empty and "memory" in _words(above / "cgroup.subtree_control"):
                return _allowed(GroupParent(2, above))
            if above == top:
                break
        raise _lacks(
            "no control group may limit memory here: no group above this process passes the memory "
            f"controller on; {_DELEGATE}"
        )
    raise _lacks(
        "this system has no control groups that limit memory: a kernel with CONFIG_MEMCG, and "
        "cgroup2 mounted on /sys/fs/cgroup (in a container: its host's), are needed"
    )


def _mounts(root: Path) -> list[tuple[int, str, str, set[str]]]:
    """Return version, mount point, mounted group and controllers of each mounted hierarchy."""
    hierarchies = []
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        front, _, back = line.partition(" - ")
        words, kind = front.split(), back.split()
        if kind and kind[0] in ("cgroup", "cgroup2"):
            version = 1 if kind[0] == "cgroup" else 2
            hierarchies.append((version, words[4], words[3], set(kind[-1].split(","))))
    return hierarchies


def _own_group(root: Path, version: int) -> str | None:
    """Return the path of this process's group that controls memory, None if there is none."""
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if (version == 1 and "memory" in controllers.split(",")) or (
            version == 2 and not controllers
        ):
            return group
    return None


def _group_folder(mount_point: str, mounted_group: str, group: str) -> str:
    """Return the folder of `group`; `mounted_group` is the group at `mount_point` itself."""
    if mounted_group != "/":
        group = group.removeprefix(mounted_group)
    return mount_point + group if group.strip("/") else mount_point


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _allowed(place: GroupParent) -> GroupParent:
    procs = place.parent / "cgroup.procs"
    if not place.parent.is_dir():
        raise _lacks(f"the control group of this process is not to be seen in {place.parent}")
    if not (os.access(place.parent, os.W_OK) and os.access(procs, os.W_OK)):
        raise _lacks(
            f"may not make a control group in {place.parent} (permission denied, or read-only as "
            f"in a container): {_DELEGATE}"
        )
    return place


@dataclass(frozen=True)
class ControlGroup:
    """A group that was made."""

    place: GroupParent
    path: Path

    def limit(self, size_bytes: int | None) -> None:
        """Set the limit, None: no limit; excess pages go to swap now or at the next fault."""
        none = "-1" if self.place.version == 1 else "max"
        try:
            write(self.path / self.place.limit, none if size_bytes is None else str(size_bytes))
        except OSError as error:
            raise _lacks(
                f"cannot limit memory to {format_bytes(size_bytes or 0)}: {error.strerror}; pages "
                "that are locked or in use cannot be sent away"
            ) from error

    def send_away(self) -> None:
        """Ask the kernel to reclaim all of the group's pages; those in use stay."""
        first = self.place.version == 1
        try:
            write(
                self.path / ("memory.force_empty" if first else "memory.reclaim"),
                "0" if first else "1T",
            )
        except OSError as error:
            # Expected: version 2 reclaimed less than 1 TiB; version 1 found a page in use.
            if error.errno not in (errno.EAGAIN, errno.EBUSY):
                raise _lacks(f"cannot send a group's pages away: {error.strerror}") from error

    def join(self) -> None:
        """Put the calling process into the group."""
        write(self.path / "cgroup.procs", str(os.getpid()))

    def counts(self) -> GroupCounts:
        """Return the counts."""
        rows = dict(re.findall(r"^(\w+) (\d+)$", self._text("memory.stat"), re.MULTILINE))
        first = self.place.version == 1
        events = self._text("memory.oom_control" if first else "memory.events")
        killed = re.search(r"^oom_kill (\d+)$", events, re.MULTILINE)
        used = self._text("memory.usage_in_bytes" if first else "memory.current").strip()
        peak = self._text("memory.max_usage_in_bytes" if first else "memory.peak").strip()
        return GroupCounts(
            major_faults=int(rows.get("pgmajfault", 0)),
            swap_ins=int(rows.get("workingset_refault_anon", 0)),
            used_bytes=int(used or 0),
            peak_bytes=int(peak or 0),
            locked_bytes=int(rows.get("unevictable", 0)),
            killed=int(killed[1]) if killed else 0,
        )

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text()
        except OSError:
            return ""


def make_group(ledger: Ledger, place: GroupParent) -> ControlGroup:
    """Make a group named by this process's number; the ledger removes the group at its end."""
    count = 0
    while (path := place.parent / f"nearfar-{os.getpid()}-{count}").exists():
        count += 1
    ledger.do(Act("make-group", str(path)), Act("end-group", str(path)))
    return ControlGroup(place, path)
