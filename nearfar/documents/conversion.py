"""Conversion: what `nearfar machine convert` drafted or did; also its note over a reboot."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document


class ConversionStep(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One command of a conversion."""

    command: str
    """As a person would type it."""
    why: str
    destroys: list[str] = []
    """Whose data it destroys: each must be named by --destroy."""
    reboot: bool = False
    after_reboot: bool = False
    """Names are the usual ones; they are read from the machine after the reboot."""
    done: bool = False


class ConversionObstacle(
    msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A precondition that does not hold."""

    what: str
    fix: str = msgspec.field(default="", name="mend")


class Conversion(Document, kw_only=True, forbid_unknown_fields=True):
    """One conversion of far memory."""

    KIND: ClassVar[str] = "conversion"
    VERSION: ClassVar[int] = 1

    to: str
    """As typed: fsdax, mixed:50%."""
    device: str | None = None
    file_system: str = "ext4"
    destroy: list[str] = []
    """Names whose data may be destroyed."""
    state: Literal["done", "drafted", "stopped", "acting", "reboot"] = "drafted"
    """drafted: nothing was done; stopped: an obstacle; reboot: the rest follows after it."""
    boot_id: str = ""
    """The kernel's, when it was written: another one means that the machine was rebooted."""
    steps: list[ConversionStep] = []
    obstacles: list[ConversionObstacle] = []
    warnings: list[str] = []
