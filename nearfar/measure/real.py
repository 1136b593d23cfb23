"""Opening of a memory of this machine: find CPUs and sizes, check, map, place and link."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents.processor import cpu_model
from nearfar.measure import memory_mode, room
from nearfar.measure.native import require_native
from nearfar.measure.obtain import Source, file_system_bytes, huge_share, is_direct, source_of
from nearfar.measure.sampler import Sampler
from nearfar.measure.settings import Progress, no_progress
from nearfar.measure.subject import CACHES_FACT, OpenedMemory, Technology
from nearfar.memories import checks, topology
from nearfar.memories.spec import PAGE_BYTES, MemorySpec, Pages, parse_spec
from nearfar.memories.topology import Topology
from nearfar.options.measure import MemoryOptions

if TYPE_CHECKING:
    from nearfar._measure import Memory

MAPPINGS = 3
"""Mappings in whole pages: for chases, for stores, and the buffer of bandwidths."""

HUGE_ENOUGH = 0.9
"""Share of 2 MiB pages from which a region counts as huge pages: the remainder adds less than a
tenth of the difference between the page sizes."""


def open_real(
    options: MemoryOptions, progress: Progress = no_progress, *, quick: bool = False
) -> OpenedMemory:
    """Open a memory of this machine; takes seconds, as all pages are touched."""
    require_native()
    spec = parse_spec(options.memory)
    machine = topology.detect()
    checks.check_threads(options.threads, len(machine.cpus), machine.node)
    cpus = machine.cpus[: options.threads]
    _check_memory(spec, len(cpus), options.largest_bytes)
    warnings: list[str] = []
    source = source_of(spec, machine)
    direct = spec.kind == "devdax" or (spec.kind == "file" and is_direct(spec))
    if spec.kind == "file" and not direct:
        assert spec.path is not None
        if spec.dax == "require":
            raise checks.no_dax(spec.path)
        warnings.append(
            f"{spec.path} is not on a DAX file system: its page cache was measured, which is DRAM"
        )
    sizes, notes = plan(options, machine, kinds := page_kinds(spec), quick=quick)
    warnings += notes
    progress("preparing memory", 0.0)
    mapped = _map_regions(source, sizes.largest_bytes, kinds, direct, warnings)
    chased = {page_bytes: memory for page_bytes, (memory, _) in mapped.items()}
    obtained = {page_bytes: pages for page_bytes, (_, pages) in mapped.items()}
    contended = spec.load != "none"
    # A separate buffer: lines that two cores use would come from caches.
    load_buffer = source(sizes.buffer_bytes, next(iter(obtained.values()))) if contended else None
    sampler = Sampler(
        chased=chased,
        buffer_bytes=sizes.buffer_bytes,
        map_more=lambda page_bytes, size_bytes: source(size_bytes, obtained[page_bytes]),
        cpus=cpus,
        llc_bytes=machine.llc_bytes,
        load=spec.load,
        load_buffer=load_buffer,
        spin=options.spin,
        quick=quick,
    )
    return OpenedMemory(
        subject=sampler,
        what=f"{spec} of {cpu_model()}",
        citation="measured by nearfar measure on this machine",
        technology=technology(spec, machine, direct),
        capacity_bytes=capacity_bytes(spec, machine),
        durable=direct,
        persists_through="store + clwb or clflushopt + sfence (MAP_SYNC)" if direct else "",
        cpus=cpus,
        llc_bytes=machine.llc_bytes,
        inner_bytes=machine.inner_bytes,
        contended=contended,
        facts={
            "largest_region": format_bytes(sizes.largest_bytes),
            CACHES_FACT: ", ".join(map(format_bytes, topology.data_cache_bytes())) or "unknown",
            "bandwidth_buffer": format_bytes(sizes.buffer_bytes),
            "idle_core_kept_awake": "yes" if sampler.keeps_awake else "no",
        },
        warnings=warnings,
    )


def _map_regions(
    source: Source, size_bytes: int, kinds: list[Pages], direct: bool, warnings: list[str]
) -> dict[int, tuple[Memory, Pages]]:
    """Map a region for chases with each kind of pages; return it by the page size obtained."""
    mapped: dict[int, tuple[Memory, Pages]] = {}
    with ThreadPoolExecutor(len(kinds)) as pool:
        memories = list(pool.map(partial(source, size_bytes), kinds))
    for pages, memory in zip(kinds, memories, strict=True):
        share = huge_share(memory)
        page_bytes = PAGE_BYTES[pages]
        if direct and share >= HUGE_ENOUGH:
            page_bytes = PAGE_BYTES["thp"]  # a DAX file system maps 2 MiB where it can
        if pages == "thp" and share < HUGE_ENOUGH and size_bytes >= PAGE_BYTES["thp"]:
            warnings.append(
                f"huge pages were not obtained ({share:.0%} of the largest region): "
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or free memory"
            )
            if len(kinds) > 1:
                continue  # the other kind is measured
            page_bytes = PAGE_BYTES["4k"]
        mapped[page_bytes] = (memory, pages)
    return mapped


def page_kinds(spec: MemorySpec) -> list[Pages]:
    """Return the kinds of pages to try, best first."""
    if spec.pages is not None:
        return [spec.pages]
    return ["thp", "4k"] if spec.kind in ("dram", "node") else ["4k"]


def plan(
    options: MemoryOptions, machine: Topology, kinds: list[Pages], *, quick: bool
) -> tuple[room.Room, list[str]]:
    """Return the sizes that fit, and a note on them."""
    spec = parse_spec(options.memory)
    usable = _usable_bytes(spec, kinds)
    warnings: list[str] = []
    buffers = 2 if spec.load != "none" else 1
    caches = room.QUICK_CACHES_PER_REGION if quick else room.CACHES_PER_REGION
    sizes = room.plan_room(
        machine, usable, options.largest_bytes, len(kinds), buffers, caches=caches
    )
    node = spec.node if spec.kind == "node" else machine.node
    cache = memory_mode.cache_bytes(node) if spec.kind in ("dram", "node", "hugetlb") else 0
    if cache:
        if not options.largest_bytes and not quick:
            most = usable // (2 * len(kinds) + buffers)
            beyond = memory_mode.largest_bytes(cache, sizes.largest_bytes, most)
            sizes = room.plan_room(machine, usable, beyond, len(kinds), buffers)
        warnings.append(memory_mode.warning(cache, sizes.largest_bytes))
    if sizes.largest_bytes < 4 * machine.llc_bytes:
        warnings.append(
            f"the largest region is {format_bytes(sizes.largest_bytes)}, less than 4 times the "
            f"last-level cache ({format_bytes(machine.llc_bytes)}): latencies include cache hits"
        )
    if not machine.llc_known:
        warnings.append(f"sysfs describes no caches: {format_bytes(machine.llc_bytes)} was assumed")
    return sizes, warnings


def _check_memory(spec: MemorySpec, cpus: int, wanted_bytes: int) -> None:
    """Refuse a memory that is missing, or too small for a region of `wanted_bytes`."""
    if spec.load != "none" and cpus < 2:
        raise NearfarError(
            f"load={spec.load} needs a second CPU for the contending core; this process has 1",
            ExitCode.MACHINE_LACKS,
        )
    if spec.kind == "node" and spec.node is not None:
        checks.check_node(spec.node)
        total = topology.node_memory_bytes(spec.node)[0]
        checks.check_region(spec, wanted_bytes, total, f"node {spec.node}")
    elif spec.kind == "dram":
        machine = topology.detect()
        total, what = room.total_bytes(), "this machine"
        if machine.node is not None and len(machine.nodes) > 1:
            total, what = topology.node_memory_bytes(machine.node)[0], f"node {machine.node}"
        checks.check_region(spec, wanted_bytes, total, what)
    elif spec.kind == "file" and spec.path is not None:
        checks.check_folder(spec.path, wanted_bytes)
    elif spec.kind == "devdax" and spec.path is not None:
        size, align = checks.check_devdax(spec.path)
        checks.check_region(spec, wanted_bytes, size, str(spec.path))
        checks.check_aligned(spec.path, wanted_bytes, align)
    if spec.pages in ("2m", "1g"):
        page_bytes = PAGE_BYTES[spec.pages]
        each = -(-max(wanted_bytes, room.MIN_REGION_BYTES) // page_bytes) * page_bytes
        checks.check_huge_pages(spec.pages, MAPPINGS * each)


def _usable_bytes(spec: MemorySpec, kinds: list[Pages]) -> int:
    """Return the bytes that can be used without displacing other programs' memory."""
    usable = room.available_bytes()
    node = spec.node
    if spec.kind == "dram" and len((machine := topology.detect()).nodes) > 1:
        node = machine.node  # near memory is that of the node whose CPUs measure
    if node is not None:
        free = topology.node_memory_bytes(node)[1]
        usable = min(usable, free) if topology.node_cpus(node) else free
    if spec.kind == "file" and spec.path is not None:
        usable = min(usable, file_system_bytes(spec.path)[1])
    if spec.kind == "devdax" and spec.path is not None:
        return checks.check_devdax(spec.path)[0]  # nobody else uses it
    if spec.pages in ("2m", "1g"):
        page_bytes = PAGE_BYTES[kinds[0]]
        return (checks.free_huge_pages(page_bytes) or 0) * page_bytes
    return int(usable * room.USABLE_SHARE)


def capacity_bytes(spec: MemorySpec, machine: Topology) -> int | None:
    """Return the size of the whole memory; None: not known."""
    if spec.kind == "file" and spec.path is not None:
        return file_system_bytes(spec.path)[0]
    if spec.kind == "devdax" and spec.path is not None:
        return checks.check_devdax(spec.path)[0]
    node = spec.node if spec.node is not None else machine.node
    return topology.node_memory_bytes(node)[0] or None if node is not None else None


def technology(spec: MemorySpec, machine: Topology, direct: bool) -> Technology:
    """Return the technology of the memory, as far as the system reports it."""
    if spec.kind in ("file", "devdax"):
        return "pmem" if direct else "file"
    if spec.node is None or spec.node == machine.node:
        return "dram"
    if topology.node_cpus(spec.node):
        return "remote-dram"
    return topology.node_technology(spec.node)
