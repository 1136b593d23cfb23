"""Findings that nearfar infers about the same memory, printed below the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from nearfar.base.units import format_bytes, format_ns
from nearfar.devices.render import size_between
from nearfar.measure.infer import infer
from nearfar.measure.reported_caches import caches_verdict, reported_caches
from nearfar.measure.subject import Subject

BUDGET_S = 45.0
"""Time limit of the inference, s: about as long as the probers take at most."""


def inferred(
    subject: Subject, say: Callable[[str], None], kernels: Sequence[int] = ()
) -> dict[str, Any]:
    """Infer, print, and return the findings.

    `kernels`: sizes of the caches that the kernel reports, bytes, the first level first.
    """
    findings = infer(subject, BUDGET_S, lambda _what, _share: None)
    say("Inferred, each with its confidence:")
    caches = reported_caches(findings.buffers, kernels)
    for buffer in findings.buffers:
        block = f", blocks of {buffer.block_bytes} B" if buffer.block_bytes else ""
        size = size_between(
            buffer.capacity_bytes, buffer.capacity_low_bytes, buffer.capacity_high_bytes
        )
        sure = caches.get(buffer.name) or _sure(buffer.confidence)
        say(f"  {buffer.name} ({buffer.operation}): {size}{block}, {sure}")
    if verdict := caches_verdict(caches):
        say(f"*** {verdict}")
    for queue in findings.write_queues:
        say(f"  write queue: {format_bytes(queue.capacity_bytes)}, {_sure(queue.confidence)}")
    for interleave in findings.interleaves:
        say(
            f"  interleave: {interleave.devices} devices by "
            f"{format_bytes(interleave.granularity_bytes)}, {_sure(interleave.confidence)}"
        )
    for stall in findings.stalls:
        say(f"  stall of {format_ns(stall.length_ns)}, {_sure(stall.confidence)}")
    if findings.granularity_bytes is not None:
        say(f"  blocks of the medium: {findings.granularity_bytes} B")
    for what, why in findings.not_seen.items():
        say(f"  not seen: {what}: {why}")
    return {
        "buffers": [msgspec.to_builtins(finding) for finding in findings.buffers],
        "write_queues": [msgspec.to_builtins(finding) for finding in findings.write_queues],
        "interleaves": [msgspec.to_builtins(finding) for finding in findings.interleaves],
        "stalls": [msgspec.to_builtins(finding) for finding in findings.stalls],
        "granularity_bytes": findings.granularity_bytes,
        "not_seen": findings.not_seen,
    }


def _sure(confidence: float | None) -> str:
    return "confidence not known" if confidence is None else f"confidence {confidence:.0%}"
