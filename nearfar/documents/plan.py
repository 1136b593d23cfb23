"""Plan: the memory of each object, for a budget of near memory.

A plan contains everything needed to apply it: `memories` are named as in the placements, and
objects carry the frames that distinguish them from others in another run. Fields that earlier plans
lack have defaults, so those can still be loaded.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.base.estimate import Estimate, Finite
from nearfar.documents.fields import Amount, Bytes, Whole
from nearfar.documents.header import Document
from nearfar.documents.noise import MeasurementNoise
from nearfar.documents.workload import Frame

NEAR = "near"
"""Name of the first memory in every plan."""


class PlanMemory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One memory of a plan. The first is near memory."""

    name: str
    """Name used in placements: ``near``, ``far``; with several far memories, the device's name."""
    device: str
    """Name of its DeviceProfile."""
    spec: str = ""
    """Memory spec on the machine that runs the program, such as ``node:1``; empty: given to
    `run`."""
    capacity_bytes: Bytes | None = None
    """Maximum number of bytes that the plan may place there; None: no limit. For near memory: the
    budget."""
    used_bytes: Bytes = 0
    """Bytes placed there when the program starts."""
    price_per_byte: Amount = 1.0
    """Relative price: only ratios matter."""
    write_over_read: float | None = None
    """Bandwidth time of a random written line divided by that of a read line. Above near memory's
    value, it should hold read-mostly data."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A range of one object's addresses."""

    memory: str
    share: Amount
    """Share of the object's bytes; an object's parts sum to 1."""
    begin_bytes: Bytes = 0
    """Position of a range within the object's large memory (`RangeTraffic`)."""
    end_bytes: Bytes = 0
    """End of the range; 0: not a range but a share of every block."""


class Placement(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Memory of one object, and what identifies it in another run."""

    object: Whole
    name: str
    size_bytes: Bytes
    memory: str
    """The `PlanMemory` of the object, or of most of its bytes, when the program starts."""
    added_ns_if_far: Estimate
    """Time that it adds if it alone is in far memory; with several far memories, in the first."""
    kind: Literal["heap", "mmap", "file", "stack", "globals", "unknown"] = "unknown"
    frames: list[Frame] = []
    """Innermost first, without wrappers, as in the profile's MemoryObject."""
    told_by: Whole = 1
    """Number of `frames` that distinguish it from other objects."""
    via: str = ""
    split: str = ""
    """Which part of its site it is: a size class such as ``64-127 B``, or the program's own tag."""
    parts: list[Part] = []
    """In address order; empty: the whole object is in `memory`."""
    interleave: dict[str, Bytes] = {}
    """Weight of each memory in the kernel's page interleaving; empty: not interleaved."""


class Move(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Data that moves."""

    object: Whole
    source: str
    """The memory it leaves."""
    memory: str
    """The memory it goes to."""
    bytes: Bytes
    cost_ns: Amount
    """Time of one copy. The plan's time includes it each time the phase starts."""


class PhasePlacements(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Moves at the start of a phase."""

    phase: str
    moves: list[Move]
    entries: Whole = 1
    """Number of times the profiled run entered the phase from another."""


class Undecided(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An object whose memory would be different at one end of the prediction's interval."""

    object: Whole
    name: str
    memory: str
    """Memory in the plan."""
    at_low: str
    """Memory that it would get at the low end of its cost in far memory."""
    at_high: str
    """Memory that it would get at the high end."""


BarName = Literal[
    "all-near",
    "all-far",
    "page-interleaved",
    "bandwidth-interleaved",
    "hot-first",
    "x-mem",
    "memory-mode",
    "greedy",
    "optimal",
    "plan",
    "per-phase",
    "kernel",
]
"""plan: the plan's own placement, if it is none of the others. kernel: for a paged far memory, the
kernel's own choice of pages."""


class Alternative(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One way to place the data, as a bar for comparison."""

    name: BarName
    near_bytes: Bytes
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: Amount
    """Price of the memory used, relative to that of all-near."""
    bytes_by_memory: dict[str, Bytes] = {}
    """Empty in plans of earlier versions."""


class FrontierPoint(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Time with the first objects of the greedy order near."""

    near_bytes: Bytes
    """Bytes of the objects kept near so far."""
    object_added: Whole | None
    """Object that this step keeps near; None for the first point (all far)."""
    time_ns: Estimate
    slowdown: Estimate
    cost_relative: Amount


class Prices(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Relative price per byte; only the ratio matters."""

    near_per_byte: Amount = 5.0
    far_per_byte: Amount = 1.0
    source: str = "X-Mem (EuroSys 2016): DRAM costs 5x NVM per bit"


class SlowdownGoal(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The slowdown that the plan must meet with as little near memory as possible."""

    most_slowdown: Amount
    """1.10 is 10 % slower than all near."""
    judged_by: Literal["value", "high"]
    """Part of the predicted interval that must meet the goal."""
    reached: bool


class RunCost(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """CPU time that `nearfar run` itself adds under the plan, measured where the plan was made."""

    start_ns: Finite
    """Added to each process: loading the library."""
    near_block_ns: Finite
    """Time added to the C library's malloc and free for a near block; negative: faster than
    these."""
    far_block_ns: Finite
    near_blocks: Amount
    """Blocks of near objects in the profile; for several profiles, the mean."""
    far_blocks: Amount
    total_ns: Finite
    """Sum for one process with these blocks."""
    saved_ns: Finite
    """Predicted time of all-far minus that of the plan; for several profiles, the mean."""


class Plan(Document, kw_only=True, forbid_unknown_fields=True):
    """A placement for one budget, the bars to compare it with, and the frontier of all budgets."""

    KIND: ClassVar[str] = "plan"
    MADE_BY: ClassVar[str] = "nearfar place -o"
    VERSION: ClassVar[int] = 1

    profile: str
    near: str
    far: str
    """Device of the far memory; if there are several, of the first."""
    phase: str
    """The phase whose time is minimised, or ``total``."""
    budget_bytes: Bytes
    footprint_bytes: Bytes
    placements: list[Placement]
    alternatives: list[Alternative]
    frontier: list[FrontierPoint]
    prices: Prices
    proven_gap: Finite | None
    """Largest distance from the best choice, as a share of the saved time; None with moves.

    With many objects, a bound under an assumption on the model that docs/place.md states."""
    caveats: list[str] = []
    memories: list[PlanMemory] = []
    """Near memory first; empty in plans of earlier versions, which only have ``near`` and
    ``far``."""
    phases: list[PhasePlacements] = []
    """In the order of the run; empty: nothing moves while the program runs."""
    undecided: list[Undecided] = []
    goal: SlowdownGoal | None = None
    """None: the budget was given."""
    profiles: list[str] = []
    """Files of the profiles from which it was made, if there were several."""
    over_profiles: Literal["", "mean", "worst"] = ""
    """Quantity minimised over several profiles' slowdowns."""
    noise: MeasurementNoise | None = None
    """Noise of the measurements on which it is based; None: below the model's own error."""
    run_cost: RunCost | None = None
    """None: nothing is far, the plan is for a single phase, or it was not measured."""

    def contradiction(self) -> str:
        """Return which object's interleaving has no weight above 0; empty: none."""
        for row in self.placements:
            if row.interleave and not any(row.interleave.values()):
                return f"the interleaving of object {row.object} has no weight above 0"
        return ""
