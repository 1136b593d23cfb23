"""DAMON watches which pages are used, and a scheme of it moves the cold ones to the far node.

Written through sysfs as the kernel's admin guide has it (admin-guide/mm/damon/usage): one kdamond,
physical addresses, the scheme migrate_cold (Linux 6.11).
"""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.machine import Node
from nearfar.machine.sysfs import Tree
from nearfar.run.policies import POLICIES, Policy, far_node, lacks

ADMIN = "sys/kernel/mm/damon/admin/kdamonds"
COLD_US = 5_000_000
"""Not used for so long: cold. Of DAMON's own reclamation, a sixth of a default meant for hours."""
AGGREGATION_US = 100_000
"""DAMON's default."""


@POLICIES.register("damon")
def damon(nodes: list[Node], root: Path) -> Policy:
    """Start the scheme; `undo` ends it."""
    folder = root / ADMIN
    if not folder.is_dir():
        raise lacks(
            "this kernel has no DAMON to drive: it needs CONFIG_DAMON_SYSFS and, to move pages, "
            "Linux 6.11"
        )
    far = far_node(nodes)
    if far is None:
        raise lacks("--policy damon moves cold pages to a memory node without CPUs: there is none")
    ram = system_ram(root)
    count = folder / "nr_kdamonds"
    try:
        if count.read_text().strip() not in ("", "0"):
            raise lacks("DAMON is in use: end what drives it first (damo stop)")
        _write(count, "1")
        _set_up(folder / "0", far, ram)
        _write(folder / "0" / "state", "on")
    except OSError as error:
        _undo(folder)
        raise NearfarError(
            f"DAMON cannot be set up ({error.strerror} at {error.filename}): it needs root, and "
            "migrate_cold needs Linux 6.11",
            ExitCode.MACHINE_LACKS,
        ) from error
    return Policy(
        undo=lambda: _undo(folder),
        note=f"DAMON moves pages unused for {COLD_US // 1_000_000} s to node {far}",
    )


def system_ram(root: Path) -> list[tuple[int, int]]:
    """Return the physical addresses of memory, [start, end), ascending; root alone is told them."""
    text = Tree(root).text_if_allowed("proc/iomem") or ""
    found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) : System RAM", text, re.MULTILINE)
    ranges = [(int(low, 16), int(high, 16) + 1) for low, high in found]
    if not any(end > 1 for _, end in ranges):
        raise lacks("--policy damon needs root: /proc/iomem tells nobody else where memory is")
    return ranges


def _set_up(kdamond: Path, far: int, ram: list[tuple[int, int]]) -> None:
    _write(kdamond / "contexts" / "nr_contexts", "1")
    context = kdamond / "contexts" / "0"
    _write(context / "operations", "paddr")
    _write(context / "targets" / "nr_targets", "1")
    # Of physical addresses it watches what it is told to, and without regions nothing.
    regions = context / "targets" / "0" / "regions"
    _write(regions / "nr_regions", str(len(ram)))
    for number, (start, end) in enumerate(ram):
        _write(regions / str(number) / "start", str(start))
        _write(regions / str(number) / "end", str(end))
    _write(context / "schemes" / "nr_schemes", "1")
    scheme = context / "schemes" / "0"
    _write(scheme / "action", "migrate_cold")
    _write(scheme / "target_nid", str(far))
    pattern = scheme / "access_pattern"
    most = str(2**64 - 1)
    for what, least, largest in (
        ("sz", "4096", most),
        ("nr_accesses", "0", "0"),
        ("age", str(COLD_US // AGGREGATION_US), str(2**32 - 1)),
    ):
        _write(pattern / what / "min", least)
        _write(pattern / what / "max", largest)


def _undo(folder: Path) -> None:
    for path, text in ((folder / "0" / "state", "off"), (folder / "nr_kdamonds", "0")):
        if path.exists():
            try:
                _write(path, text)
            except OSError:
                continue


def _write(path: Path, text: str) -> None:
    # Not created: what is not there, this kernel does not know.
    with path.open("r+") as file:
        file.write(text)
