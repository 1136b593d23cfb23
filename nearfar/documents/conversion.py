"""Conversion: the steps that `nearfar machine convert` planned or did; also kept over a reboot."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document


class ConversionStep(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One command of a conversion."""

    command: str
    """Command as a user would type it."""
    why: str
    destroys: list[str] = []
    """Names of the devices whose data it destroys: --destroy must list each."""
    reboot: bool = False
    after_reboot: bool = False
    """Whether it runs after the reboot. Its names are the usual ones until they are read from the
    machine."""
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
    """Target as typed: fsdax, mixed:50%."""
    device: str | None = None
    file_system: str = "ext4"
    destroy: list[str] = []
    """Names whose data may be destroyed."""
    state: Literal["done", "drafted", "stopped", "acting", "reboot"] = "drafted"
    """drafted: nothing was done; stopped: an obstacle; reboot: the rest follows after it."""
    boot_id: str = ""
    """The kernel's boot ID when this was written: a different one means that the machine was
    rebooted."""
    steps: list[ConversionStep] = []
    obstacles: list[ConversionObstacle] = []
    warnings: list[str] = []
