"""Answers of a profile to a piece of evidence: where they lie, or why there is none.

Evidence carries the knees that an inference considered, confirmed or not. The profile alone says
which of them became an answer, so a picture and its profile cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.base.units import LINE_BYTES, format_ns
from nearfar.plots import _axes

if TYPE_CHECKING:
    from nearfar.documents.device import DeviceProfile
    from nearfar.samples.evidence import Evidence


SAME_BUFFER_RATIO = 1.5
"""Ratio within which a knee of writes belongs to a buffer that reads showed."""


@dataclass(frozen=True)
class AnswerMark:
    """A place on x where the profile has an answer."""

    at: float
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class EvidenceAnswer:
    """The profile's answer to one piece of evidence."""

    marks: tuple[AnswerMark, ...] = ()
    text: str = ""
    """Text that marks cannot show: a period, a kind."""
    not_seen: str = ""
    """Why the profile has no full answer; empty: it has."""


def answer_of(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    """Return the answer of `device` to the evidence `name`."""
    for start, answer in ANSWERS.items():
        if name == start or name.startswith(f"{start}-"):
            return answer(name, evidence, device)
    return EvidenceAnswer()


def _reads(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del evidence
    return EvidenceAnswer(_buffers(name, device), not_seen=_why(device, "buffers"))


def _writes(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    marks = list(_buffers(name, device))
    for buffer in device.buffers:
        near = [
            knee
            for knee in evidence.knees
            if 1 / SAME_BUFFER_RATIO <= knee / buffer.capacity_bytes <= SAME_BUFFER_RATIO
        ]
        if buffer.evidence != name and near:
            text = f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}, as reads show it"
            marks.append(AnswerMark(buffer.capacity_bytes, text))
    keys = ("write buffers", "fast write buffer", "small write buffer")
    return EvidenceAnswer(tuple(marks), not_seen=_why(device, *keys))


def _queue(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    marks = tuple(
        AnswerMark(
            queue.capacity_bytes / LINE_BYTES,
            f"write queue {queue.capacity_bytes // LINE_BYTES} lines",
            queue.capacity_low_bytes and queue.capacity_low_bytes / LINE_BYTES,
            queue.capacity_high_bytes and queue.capacity_high_bytes / LINE_BYTES,
        )
        for queue in device.write_queues
        if queue.evidence == name
    )
    text = ""
    if marks and evidence.knees and evidence.knees[0] > marks[0].at:
        text = (
            f"a burst waits from {evidence.knees[0]:.0f} lines on: "
            f"{evidence.knees[0] - marks[0].at:.0f} drain while it is written"
        )
    return EvidenceAnswer(marks, text, _why(device, "write queue"))


def _interleave(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del evidence
    marks = tuple(
        AnswerMark(
            interleave.granularity_bytes,
            f"{interleave.devices} devices, {_axes.size_text(interleave.granularity_bytes)} each",
        )
        for interleave in device.interleaves
        if interleave.evidence == name
    )
    kernel = name.partition("-")[2]
    why = _why(device, "interleave")
    # Reasons of all kernels tried, each after its kernel's name, are one text.
    for reason in re.split(r"; (?=[a-z-]+: )", why):
        if reason.startswith(f"{kernel}: "):
            why = reason.removeprefix(f"{kernel}: ")
    return EvidenceAnswer(
        marks, not_seen="" if marks else why or f"by {kernel} alone it does not show"
    )


def _block(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del evidence
    marks, why = [], ""
    for buffer in device.buffers:
        if _slug(name) == buffer.name.replace(" ", "-"):
            if buffer.block_bytes is not None:
                text = f"block {_axes.size_text(buffer.block_bytes)}"
                marks.append(AnswerMark(buffer.block_bytes, text))
            why = _why(device, f"block of {buffer.name}")
    return EvidenceAnswer(tuple(marks), not_seen=why)


def _replacement(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del evidence
    for buffer in device.buffers:
        if _slug(name) == buffer.name.replace(" ", "-"):
            text = f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}"
            kind = f"replacement: {buffer.replacement}" if buffer.replacement else ""
            why = _why(device, f"replacement of {buffer.name}")
            return EvidenceAnswer((AnswerMark(buffer.capacity_bytes, text),), kind, why)
    return EvidenceAnswer()


def _stalls(name: str, evidence: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    stalls = [stall for stall in device.stalls if stall.evidence == name]
    marks = tuple(AnswerMark(at, "") for at in evidence.knees) if stalls else ()
    text = "; ".join(
        f"stalls of {format_ns(stall.length_ns)} every "
        + (
            f"{stall.period_writes:,} writes"
            if stall.period_writes
            else format_ns(stall.period_ns or 0.0)
        )
        for stall in stalls
    )
    return EvidenceAnswer(marks, text, _why(device, "stalls"))


ANSWERS: dict[str, Callable[[str, Evidence, DeviceProfile], EvidenceAnswer]] = {
    "read-capacity": _reads,
    "write-capacity": _writes,
    "write-queue": _queue,
    "interleave": _interleave,
    "amplification": _block,
    "replacement": _replacement,
    "overwrite": _stalls,
}
"""Functions by the begin of an evidence's name; a kernel or buffer follows after a dash."""


def _buffers(name: str, device: DeviceProfile) -> tuple[AnswerMark, ...]:
    return tuple(
        AnswerMark(
            buffer.capacity_bytes,
            f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}",
            buffer.capacity_low_bytes,
            buffer.capacity_high_bytes,
        )
        for buffer in device.buffers
        if buffer.evidence == name
    )


def _slug(name: str) -> str:
    return name.partition("-")[2]


def _why(device: DeviceProfile, *keys: str) -> str:
    return "; ".join(device.not_seen[key] for key in keys if key in device.not_seen)
