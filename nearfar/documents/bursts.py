"""Bursts in a WorkloadProfile: short series of everything that one thread executed.

The rest of a profile contains counts; bursts preserve the order. A burst contains the blocks of
code that the thread executed and all their accesses to memory, with renumbered lines: line n + 1
follows line n in memory; numbers further apart have no meaning. The code is stored once, as the
inputs and outputs of each instruction, which show the dependences.
"""

from __future__ import annotations

import msgspec

FLAGS = 255
"""Number of the flags register: above all other registers' numbers."""


class Code(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An instruction as its inputs and outputs; registers are numbers, and so are the flags."""

    address: list[int] = []
    """Registers from which the address of its access is computed."""
    uses: list[int] = []
    """Other registers that it reads."""
    defs: list[int] = []
    cycles: int = 1
    """Latency from its inputs to its result in cycles, without its memory access."""
    conditional: bool = False
    """Whether it is a conditional branch."""
    access: int = -1
    """Index of its access in `Bursts.accesses`; -1: it does not access memory."""


class Block(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Instructions that are executed one after another."""

    first: int
    """Index of its first instruction in `Bursts.code`."""
    count: int
    begin: int
    """Address relative to the lowest one: a branch was taken if the next block does not begin where
    this one ends."""
    end: int


class BurstAccess(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An instruction that accesses memory, as recorded in the run for bursts."""

    function: str
    file: str = ""
    line: int = 0
    bytes: int
    loads: bool = True
    stores: bool = False
    access_class: str = "opaque"
    """Access class of the profile's instruction at the same place."""
    object: int = -1
    """Object that most of its accesses touch; -1: unknown."""
    misses: list[float] = []
    """Misses of the last-level cache per access, by index in `Bursts.phases`."""


class Burst(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One series of instructions; lists about accesses have one entry each, in program order."""

    thread: int
    """Number of the thread, from 0 in order of appearance."""
    at: int
    """Instructions that the phase had executed before."""
    blocks: list[int]
    """Indices in `Bursts.blocks`."""
    gaps: list[int]
    """Instructions from the previous access (or from the start) to this one; 0: the same
    instruction."""
    lines: list[int]
    """For a load, the line; for a store, -1 - line."""
    offsets: list[int]
    """Offset of the first byte in the line, 0 to 63."""
    depends: list[int]
    """Distance in accesses back to the newest load on which the address depends; 0: none in this
    burst. A value that is stored and loaded again within the burst keeps its first origin."""


class ObjectBursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Dependences of one object's misses, from the bursts of a phase."""

    object: int
    misses: float
    """Misses in the bursts, computed from the miss rates of the instructions."""
    read_misses: float | None = None
    """Misses that are loads, to which the shares refer. None in older profiles."""
    dependent_share: float
    """Share of missing loads whose address comes from another load that misses in the burst."""
    value_share: float | None = None
    """The same share, from values alone: the address is at most 4 KiB above one of the last 32
    loaded pointers. None if values could not be read."""
    chain_depth: float
    """Mean length of a chain of dependent misses; 1 if misses are independent."""
    instructions_between: float
    """Mean number of instructions between two of its misses."""


class PhaseBursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The bursts of one phase, spread over it."""

    phase: str
    instructions: float
    """Approximate number of instructions that the phase executed in the run for bursts."""
    bursts: list[Burst]
    objects: list[ObjectBursts]
    mispredictions_per_1000: float
    """Branches that a predictor with two tables mispredicts, per 1000 instructions."""
    walks_apart: float | None = None
    """Share of page walks (4 KiB pages, without streams) that read a page-table line which none of
    the previous hundred accesses read, 0..1. None: too few walks, or not counted."""


class Bursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All bursts of a run, and the code that they executed."""

    code: list[Code]
    blocks: list[Block]
    accesses: list[BurstAccess]
    phases: list[PhaseBursts]
    build_digest: str = ""
    """SHA-256 of the executable that was recorded; empty in older profiles."""
