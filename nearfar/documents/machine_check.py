"""MachineCheck: what of a machine works for far memory, what lacks, what that costs, what mends."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from nearfar.documents.header import Document

State = Literal["works", "lacks", "note", "unknown", "absent"]
"""works; lacks: something is missing or wrong; note: nothing is wrong, but it misleads people;
unknown: this user, or a captured tree, cannot tell; absent: the machine has no such thing."""


class Finding(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one check found."""

    name: str
    state: State
    found: str
    """What was seen, and where."""
    costs: str = ""
    """What a program or a measurement loses by it; of lacks and notes."""
    mend: str = ""
    """A command a person could type, or empty where none mends it."""
    symptom: str = ""
    """How it shows itself to somebody who does not know of it."""


class MachineCheck(Document, kw_only=True, forbid_unknown_fields=True):
    """All findings about one machine, in the order of their names."""

    KIND: ClassVar[str] = "machine-check"
    VERSION: ClassVar[int] = 1

    findings: list[Finding]

    def lacks(self) -> list[Finding]:
        """Return what lacks: where there is any, `nearfar machine --check` ends with 1."""
        return [finding for finding in self.findings if finding.state == "lacks"]
