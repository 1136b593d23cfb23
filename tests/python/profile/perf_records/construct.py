"""Makes the constructed files beside it: `python construct.py`."""

from __future__ import annotations

import struct
from pathlib import Path

SAMPLE, LOST, THROTTLE, LOST_SAMPLES, EXIT = 9, 2, 5, 13, 4
USER = 2
"""PERF_RECORD_MISC_USER."""
LOAD, STORE, NOT_AVAILABLE = 0x02, 0x04, 0x01
L1, L3, RAM, CXL, LEVEL_UNKNOWN = 0x01, 0x03, 0x0D, 0x09, 0x0F
HIT, MISS, OLD_L3, OLD_LOCAL_RAM, OLD_REMOTE_CACHE = 0x02, 0x04, 0x40, 0x80, 0x400


def source(operation: int, level: int, remote: int = 0, old_level: int = 0) -> int:
    """Return a PERF_SAMPLE_DATA_SRC word."""
    return operation | old_level << 5 | level << 33 | remote << 37


def record(kind: int, body: bytes, misc: int = USER) -> bytes:
    """Return a record with its header."""
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def pebs(ip: int, address: int, cycles: int, data_source: int, period: int = 1000) -> bytes:
    """Return a sample of IP, TID, TIME, ADDR, PERIOD, WEIGHT, DATA_SRC."""
    words = (ip, 70, 71, 5_000_000, address, period, cycles, data_source)
    return record(SAMPLE, struct.pack("<QIIQQQQQ", *words))


def ibs(address: int, cycles: int, data_source: int) -> bytes:
    """Return a sample with IDENTIFIER, IP, TID, TIME, ADDR, CPU, PERIOD, CALLCHAIN, RAW,
    WEIGHT_STRUCT, DATA_SRC, PHYS_ADDR."""
    raw = b"\1" * 20
    body = struct.pack("<QQIIQQIIQ", 9, 0x401000, 80, 80, 7, address, 1, 0, 250)
    body += struct.pack("<QQQ", 2, 0x401000, 0x402000)
    body += struct.pack("<I", len(raw)) + raw
    body += struct.pack("<IHH", cycles, 7, 8) + struct.pack("<QQ", data_source, 0x123000)
    return record(SAMPLE, body)


FILES = {
    "constructed-pebs.bin": b"".join(
        [
            pebs(0x401136, 0x7F0000001040, 350, source(LOAD, RAM)),
            pebs(0x401136, 0x7F0000001080, 40, source(LOAD, L3)),
            record(LOST, struct.pack("<QQ", 1, 17)),
            pebs(0x40114A, 0x7F0000002000, 480, source(LOAD, RAM, remote=1), period=3000),
            pebs(0x40114A, 0x7F0000002040, 700, source(LOAD, CXL)),
            pebs(0x40114A, 0x7F0000002080, 90, source(LOAD, L3, remote=1)),
            record(THROTTLE, struct.pack("<QQQ", 9, 1, 1)),
            # Kernels before 4.14 tell the level only as a set of bits.
            pebs(0x401150, 0x7F0000003000, 300, source(LOAD, 0, 0, HIT | OLD_LOCAL_RAM)),
            pebs(0x401150, 0x7F0000003040, 300, source(LOAD, 0, 0, MISS | OLD_L3)),
            pebs(0x401150, 0x7F0000003080, 30, source(LOAD, 0, 0, HIT | OLD_L3)),
            pebs(0x401150, 0x7F00000030C0, 200, source(LOAD, 0, 0, HIT | OLD_REMOTE_CACHE)),
            record(LOST_SAMPLES, struct.pack("<Q", 3)),
            record(EXIT, struct.pack("<IIIIQ", 70, 1, 70, 1, 9)),
        ]
    ),
    "constructed-ibs.bin": b"".join(
        [
            ibs(0x555500001000, 420, source(LOAD, RAM)),
            ibs(0x555500002000, 0, source(STORE, RAM)),
            ibs(0, 0, source(NOT_AVAILABLE, LEVEL_UNKNOWN)),
            ibs(0x555500003000, 5, source(LOAD, L1)),
        ]
    ),
}

if __name__ == "__main__":
    for name, content in FILES.items():
        (Path(__file__).parent / name).write_bytes(content)
