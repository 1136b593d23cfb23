"""Figures of a processor's core: measured here, or published with their source."""

from __future__ import annotations

import msgspec

from nearfar.documents.device import How, Source


class CoreFigure(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One figure of a core, in the unit that its key names."""

    value: float
    low: float | None = None
    high: float | None = None
    """95 % interval if it was measured, else the range of the sources."""
    how: How = "published"
    source: str = ""
    """Key into the core's sources."""
    note: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """Return low and high; the value itself if they are unknown."""
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )


class ProcessorIds(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Processors that contain a core, by the ID that hypervisors pass on."""

    pattern: str
    """Regular expression for the whole ID; without the stepping if it does not matter."""
    source: str
    """Key into the core's sources."""
    note: str = ""


class PageWalk(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Time that page walks add to a random access."""

    page_bytes: int
    footprint_bytes: int
    walk_ns: CoreFigure


class CoreFigures(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One core. A figure that is None is not known; `not_seen` may say why."""

    name: str
    title: str = ""
    cpu_models: list[str] = []
    """Regular expressions for the names of processors that have this core."""
    cpu_ids: list[ProcessorIds] = []
    """The same by vendor, family, model and stepping, for processors whose name is not enough."""
    plausible: bool = True
    """Whether an unknown processor may have this core; false for simulated and old ones."""
    sources: dict[str, Source] = {}
    frequency_ghz: CoreFigure | None = None
    width: CoreFigure | None = None
    """Instructions that enter the window per cycle."""
    reorder_window: CoreFigure | None = None
    """Instructions in flight."""
    load_compute_entries: CoreFigure | None = None
    """Window entries of an instruction that loads and computes; None: 1, fused."""
    load_buffer: CoreFigure | None = None
    """Loads in flight."""
    store_buffer: CoreFigure | None = None
    """Stores in flight."""
    miss_buffers: CoreFigure | None = None
    """Misses of the first-level data cache in flight."""
    integer_registers: CoreFigure | None = None
    """Results in flight in addition to the architectural registers."""
    vector_registers: CoreFigure | None = None
    flag_registers: CoreFigure | None = None
    mispredict_cycles: CoreFigure | None = None
    """Cycles from a mispredicted branch's result until the correct instructions enter."""
    first_level_cycles: CoreFigure | None = None
    """Latency of a hit in the first-level data cache."""
    second_level_cycles: CoreFigure | None = None
    last_level_cycles: CoreFigure | None = None
    """Latency of a hit in the last cache before memory."""
    private_bytes: CoreFigure | None = None
    """Size of the largest cache that belongs to one core only."""
    integer_add_cycles: CoreFigure | None = None
    integer_multiply_cycles: CoreFigure | None = None
    integer_divide_cycles: CoreFigure | None = None
    """Divides 64 bits."""
    float_add_cycles: CoreFigure | None = None
    """Floating point: double precision."""
    float_multiply_cycles: CoreFigure | None = None
    float_fma_cycles: CoreFigure | None = None
    float_divide_cycles: CoreFigure | None = None
    page_walks: list[PageWalk] = []
    prefetch_start_lines: CoreFigure | None = None
    """Lines read in sequence before the prefetcher follows."""
    prefetch_distance_lines: CoreFigure | None = None
    """Number of lines by which it then runs ahead."""
    prefetch_stride_bytes: CoreFigure | None = None
    """Longest stride that it follows."""
    prefetch_next_page: CoreFigure | None = None
    """1 where it follows a stream into the next 4 KiB page, else 0."""
    not_seen: dict[str, str] = {}
    """Figures that a measurement could not show, by key, with the reason."""

    def __hash__(self) -> int:
        return hash((self.name, self.reorder_window, self.store_buffer))

    def figures(self) -> dict[str, CoreFigure]:
        """Return the known figures by key."""
        known = {key: getattr(self, key) for key in self.__struct_fields__}
        return {key: value for key, value in known.items() if isinstance(value, CoreFigure)}
