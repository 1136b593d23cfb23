"""A conversion as text: what would be done, what stands in its way."""

from __future__ import annotations

import textwrap

from nearfar.documents.conversion import Conversion
from nearfar.machine.render import WIDTH


def render_conversion(conversion: Conversion) -> str:
    """Return the steps as commands below their reasons, then warnings and obstacles."""
    if conversion.state == "done" and not conversion.steps:
        return f"nothing to do: it is {conversion.to} already\n"
    lines: list[str] = []
    for number, step in enumerate(conversion.steps, start=1):
        mark = " (done)" if step.done else " (after the reboot)" if step.after_reboot else ""
        lines += _wrap(f"{number}. {step.why}{mark}", "")
        # Never wrapped: it is there to be copied.
        lines.append(f"   {step.command}")
        if step.destroys:
            lines += _wrap(f"DESTROYS the data in {' and '.join(step.destroys)}", "   ")
    for warning in conversion.warnings:
        lines += _wrap(f"warning: {warning}", "")
    for obstacle in conversion.obstacles:
        lines += _wrap(f"stops it: {obstacle.what}", "")
        if obstacle.fix:
            lines.append(f"   fix: {obstacle.fix}")
    lines += ["", *_end(conversion)]
    return "\n".join(lines) + "\n"


def _end(conversion: Conversion) -> list[str]:
    if conversion.state == "done":
        return [f"done: it is {conversion.to}"]
    if conversion.state == "reboot":
        return ["now reboot, then go on with:", "   sudo nearfar machine convert --resume --yes"]
    if conversion.state == "stopped":
        return ["nothing was done"]
    destroyed = sorted({name for step in conversion.steps for name in step.destroys})
    typed = "".join(f" --destroy {name}" for name in destroyed)
    device = f" {conversion.device}" if conversion.device else ""
    return [
        "nothing was done; to do it:",
        f"   sudo nearfar machine convert{device} --to {conversion.to}{typed} --yes",
    ]


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
