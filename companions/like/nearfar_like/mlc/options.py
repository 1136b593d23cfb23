"""MLC's options: what each takes, in which modes it means something, and what it means here.

This table is the help, the parser and the refusals; `docs/like.md` is checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MODES = (
    "latency_matrix",
    "bandwidth_matrix",
    "peak_injection_bandwidth",
    "max_bandwidth",
    "idle_latency",
    "loaded_latency",
    "c2c_latency",
    "memory_bandwidth_scan",
)
BARE = (
    *("latency_matrix", "peak_injection_bandwidth", "bandwidth_matrix", "loaded_latency"),
    "c2c_latency",
)
"""What a run without a mode does, in MLC's order."""

LATENCY = frozenset({"latency_matrix", "idle_latency", "loaded_latency"})
BANDWIDTH = frozenset(
    {"bandwidth_matrix", "peak_injection_bandwidth", "max_bandwidth", "loaded_latency"}
)
LOADED = frozenset({"loaded_latency"})
IDLE = frozenset({"idle_latency"})
SCAN = frozenset({"memory_bandwidth_scan"})
ALL = frozenset(MODES)
MEMORY = ALL - {"c2c_latency"}

Takes = Literal["", "size", "number", "cpus", "mask", "file", "folder", "type", "switch"]
"""switch: 0 or 1, which may be left out."""


@dataclass(frozen=True)
class Option:
    """One option."""

    letter: str
    takes: Takes
    modes: frozenset[str]
    meaning: str
    refused: str = ""
    """Why it cannot be had here, and what to do; empty: it can."""
    elsewhere: bool = False
    """In other modes it changes nothing, as in MLC: that is said, and the run goes on."""


OPTIONS: dict[str, Option] = {
    one.letter: one
    for one in (
        Option("a", "", frozenset({"latency_matrix"}), "latency from every CPU, not every node"),
        Option("b", "size", MEMORY - SCAN, "buffer of each thread: 200m, 1g, or KiB"),
        Option("B", "", LOADED, "also bandwidth of every thread"),
        Option("c", "number", IDLE | LOADED, "CPU that measures latency"),
        Option("d", "number", LOADED, "one delay, in cycles for every two lines"),
        Option("D", "number", LATENCY, "lines of the window of random latency (default 4096)"),
        Option("e", "switch", ALL, "leave prefetchers alone: latency of sequential accesses"),
        Option("g", "file", LOADED, "file of delays, one a line"),
        Option("h", "", MEMORY, "reserved 1 GiB pages", elsewhere=True),
        Option("i", "number", IDLE | LOADED, "CPU whose node the latency buffer is of"),
        Option("j", "number", IDLE | LOADED | SCAN, "node of the memory"),
        Option("J", "folder", IDLE, "folder on persistent memory, whose file is measured"),
        Option("k", "cpus", BANDWIDTH, "CPUs of the bandwidth threads: 1-3,8"),
        Option("K", "number", BANDWIDTH, "-K0: whole lines (what nearfar's kernels do)"),
        Option("l", "number", MEMORY - SCAN, "stride in bytes, a multiple of 64"),
        Option("L", "", MEMORY, "reserved 2 MiB pages", elsewhere=True),
        Option("m", "mask", BANDWIDTH, "CPUs of the bandwidth threads: 0xfe"),
        Option("n", "number", BANDWIDTH | SCAN,
               "lines of the window of -U (scan: node whose CPUs read)"),
        Option("o", "file", LOADED, "file that says what each CPU does"),
        Option("P", "", LOADED, "flush after every store to pmem (CLFLUSHOPT), with -Z and W5"),
        Option("Q", "", LOADED, "flush after every store (CLFLUSHOPT), with -Z and W5"),
        Option("r", "", LATENCY, "random accesses of the latency thread"),
        Option("R", "", BANDWIDTH, "traffic of reads only (the default)"),
        Option("t", "number", ALL, "seconds of each measurement (scan: threads)"),
        Option("T", "", LOADED, "bandwidth only: no latency thread"),
        Option("u", "", BANDWIDTH, "all bandwidth threads use one buffer"),
        Option("U", "", BANDWIDTH, "random accesses of bandwidth threads", elsewhere=True),
        Option("v", "", ALL, "also the interval of every figure"),
        Option("W", "type", LOADED | {"bandwidth_matrix"}, "traffic type: " + "2, 3, 5 ... 12, 19"),
        Option("x", "number", ALL, "so many samples of each figure, in place of -t; 0: three"),
        Option("X", "", ALL, "one thread of each core", elsewhere=True),
        Option("Y", "", ALL, "AVX2 loads and stores", elsewhere=True),
        Option("Z", "", ALL, "AVX-512 loads and stores", elsewhere=True),
        # What cannot be had.
        Option("f", "number", IDLE, "histogram of latencies",
               refused="single accesses with percentiles are `nearfar measure` itself: leave out "
               "-f"),
        Option("I", "", LOADED, "data integrity",
               refused="nearfar's kernels do not check what they read: leave out -I, and test "
               "memory with a memory tester"),
        Option("M", "file", LOADED, "patterns of the data",
               refused="nearfar's kernels have no chosen data, which no bandwidth depends on but "
               "with link power: leave out -M"),
        Option("C", "number", frozenset({"c2c_latency"}), "size of the window",
               refused="nearfar passes single lines between two cores: leave out -C"),
        Option("E", "", frozenset({"c2c_latency"}), "extra reads",
               refused="nearfar passes single lines between two cores: leave out -E"),
        Option("G", "", frozenset({"c2c_latency"}), "third thread",
               refused="nearfar passes lines between two threads only: leave out -G"),
        Option("H", "", frozenset({"c2c_latency"}), "HITM in place of HIT",
               refused="nearfar measures both HIT and HITM: leave out -H"),
        Option("S", "number", frozenset({"c2c_latency"}) | SCAN, "step",
               refused="nearfar knows no such choice here: leave out -S"),
        Option("w", "number", frozenset({"c2c_latency"}), "CPU that writes",
               refused="nearfar measures every pair of cores: leave out -w"),
        Option("q", "", SCAN, "short output",
               refused="leave out -q and take --quiet or --json"),
    )
}  # fmt: skip
