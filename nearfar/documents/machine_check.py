"""MachineCheck: abilities for far memory that work or are missing, the loss, and the fix."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

State = Literal["works", "lacks", "note", "unknown", "absent"]
"""works; lacks: something is missing or wrong; note: nothing is wrong, but it misleads people;
unknown: this user, or a captured tree, cannot tell; absent: the machine has no such thing."""


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of one check."""

    name: str
    state: State
    found: str
    """Observation, and the file or command it comes from."""
    costs: str = ""
    """Loss for a program or a measurement; only for the states lacks and note."""
    fix: str = msgspec.field(default="", name="mend")
    """Command that fixes it; empty: none does."""
    symptom: str = ""
    """Symptom that a user who does not know the cause sees."""


class MachineCheck(Document, kw_only=True, forbid_unknown_fields=True):
    """All findings about one machine, in the order of their names."""

    KIND: ClassVar[str] = "machine-check"
    VERSION: ClassVar[int] = 1

    findings: list[Finding]

    def lacks(self) -> list[Finding]:
        """Return what is missing or wrong: if any, `nearfar machine --check` ends with 1."""
        return [finding for finding in self.findings if finding.state == "lacks"]
