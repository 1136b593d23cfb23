"""Findings of `nearfar machine --check` as text for a terminal, missing abilities first."""

from __future__ import annotations

import textwrap

from nearfar.documents.machine_check import Finding, MachineCheck, State
from nearfar.machine.render import WIDTH

TITLES: dict[State, str] = {
    "lacks": "lacks",
    "note": "works, but misleads",
    "unknown": "cannot be told here",
    "works": "works",
    "absent": "not on this machine",
}


def render_check(check: MachineCheck) -> str:
    """Return one block for each state that occurs; each finding with its cost and its command."""
    lines: list[str] = []
    for state, title in TITLES.items():
        findings = [finding for finding in check.findings if finding.state == state]
        if not findings:
            continue
        if lines:
            lines.append("")
        lines.append(f"{title} ({len(findings)})")
        for finding in findings:
            lines += _lines(finding)
    if not check.lacks():
        lines += ["", "nothing lacks"]
    return "\n".join(lines) + "\n"


def _lines(finding: Finding) -> list[str]:
    lines = _wrap(f"{finding.name}: {finding.found}", "  - ")
    if finding.costs:
        lines += _wrap(f"costs: {finding.costs}", "    ")
    if finding.symptom:
        lines += _wrap(f"shows as: {finding.symptom}", "    ")
    if finding.fix:
        # A command is never wrapped, so that it can be copied.
        lines.append(f"    fix: {finding.fix}")
    return lines


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
