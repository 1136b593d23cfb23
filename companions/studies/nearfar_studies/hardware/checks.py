"""Checks of stand-in programs: published properties next to the counts of the profiles.

A `[[figures]]` entry of a program's TOML file states for which inputs (`match`) it holds, the
amount of a quantity per operation, the source, and the allowed difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar.base.errors import NearfarError
from nearfar.base.units import LINE_BYTES
from nearfar.documents.workload import Phase, Traffic, WorkloadProfile

KEYS = {"match", "what", "quantity", "objects", "value", "tolerance", "source"}
"""Keys of an entry. `objects` is optional; without it, all objects count."""


@dataclass(frozen=True)
class SourceFigure:
    """A property of a program that a source states."""

    match: str
    what: str
    quantity: str
    objects: tuple[str, ...]
    value: float
    tolerance: float
    """Largest relative difference at which the stand-in program agrees with the source."""
    source: str


@dataclass(frozen=True)
class FigureCheck:
    """A figure that a source states, and the same figure of a stand-in program's profile."""

    figure: SourceFigure
    ours: float

    @property
    def difference(self) -> float:
        """Return ours divided by the source's, minus 1."""
        return self.ours / self.figure.value - 1.0

    @property
    def agrees(self) -> bool:
        """Return whether ours is within the tolerance."""
        return abs(self.difference) <= self.figure.tolerance


def read_figures(entries: list[dict[str, Any]], where: str) -> tuple[SourceFigure, ...]:
    """Return the figures of a TOML file. Raises NearfarError for an unknown key or quantity."""
    for entry in entries:
        unknown = set(entry) - KEYS or KEYS - {"objects"} - set(entry)
        if unknown:
            raise NearfarError(f"{where}: a figure has or lacks {', '.join(sorted(unknown))}")
        if entry["quantity"] not in QUANTITIES:
            raise NearfarError(
                f"{where}: {entry['quantity']!r} is no quantity: write {', '.join(QUANTITIES)}"
            )
    return tuple(
        SourceFigure(**{**entry, "objects": tuple(entry.get("objects", ()))}) for entry in entries
    )


def checked(
    figures: tuple[SourceFigure, ...], text: str, profile: WorkloadProfile, phase: str
) -> list[FigureCheck]:
    """Compare `profile` with the figures that hold for the input `text` ("PROGRAM: INPUT")."""
    (counted,) = (entry for entry in profile.phases if entry.name == phase)
    return [
        FigureCheck(figure, QUANTITIES[figure.quantity](_Counted(profile, counted, figure.objects)))
        for figure in figures
        if re.search(figure.match, text)
    ]


@dataclass(frozen=True)
class _Counted:
    """Counts of some objects in one phase."""

    profile: WorkloadProfile
    phase: Phase
    objects: tuple[str, ...]

    def each(self, count: Callable[[Traffic], float]) -> float:
        """Return a count per operation."""
        total = sum(count(row.traffic) for row in self.phase.objects if self._counts(row.object))
        return total / (self.phase.operations or 1.0)

    def data_bytes(self) -> float:
        """Return the size of the objects."""
        entries = self.profile.objects
        return float(sum(entry.size_bytes for entry in entries if self._counts(entry.id)))

    def instructions(self) -> float:
        """Return instructions per operation; 0 without bursts."""
        bursts = self.profile.bursts
        phases = bursts.phases if bursts is not None else []
        total = sum(entry.instructions for entry in phases if entry.phase == self.phase.name)
        return total / (self.phase.operations or 1.0)

    def _counts(self, number: int) -> bool:
        name = self.profile.objects[number].name
        return not self.objects or name.endswith(tuple(f", {each}" for each in self.objects))


QUANTITIES: dict[str, Callable[[_Counted], float]] = {
    "read_bytes": lambda c: LINE_BYTES * c.each(Traffic.misses),
    "written_bytes": lambda c: LINE_BYTES * c.each(lambda t: t.write_backs),
    "moved_bytes": lambda c: LINE_BYTES * c.each(lambda t: t.misses() + t.write_backs),
    "misses": lambda c: c.each(Traffic.misses),
    "accesses": lambda c: c.each(lambda t: t.accesses),
    "nt_store_bytes": lambda c: c.each(lambda t: t.nt_store_bytes),
    "flushes": lambda c: c.each(lambda t: t.flushes),
    "fences": lambda c: c.each(lambda t: t.fences),
    "instructions": _Counted.instructions,
    "data_bytes": _Counted.data_bytes,
    "data_bytes_per_operation": lambda c: c.data_bytes() / (c.phase.operations or 1.0),
}
"""Quantities by name; all except `data_bytes` are per operation. Bytes read include the
lines that stores read first (reads for ownership)."""
