"""DAMON monitors which pages are used, and its scheme moves cold pages to the far node.

It is set up through sysfs (admin-guide/mm/damon/usage): one kdamond, physical addresses, the scheme
migrate_cold (Linux 6.11).
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
"""Time without use, in us, after which a page is cold: runs are shorter than the hours that the
defaults of DAMON's reclamation are for."""
AGGREGATION_US = 100_000
"""DAMON's default aggregation interval, us."""


@POLICIES.register("damon")
def damon(nodes: list[Node], root: Path) -> Policy:
    """Start the scheme; `undo` ends it."""
    folder = root / ADMIN
    if not folder.is_dir():
        raise lacks(
            "this kernel has no DAMON: --policy damon needs CONFIG_DAMON_SYSFS and, to move pages, "
            "Linux 6.11"
        )
    far = far_node(nodes)
    if far is None:
        raise lacks("--policy damon moves cold pages to a memory node without CPUs: there is none")
    ram = system_ram(root)
    count = folder / "nr_kdamonds"
    try:
        if count.read_text().strip() not in ("", "0"):
            raise lacks("DAMON is in use: stop its user first (damo stop)")
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
    """Return physical ranges of memory, [start, end), ascending; only root can read them."""
    text = Tree(root).text_if_allowed("proc/iomem") or ""
    rows = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) : System RAM", text, re.MULTILINE)
    ranges = [(int(low, 16), int(high, 16) + 1) for low, high in rows]
    if not any(end > 1 for _, end in ranges):
        raise lacks("--policy damon needs root: /proc/iomem shows physical addresses only to root")
    return ranges


def _set_up(kdamond: Path, far: int, ram: list[tuple[int, int]]) -> None:
    _write(kdamond / "contexts" / "nr_contexts", "1")
    context = kdamond / "contexts" / "0"
    _write(context / "operations", "paddr")
    _write(context / "targets" / "nr_targets", "1")
    # With physical addresses, DAMON monitors only the regions that are listed.
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
    for name, low, high in (
        ("sz", "4096", str(2**64 - 1)),
        ("nr_accesses", "0", "0"),
        ("age", str(COLD_US // AGGREGATION_US), str(2**32 - 1)),
    ):
        _write(pattern / name / "min", low)
        _write(pattern / name / "max", high)


def _undo(folder: Path) -> None:
    for path, text in ((folder / "0" / "state", "off"), (folder / "nr_kdamonds", "0")):
        if path.exists():
            try:
                _write(path, text)
            except OSError:
                continue


def _write(path: Path, text: str) -> None:
    # Never create a file: a missing file means that this kernel lacks the setting.
    with path.open("r+") as file:
        file.write(text)
