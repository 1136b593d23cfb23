"""Near memory of this machine, measured once per boot and kept for the user.

Each use first checks one latency: a random chase in the smallest region that no cache holds. The
kept figures are used again while that latency is about the kept one. Otherwise the memory is
measured again, because a neighbour of a virtual machine or another clock frequency has changed it.
While other programs keep the processors busy, neither the check nor a new measurement is reliable,
and a measurement takes many times as long. Then the kept figures are used, and the change of
latency counts as their noise, which widens intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.folders import cache_folder
from nearfar.devices.curves import idle_read_latency_ns, random_reads
from nearfar.devices.library import load_device
from nearfar.devices.quality import BANDWIDTH_KIND, LATENCY_KINDS
from nearfar.documents import DeviceProfile, save
from nearfar.documents.device import LatencyFigure
from nearfar.measure.measure import measure
from nearfar.measure.one_kernel import measure_kernel
from nearfar.measure.settings import Progress, no_progress
from nearfar.memories.spec import PAGE_BYTES
from nearfar.options.measure import KernelOptions, MeasureOptions

CHECK_S = 1.0
"""Time of the check, s."""
MAX_DRIFT = 1.2
"""Ratio of the check's latency to the kept one, or its inverse, beyond which the memory is measured
again: about the width of intervals of a memory-bound program."""
KERNEL = "chase"
PRESSURE = Path("/proc/pressure/cpu")
BUSY_SHARE = 0.5
"""Share of the last 10 s in which some program waited for a processor, beyond which the machine is
busy: on an idle one it is below 0.05, and 1 where two programs share each core."""


class ChangedMemoryError(NearfarError):
    """The check's latency is not the kept one."""

    def __init__(self, device: DeviceProfile, drift: float) -> None:
        kept_ns = checked_figure(device).value_ns
        super().__init__(f"near memory takes {drift:.2f} times the {kept_ns:.0f} ns kept")
        self.kept = KeptMemory(device, drift)


class KeptMemory(NamedTuple):
    """Near memory, and where it came from."""

    device: DeviceProfile
    drift: float | None
    """Ratio of the check's latency now to that at the measurement; None if it was measured just
    now."""


def near_memory(
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = no_progress,
    folder: Path | None = None,
) -> KeptMemory:
    """Return this machine's near memory: kept from earlier in this boot, or measured and kept.

    `folder` holds the kept profile; None: a folder in the user's cache. If the folder cannot be
    written, `say` is told, and the profile is not kept. Raise NearfarError if memory cannot be
    measured.
    """
    folder = cache_folder("near") if folder is None else folder
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    path = folder / f"{boot}.json"
    if path.exists():
        try:
            return unchanged_memory(path)
        except NearfarError as error:
            if isinstance(error, ChangedMemoryError) and _is_busy():
                say(f"{error}, but other programs keep the processors busy: the kept one is used")
                return error.kept._replace(device=_with_drift(error))
            say(f"{error}; near memory is measured again")
    device = measure(MeasureOptions(quick=True, samples=False, accept_noise=True), progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        save(device, path)
    except (OSError, NearfarError) as error:
        # The hint of `save` is about -o, which does not choose this folder.
        reason = getattr(error.__cause__ or error, "strerror", error)
        say(f"near memory was measured but could not be saved: {path}: {reason}")
    return KeptMemory(device, None)


def unchanged_memory(path: Path) -> KeptMemory:
    """Return the kept memory of `path`; raise NearfarError if it is unreadable or has changed."""
    device = load_device(str(path))
    figure = checked_figure(device)
    drift = _latency_ns(figure) / figure.value_ns
    if not 1 / MAX_DRIFT <= drift <= MAX_DRIFT:
        raise ChangedMemoryError(device, drift)
    return KeptMemory(device, drift)


def _with_drift(error: ChangedMemoryError) -> DeviceProfile:
    """Return the kept memory, with the change of its latency as noise of all its figures.

    Only latency was checked; the cause of its change may have changed bandwidth as much.
    """
    device, drift = error.kept
    if device.measured is None or drift is None:
        return device
    floor, context = max(drift, 1 / drift) - 1, device.measured
    floors = dict(context.noise_floors)
    for kind in (*LATENCY_KINDS, BANDWIDTH_KIND):
        floors[kind] = max(floor, floors.get(kind, context.noise_floor))
    changed = msgspec.structs.replace(
        context,
        noise_floor=max(floor, context.noise_floor),
        noise_floors=floors,
        warnings=[
            *context.warnings,
            f"{error}, while other programs keep the processors busy: that is its noise here",
        ],
    )
    return msgspec.structs.replace(device, measured=changed)


def _is_busy() -> bool:
    """Return whether programs wait for processors; False where the kernel does not say."""
    try:
        first = PRESSURE.read_text().splitlines()[0]  # some avg10=12.34 avg60=...
        return float(first.split()[1].removeprefix("avg10=")) > 100 * BUSY_SHARE
    except (OSError, ValueError, IndexError):
        return False


def checked_figure(device: DeviceProfile) -> LatencyFigure:
    """Return the latency to check: of the smallest region that no cache holds.

    Mapping and linking the largest region takes seconds, and a drift shows in smaller ones too.
    """
    largest = idle_read_latency_ns(device)
    llc_bytes = device.measured.llc_bytes if device.measured is not None else 0
    beyond = [
        figure
        for figure in random_reads(device)
        if figure.page_bytes == largest.page_bytes and (figure.region_bytes or 0) > llc_bytes
    ]
    return min(beyond, key=lambda figure: figure.region_bytes or 0, default=largest)


def _latency_ns(figure: LatencyFigure) -> float:
    """Return the present latency, ns, of random reads in the figure's region and pages."""
    pages = "4k" if figure.page_bytes == PAGE_BYTES["4k"] else "thp"
    options = KernelOptions(
        kernel=KERNEL,
        memory=f"dram,pages={pages}",
        seconds=CHECK_S,
        largest=f"{figure.region_bytes}B" if figure.region_bytes else None,
    )
    results = measure_kernel(options)["results"]
    return min(float(row["value"]) for row in results)
