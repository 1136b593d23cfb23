"""What a profile says of a piece of evidence: where its answer lies, or why there is none.

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


SAME = 1.5
"""A knee of writes within so much of a buffer that reads showed is of that buffer."""


@dataclass(frozen=True)
class AnswerMark:
    """A place on x where the profile has an answer."""

    at: float
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class EvidenceAnswer:
    """What the profile says of one piece of evidence."""

    marks: tuple[AnswerMark, ...] = ()
    said: str = ""
    """What marks cannot say: a period, a kind."""
    not_seen: str = ""
    """Why the profile has not all that was looked for; empty: it has."""


def answer_of(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    """Return what `device` says of the evidence `name`, as inference calls it."""
    for start, answer in ANSWERS.items():
        if name == start or name.startswith(f"{start}-"):
            return answer(name, one, device)
    return EvidenceAnswer()


def _reads(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del one
    return EvidenceAnswer(_buffers(name, device), not_seen=_why(device, "buffers"))


def _writes(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    marks = list(_buffers(name, device))
    for buffer in device.buffers:
        near = [knee for knee in one.knees if 1 / SAME <= knee / buffer.capacity_bytes <= SAME]
        if buffer.evidence != name and near:
            text = f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}, as reads show it"
            marks.append(AnswerMark(buffer.capacity_bytes, text))
    keys = ("write buffers", "fast write buffer", "small write buffer")
    return EvidenceAnswer(tuple(marks), not_seen=_why(device, *keys))


def _queue(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
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
    said = ""
    if marks and one.knees and one.knees[0] > marks[0].at:
        said = (
            f"a burst waits from {one.knees[0]:.0f} lines on: "
            f"{one.knees[0] - marks[0].at:.0f} drain while it is written"
        )
    return EvidenceAnswer(marks, said, _why(device, "write queue"))


def _interleave(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del one
    marks = tuple(
        AnswerMark(
            found.granularity_bytes,
            f"{found.devices} devices, {_axes.size_text(found.granularity_bytes)} each",
        )
        for found in device.interleaves
        if found.evidence == name
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


def _block(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del one
    marks, why = [], ""
    for buffer in device.buffers:
        if _slug(name) == buffer.name.replace(" ", "-"):
            if buffer.block_bytes is not None:
                text = f"block {_axes.size_text(buffer.block_bytes)}"
                marks.append(AnswerMark(buffer.block_bytes, text))
            why = _why(device, f"block of {buffer.name}")
    return EvidenceAnswer(tuple(marks), not_seen=why)


def _replacement(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    del one
    for buffer in device.buffers:
        if _slug(name) == buffer.name.replace(" ", "-"):
            text = f"{buffer.name} {_axes.size_text(buffer.capacity_bytes)}"
            said = f"replacement: {buffer.replacement}" if buffer.replacement else ""
            why = _why(device, f"replacement of {buffer.name}")
            return EvidenceAnswer((AnswerMark(buffer.capacity_bytes, text),), said, why)
    return EvidenceAnswer()


def _stalls(name: str, one: Evidence, device: DeviceProfile) -> EvidenceAnswer:
    found = [stall for stall in device.stalls if stall.evidence == name]
    marks = tuple(AnswerMark(at, "") for at in one.knees) if found else ()
    said = "; ".join(
        f"stalls of {format_ns(stall.length_ns)} every "
        + (
            f"{stall.period_writes:,} writes"
            if stall.period_writes
            else format_ns(stall.period_ns or 0.0)
        )
        for stall in found
    )
    return EvidenceAnswer(marks, said, _why(device, "stalls"))


ANSWERS: dict[str, Callable[[str, Evidence, DeviceProfile], EvidenceAnswer]] = {
    "read-capacity": _reads,
    "write-capacity": _writes,
    "write-queue": _queue,
    "interleave": _interleave,
    "amplification": _block,
    "replacement": _replacement,
    "overwrite": _stalls,
}
"""By what the names of evidence begin with; what follows a dash is a kernel or a buffer."""


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
