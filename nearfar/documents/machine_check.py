"""MachineCheck: which abilities for far memory work or are missing, the effect, and the fix."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

State = Literal["works", "lacks", "note", "unknown", "absent"]
"""works; lacks: something is missing or wrong; note: nothing is wrong, but this often misleads
users; unknown: this user, or a captured tree, cannot find out; absent: the machine does not have
it."""


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of one check."""

    name: str
    state: State
    found: str
    """Observation, and the file or command it comes from."""
    costs: str = ""
    """Disadvantage for a program or a measurement; only for the states lacks and note."""
    fix: str = msgspec.field(default="", name="mend")
    """Command that fixes it; empty: there is none."""
    symptom: str = ""
    """Symptom for a user who does not know the cause."""


class MachineCheck(Document, kw_only=True, forbid_unknown_fields=True):
    """All findings about one machine, in the order of their names."""

    KIND: ClassVar[str] = "machine-check"
    VERSION: ClassVar[int] = 1

    findings: list[Finding]

    def lacks(self) -> list[Finding]:
        """Return what is missing or wrong: if anything is, `machine --check` exits with 1."""
        return [finding for finding in self.findings if finding.state == "lacks"]
