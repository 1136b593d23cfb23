"""Events that this machine's processor counts, and the event that samples addresses.

Numbers are those of include/uapi/linux/perf_event.h; names and fields of processor-specific events
are in sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}). This was
not run on a processor with PEBS or IBS: their sysfs is tested as files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.machine.sysfs import Tree

HARDWARE, SOFTWARE, CACHE, RAW = 0, 1, 3, 4
"""PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW."""
_LAST_LEVEL, _WRITE, _MISS = 2, 1 << 8, 1 << 16
"""PERF_COUNT_HW_CACHE_LL, .._OP_WRITE, .._RESULT_MISS, shifted to their bits of a cache event."""

SAMPLES_PER_S = 4000
"""Samples per second and CPU: perf record's default, which costs a few per cent."""
_DEVICES = "sys/bus/event_source/devices"
_CORES = ("cpu", "cpu_core")
"""Devices of the core's events; hybrid processors have several, the large cores' first."""
_LOAD_LATENCY_CYCLES = 3
"""Least threshold of PEBS' load latency: all loads that miss the first level."""


@dataclass(frozen=True)
class CounterEvent:
    """An event to count or to sample."""

    name: str
    """Field of CounterInterval, or the name in sysfs."""
    type: int
    config: int
    config1: int = 0
    precise: int = 0
    """Required precision of a sample's instruction: 0 to 3."""
    with_kernel: bool = False
    """Whether the kernel's events cannot be excluded."""
    period: int = SAMPLES_PER_S
    is_rate: bool = True
    """Whether `period` is samples per second of CPU time, not events per sample."""
    has_source: bool = True
    """Whether samples contain the level of memory that served them."""


COUNTED = (
    CounterEvent("cpu_time_ns", SOFTWARE, 1),
    CounterEvent("instructions", HARDWARE, 1),
    CounterEvent("cycles", HARDWARE, 0),
    CounterEvent("llc_loads", CACHE, _LAST_LEVEL),
    CounterEvent("llc_load_misses", CACHE, _LAST_LEVEL | _MISS),
    CounterEvent("llc_store_misses", CACHE, _LAST_LEVEL | _WRITE | _MISS),
    CounterEvent("stall_cycles", HARDWARE, 8),
)
"""Generic events, which the kernel translates for its processor; unknown ones are left out. If
there are more events than counters, they take turns."""
NEEDED = ("instructions", "cycles", "llc_load_misses")


def sampled_event(tree: Tree) -> CounterEvent | None:
    """Return the event whose samples contain addresses and levels of memory; None if none does."""
    for device in _CORES:
        kind = tree.number(f"{_DEVICES}/{device}/type")
        loads = tree.text(f"{_DEVICES}/{device}/events/mem-loads")
        if kind is None or loads is None:
            continue
        if tree.text(f"{_DEVICES}/{device}/events/mem-loads-aux") is not None:
            # These processors sample latencies only together with a second event. They also have
            # MEM_LOAD_RETIRED.L3_MISS (Intel SDM, events of Golden Cove and its successors).
            return CounterEvent("mem_load_retired.l3_miss", kind, 0x20D1, precise=2)
        config, config1 = _configs(tree, device, loads)
        latency = _field_bits(tree, device, "ldlat")
        if latency is not None and config1 == 0:
            config1 = _LOAD_LATENCY_CYCLES << latency[1]
        return CounterEvent("mem-loads", kind, config, config1, precise=2)
    kind = tree.number(f"{_DEVICES}/ibs_op/type")
    if kind is None:
        return None
    # Operations are sampled if possible: sampling cycles favours operations that wait.
    by_operations = _field_bits(tree, "ibs_op", "cnt_ctl")
    config = 0 if by_operations is None else 1 << by_operations[1]
    return CounterEvent("ibs_op", kind, config, with_kernel=True)


def _configs(tree: Tree, device: str, text: str) -> tuple[int, int]:
    """Return config and config1 of an event such as ``event=0xcd,umask=0x1,ldlat=3``."""
    words = {"config": 0, "config1": 0}
    for term in text.split(","):
        field, _, value = term.strip().partition("=")
        place = _field_bits(tree, device, field)
        if place is not None and place[0] in words:
            words[place[0]] |= (int(value, 0) if value else 1) << place[1]
    return words["config"], words["config1"]


def _field_bits(tree: Tree, device: str, field: str) -> tuple[str, int] | None:
    """Return the word and first bit of a field: ("config", 8) for ``config:8-15``."""
    match = re.match(r"(config\d?):(\d+)", tree.text(f"{_DEVICES}/{device}/format/{field}") or "")
    return (match[1], int(match[2])) if match else None
