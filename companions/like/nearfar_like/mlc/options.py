"""MLC's options: the value, the modes and the meaning of each.

Help, parser and refusals come from this table; a test compares `docs/like.md` with it.
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
"""Modes of a run without a mode, in MLC's order."""

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
"""Kind of value; switch: 0, 1 or no value."""


@dataclass(frozen=True)
class MlcOption:
    """An option of MLC."""

    letter: str
    takes: Takes
    modes: frozenset[str]
    meaning: str
    refused: str = ""
    """Why nearfar refuses the option and what to do; empty: it does not."""
    elsewhere: bool = False
    """Whether the option is accepted with a note in other modes, where it changes nothing."""


OPTIONS: dict[str, MlcOption] = {
    option.letter: option
    for option in (
        MlcOption("a", "", frozenset({"latency_matrix"}), "latency from every CPU, not every node"),
        MlcOption("b", "size", MEMORY - SCAN, "buffer of each thread: 200m, 1g, or KiB"),
        MlcOption("B", "", LOADED, "also bandwidth of every thread"),
        MlcOption("c", "number", IDLE | LOADED, "CPU that measures latency"),
        MlcOption("d", "number", LOADED, "one delay, in cycles for every two lines"),
        MlcOption("D", "number", LATENCY, "lines of the window of random latency (default 4096)"),
        MlcOption("e", "switch", ALL, "leave prefetchers alone: latency of sequential accesses"),
        MlcOption("g", "file", LOADED, "file of delays, one a line"),
        MlcOption("h", "", MEMORY, "reserved 1 GiB pages", elsewhere=True),
        MlcOption("i", "number", IDLE | LOADED, "CPU whose node the latency buffer is of"),
        MlcOption("j", "number", IDLE | LOADED | SCAN, "node of the memory"),
        MlcOption("J", "folder", IDLE, "folder on persistent memory, whose file is measured"),
        MlcOption("k", "cpus", BANDWIDTH, "CPUs of the bandwidth threads: 1-3,8"),
        MlcOption("K", "number", BANDWIDTH, "-K0: whole lines (what nearfar's kernels do)"),
        MlcOption("l", "number", MEMORY - SCAN, "stride in bytes, a multiple of 64"),
        MlcOption("L", "", MEMORY, "reserved 2 MiB pages", elsewhere=True),
        MlcOption("m", "mask", BANDWIDTH, "CPUs of the bandwidth threads: 0xfe"),
        MlcOption("n", "number", BANDWIDTH | SCAN,
               "lines of the window of -U (scan: node whose CPUs read)"),
        MlcOption("o", "file", LOADED, "file that says what each CPU does"),
        MlcOption("P", "", LOADED, "flush after every store to pmem (CLFLUSHOPT), with -Z and W5"),
        MlcOption("Q", "", LOADED, "flush after every store (CLFLUSHOPT), with -Z and W5"),
        MlcOption("r", "", LATENCY, "random accesses of the latency thread"),
        MlcOption("R", "", BANDWIDTH, "traffic of reads only (the default)"),
        MlcOption("t", "number", ALL, "seconds of each measurement (scan: threads)"),
        MlcOption("T", "", LOADED, "bandwidth only: no latency thread"),
        MlcOption("u", "", BANDWIDTH, "all bandwidth threads use one buffer"),
        MlcOption("U", "", BANDWIDTH, "random accesses of bandwidth threads", elsewhere=True),
        MlcOption("v", "", ALL, "also the interval of every figure"),
        MlcOption("W", "type", LOADED | {"bandwidth_matrix"}, "traffic type: 2, 3, 5 ... 12, 19"),
        MlcOption("x", "number", ALL, "so many samples of each figure, in place of -t; 0: three"),
        MlcOption("X", "", ALL, "one thread of each core", elsewhere=True),
        MlcOption("Y", "", ALL, "AVX2 loads and stores", elsewhere=True),
        MlcOption("Z", "", ALL, "AVX-512 loads and stores", elsewhere=True),
        # Refused options.
        MlcOption("f", "number", IDLE, "histogram of latencies",
               refused="single accesses with percentiles are `nearfar measure` itself: leave out "
               "-f"),
        MlcOption("I", "", LOADED, "data integrity",
               refused="nearfar's kernels do not check what they read: leave out -I, and test "
               "memory with a memory tester"),
        MlcOption("M", "file", LOADED, "patterns of the data",
               refused="nearfar's kernels have no chosen data, which no bandwidth depends on but "
               "with link power: leave out -M"),
        MlcOption("C", "number", frozenset({"c2c_latency"}), "size of the window",
               refused="nearfar passes single lines between two cores: leave out -C"),
        MlcOption("E", "", frozenset({"c2c_latency"}), "extra reads",
               refused="nearfar passes single lines between two cores: leave out -E"),
        MlcOption("G", "", frozenset({"c2c_latency"}), "third thread",
               refused="nearfar passes lines between two threads only: leave out -G"),
        MlcOption("H", "", frozenset({"c2c_latency"}), "HITM in place of HIT",
               refused="nearfar measures both HIT and HITM: leave out -H"),
        MlcOption("S", "number", frozenset({"c2c_latency"}) | SCAN, "step",
               refused="nearfar knows no such choice here: leave out -S"),
        MlcOption("w", "number", frozenset({"c2c_latency"}), "CPU that writes",
               refused="nearfar measures every pair of cores: leave out -w"),
        MlcOption("q", "", SCAN, "short output",
               refused="leave out -q and use --quiet or --json"),
    )
}  # fmt: skip
