"""Bursts in a WorkloadProfile: short stretches of all that one thread executed, in full.

The rest of a profile counts; bursts keep the order. Each holds the blocks of code a thread went
through and every access to memory these made, with lines renamed: line n + 1 lies behind line n,
numbers further apart mean nothing. The code is kept once, as what each instruction reads and
writes, which shows what waits for what.
"""

from __future__ import annotations

import msgspec

FLAGS = 255
"""Number of the flags register: above all other registers' numbers."""


class Code(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An instruction as what it needs and gives; registers are numbers, flags are one."""

    address: list[int] = []
    """Registers that the address of its access is made of."""
    uses: list[int] = []
    """Registers it reads besides."""
    defs: list[int] = []
    cycles: int = 1
    """From its inputs to its result, an access left out."""
    conditional: bool = False
    """A branch that may go either way."""
    access: int = -1
    """Its place in `Bursts.accesses`; -1: it touches no memory."""


class Block(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Instructions that are executed one after another."""

    first: int
    """Its first instruction's place in `Bursts.code`."""
    count: int
    begin: int
    """Address, counted from the lowest seen: a branch was taken if the next block does not begin
    where this one ends."""
    end: int


class BurstAccess(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An instruction that touches memory, as the bursts' own run saw it."""

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
    """By place in `Bursts.phases`: misses of the last-level cache per access."""


class Burst(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One stretch. The lists of accesses have one entry for each, in program order."""

    thread: int
    """Counted from 0 in order of appearance."""
    at: int
    """Instructions that the phase had executed before."""
    blocks: list[int]
    """Places in `Bursts.blocks`."""
    gaps: list[int]
    """Instructions from the access before (from the start) to this one; 0: the same one's."""
    lines: list[int]
    """Loads: the line; stores: -1 - line."""
    offsets: list[int]
    """First byte in the line, 0 to 63."""
    depends: list[int]
    """Number of accesses back to the newest load that the address comes from; 0: none in this
    burst. A value that is stored and loaded again in the burst keeps its first origin."""


class ObjectBursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Dependences of one object's misses, from the bursts of a phase."""

    object: int
    misses: float
    """In the bursts, as many as the instructions' miss rates make."""
    read_misses: float | None = None
    """Misses that are loads: the total of the shares. None in older profiles."""
    dependent_share: float
    """Share of missing loads whose address comes from another load that misses in the burst."""
    value_share: float | None = None
    """The same by values alone: the address lies up to 4 KiB above one of the last 32 pointers
    loaded. None where values could not be read."""
    chain_depth: float
    """Misses that come one from another, mean over its misses: 1 for independent ones."""
    instructions_between: float
    """From one of its misses to the next, mean."""


class PhaseBursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The bursts of one phase, spread over it."""

    phase: str
    instructions: float
    """That the phase executed in the bursts' run, nearly."""
    bursts: list[Burst]
    objects: list[ObjectBursts]
    mispredictions_per_1000: float
    """Branches that a predictor of two tables gets wrong, per 1000 instructions."""
    walks_apart: float | None = None
    """Share of page walks (4 KiB pages, streams left out) that read a line of a page table which
    none of the hundred accesses before read, 0..1. None: too few walks, or not counted."""


class Bursts(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All bursts of a run, and the code that they went through."""

    code: list[Code]
    blocks: list[Block]
    accesses: list[BurstAccess]
    phases: list[PhaseBursts]
    build_digest: str = ""
    """SHA-256 of the executable that was recorded; empty in older profiles."""
