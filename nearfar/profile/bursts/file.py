"""The run folder's file `bursts`: made for QEMU's plugin, read after the run.

The layout is that of native/profile/qemu/bursts.h.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearfar.base.files import cannot_write
from nearfar.profile.run_file import Records, record_type
from nearfar.program.control import ControlPage

FILE_NAME = "bursts"
MAGIC = int.from_bytes(b"NFBRSTS1", "little")
PER_PHASE, TRACED_PHASES, PHASES = 32, 16, 256
ACCESSES, BLOCKS = 2000, 6000
CODE, CODE_BLOCKS = 1 << 16, 1 << 15

_FILE = record_type(
    "magic u8, phase_offset u4, counting_offset u4, traced u4, code_used u4, blocks_used u4,"
    f"full u4, has_values u4, reserved u4, phases PHASE {PHASES}, code INSTRUCTION {CODE},"
    f"blocks BLOCK {CODE_BLOCKS}, bursts BURST {TRACED_PHASES * PER_PHASE}",
    PHASE=record_type(
        f"instructions u8, next u8, interval u8, base u4, count u4, order u1 {PER_PHASE}"
    ),
    INSTRUCTION=record_type("address u8, size u1, bytes u1 15"),
    BLOCK=record_type("address u8, end u8, first u4, count u4"),
    BURST=record_type(
        "thread u4, block_count u4, access_count u4, closed u4, at u8,"
        f"blocks u4 {BLOCKS}, accesses ACCESS {ACCESSES}",
        ACCESS=record_type("address u8, value u8, block u4, instruction u2, bytes u1, store u1"),
    ),
)


@dataclass(frozen=True)
class RawBurst:
    """One recorded burst."""

    thread: int
    at: int
    blocks: Records
    """Indices in the file's blocks."""
    accesses: Records


@dataclass(frozen=True)
class BurstFile:
    """Code and bursts that the plugin recorded."""

    code: Records
    blocks: Records
    instructions: dict[int, int]
    """Number of instructions executed, by phase number."""
    bursts: dict[int, list[RawBurst]]
    """Recorded bursts by phase number, in order of time."""
    full: bool
    """Whether a table was full, so that some code is missing."""
    has_values: bool
    """Whether loaded values were read."""


def make(folder: Path) -> None:
    """Make the empty file in a run folder and reserve its space."""
    path = folder / FILE_NAME
    head = np.zeros((), np.dtype(_FILE.descr[:3]))
    head["magic"] = MAGIC
    head["phase_offset"] = ControlPage.slots.offset + 4
    head["counting_offset"] = ControlPage.counting.offset
    try:
        with path.open("wb") as file:
            file.write(head.tobytes())
            # Reserved now: a full disk would later be a SIGBUS in QEMU.
            os.posix_fallocate(file.fileno(), 0, _FILE.itemsize)
    except OSError as error:
        raise cannot_write(path, error) from error


def read(folder: Path) -> BurstFile:
    """Return the used part of a run's file."""
    data = np.memmap(folder / FILE_NAME, dtype=_FILE, mode="r", shape=(1,))[0]
    code = np.array(data["code"][: int(data["code_used"])])
    blocks = np.array(data["blocks"][: int(data["blocks_used"])])
    bursts: dict[int, list[RawBurst]] = {}
    instructions: dict[int, int] = {}
    for number in range(PHASES):
        phase = data["phases"][number]
        if not phase["instructions"]:
            continue
        instructions[number] = int(phase["instructions"])
        base = int(phase["base"])
        if base:
            places = phase["order"][: int(phase["count"])].tolist()
            phase_bursts = [_burst(data["bursts"][base - 1 + place]) for place in places]
            bursts[number] = sorted(phase_bursts, key=lambda burst: burst.at)
    full, has_values = bool(data["full"]), bool(data["has_values"])
    return BurstFile(code, blocks, instructions, bursts, full, has_values)


def _burst(row: Records) -> RawBurst:
    return RawBurst(
        thread=int(row["thread"]),
        at=int(row["at"]),
        blocks=np.array(row["blocks"][: int(row["block_count"])]),
        accesses=np.array(row["accesses"][: int(row["access_count"])]),
    )
