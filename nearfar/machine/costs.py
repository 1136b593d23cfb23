"""The loss and the symptom of each missing ability."""

from __future__ import annotations

COSTS: dict[str, tuple[str, str]] = {
    "compiler-pass": (
        "programs cannot be rebuilt for profiling; QEMU or counters must do instead, with fewer "
        "access classes told apart",
        "",
    ),
    "counters": (
        "misses are simulated, not counted: `nearfar counters` and profiles by sampling cannot run",
        'perf prints "<not supported>" or "Operation not permitted"',
    ),
    "cxl-memory": (
        "the capacity that was bought is not there for programs",
        "numactl -H shows no node for it; free shows only DRAM",
    ),
    "damon": (
        "the kernel cannot tell hot pages from cold without faults; DAMON's schemes cannot be "
        "compared with a plan",
        "",
    ),
    "demotion": (
        "when near memory is full, the kernel swaps or kills while far memory is free",
        "swap in use beside gigabytes of free memory on the far node",
    ),
    "far-node": (
        "plans can be made and simulated here, not run on slower memory",
        "",
    ),
    "huge-pages": (
        "random accesses over a large heap pay a page walk each, and in far memory the walk may "
        "be far too",
        "latencies grow with the region although all of it lies beyond the caches",
    ),
    "page-placement": (
        "no plan can be put in place, and no page's place can be asked",
        '"mbind: Operation not permitted" in a container',
    ),
    "persistent-memory": (
        "the memory is not reached by plain loads and stores",
        "times of a disk, or of DRAM, in place of those of the memory",
    ),
    "promotion": (
        "a page that once went to the slow tier stays there, however hot it becomes",
        "times depend on what ran before",
    ),
    "soft-reserved": (
        "the memory is there and nobody uses it",
        "free shows less memory than was built in",
    ),
    "tiers": (
        "demotion and promotion are switched on and move nothing; no error is printed",
        "all nodes in one memory_tier below /sys/devices/virtual/memory_tiering",
    ),
    "userfaultfd": ("far memory cannot be emulated by pages", ""),
    "weighted-interleave": (
        "pages spread 1:1, so the slower node limits the bandwidth of both",
        'set_mempolicy says "Invalid argument"',
    ),
}
