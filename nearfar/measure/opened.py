"""A memory ready to be measured, and what is known of it before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nearfar.measure.subject import Subject

Technology = Literal[
    "dram", "remote-dram", "hbm", "cxl", "pmem", "nvdimm", "emulated", "file", "other"
]


@dataclass
class OpenedMemory:
    """A subject and where it comes from."""

    subject: Subject
    what: str
    """For the profile's title: ``dram of AMD EPYC``."""
    citation: str
    technology: Technology
    capacity_bytes: int | None = None
    durable: bool = False
    persists_through: str = ""
    cpus: tuple[int, ...] = ()
    """The first times, the others accompany; empty: simulated."""
    llc_bytes: int = 0
    inner_bytes: int = 0
    """The largest data cache before the last level; 0: none."""
    contended: bool = False
    """Whether another core loads the memory all the while."""
    facts: dict[str, str] = field(default_factory=dict)
    """For the profile's environment."""
    warnings: list[str] = field(default_factory=list)
