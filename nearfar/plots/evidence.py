"""Pictures of the evidence of each inference: the samples, and the profile's answer.

Evidence contains all knees that an inference considered. Only the profile determines which knees
are drawn as confirmed, so a picture and its profile always agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from nearfar.base.units import LINE_BYTES, format_ns
from nearfar.documents.device import DeviceProfile
from nearfar.plots import _axes
from nearfar.plots._data import PICTURES, Drawing, Panel
from nearfar.samples.evidence import Evidence

WIDE = 8.0
"""Ratio of largest to smallest y from which the axis is logarithmic, to show the lower steps."""

FLAT = 0.3
"""Relative spread of y below which the axis is widened, so that noise does not fill it."""

REJECTED = "0.6"
"""Grey of a candidate that is not the answer."""


@PICTURES.register("evidence")
def panels(drawing: Drawing) -> list[Panel]:
    """Return one panel for each piece of evidence."""
    drawn = []
    for name, evidence in drawing.evidence.items():
        if np.size(evidence.x) > 0:
            answer = answer_of(name, evidence, drawing.device)
            drawn.append(Panel(evidence.title or name, _painter(evidence, answer), _note(answer)))
    return drawn


def _painter(evidence: Evidence, answer: EvidenceAnswer) -> Callable[[Axes], None]:
    return lambda axes: draw(axes, evidence, answer)


def draw(axes: Axes, evidence: Evidence, answer: EvidenceAnswer) -> None:
    """Draw one curve with its quartiles, and the profile's answer.

    Knees in the profile are marked; rejected ones are grey, with the reason.
    """
    order = np.argsort(evidence.x, kind="stable")
    x, y = np.asarray(evidence.x)[order], np.asarray(evidence.y)[order]
    mark = "o" if x.size <= 200 else ""
    axes.plot(x, y, marker=mark, ms=2.5, lw=1.1, color="C0", label="median")
    if np.size(evidence.y_low) == x.size and np.size(evidence.y_high) == x.size:
        low, high = np.asarray(evidence.y_low)[order], np.asarray(evidence.y_high)[order]
        axes.fill_between(x, low, high, color="C0", alpha=0.25, lw=0, label="quartiles")
    if evidence.fitted is not None:
        predicted = ("C1", "as the answer predicts")
        colour, label = predicted if answer.marks else (REJECTED, "fitted, no answer")
        fitted = np.asarray(evidence.fitted)[order]
        axes.plot(x, fitted, color=colour, lw=1.1, ls="--", label=label)
    in_bytes = "byte" in evidence.x_name.lower()
    for place in answer.marks:
        _axes.mark_knee(axes, place.at, place.text, place.low, place.high)
    if not answer.marks:
        for knee in evidence.knees:
            axes.axvline(knee, color=REJECTED, ls=(0, (1, 4)), lw=1)
    ends = [float(x[0]), float(x[-1]), *(place.at for place in answer.marks)]
    if evidence.log_x and in_bytes and min(ends) > 0:
        _axes.size_axis(axes, min(ends), max(ends))
    elif evidence.log_x and min(ends) > 0:
        _axes.log_axis(axes, "x", ends)
    else:
        axes.xaxis.set_major_formatter("{x:,.0f}")
    _y_axis(axes, y)
    name = (
        evidence.x_name.replace(" (bytes)", "") if evidence.log_x and in_bytes else evidence.x_name
    )
    axes.set(xlabel=name, ylabel=evidence.y_name)
    axes.grid(alpha=0.25)
    _axes.legend(axes, columns=3)


def _y_axis(axes: Axes, y: NDArray[np.float64]) -> None:
    least, most = float(y.min()), float(y.max())
    if least > 0 and most > WIDE * least:
        _axes.log_axis(axes, "y", [least, most])
    elif least > 0 and most - least < FLAT * (middle := float(np.median(y))):
        axes.set_ylim(0.5 * middle, 1.5 * middle)


def _note(answer: EvidenceAnswer) -> str:
    """Return the note: the answer's text without a mark, and why something was not seen."""
    lines = [answer.text] if answer.text else []
    if answer.not_seen:
        lines.append(f"not seen: {answer.not_seen}")
    return "; ".join(lines)


SAME_BUFFER_RATIO = 1.5
"""Ratio within which a knee of writes belongs to a buffer that reads showed."""


@dataclass(frozen=True)
class AnswerMark:
    """A value of the profile to mark on the x axis, with its interval."""

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
    # One text has the reasons of all tried kernels, each after the kernel's name.
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
"""Functions by the first words of an evidence's name; a dash and a kernel or buffer follow."""


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
