"""Self-test: inference must recover what simulated memories are made of.

Every quantity of a `model:` device is judged: right, wrong, not seen, or invented (the device has
no such quantity). A device is *sound* if none is wrong or invented. It is *complete* if every
quantity that must be seen is right: capacities, blocks, latencies, bandwidths and stalls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from nearfar.documents.device import BufferFigure
from nearfar.measure.infer import Findings, infer
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.sizes import FINE_PER_OCTAVE
from nearfar.measure.model import ModelSubject, Truth
from nearfar.measure.model import ModelSubject as Model
from nearfar.samples.point import SamplePoint
from nearfar.sim.parameters import DeviceModel, MemoryLevel
from nearfar.sim.synthetic import synthetic, without_buffers

Judged = Literal["right", "wrong", "not seen", "invented"]

BUDGET_S = 45.0
"""Time for the inference of one device, s; the whole self-test takes at most 60 s."""

NEXT_TESTED = 2 ** (1 / FINE_PER_OCTAVE) * 1.005
"""Ratio to the truth within which a capacity is right: the next tested size, and 0.5 % for sizes
rounded to lines."""

SAME_LEVEL = 1.6
"""Ratio to a true level within which a capacity belongs to it; else it is invented."""

LATENCY_WITHIN = 0.03
PERIOD_WITHIN = 0.05
LENGTH_WITHIN = 0.15
"""Relative error allowed for lengths: stalls of one device differ by a tenth."""

SAMPLES = 401
"""Samples of a latency or bandwidth point: drift over a hundred samples averages out, and the
median is known to 0.3 %."""

OPTIONAL = ("ways", "replacement", "write queue", "interleave", "wear block")
"""Quantities that a device may hide with a valid reason; wrong answers still count."""

Device = int | str
"""Seed of a random memory, or name of a library device."""


@dataclass(frozen=True)
class SelfTestVerdict:
    """Verdict on one quantity of one device."""

    device: str
    quantity: str
    truth: str
    inferred: str
    interval: str
    judged: Judged
    note: str = ""
    """Why it was not seen, as inference reports."""

    def as_json(self) -> dict[str, str]:
        """Return the fields under their public keys."""
        fields = asdict(self)
        return {("found" if key == "inferred" else key): fields[key] for key in fields}

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong or invented."""
        return self.judged in ("right", "not seen")

    @property
    def complete(self) -> bool:
        """Whether it was seen, or may be hidden."""
        optional = self.quantity.startswith(OPTIONAL)
        return self.judged == "right" or (optional and self.judged == "not seen")


def self_test(
    devices: Sequence[Device],
    *,
    budget: float = BUDGET_S,
    noise: float = 1.0,
    progress: Callable[[str, float], None] = lambda _what, _share: None,
) -> list[SelfTestVerdict]:
    """Infer each device of `devices` in about `budget` seconds, and judge every quantity.

    Raises NearfarError for a name that is not in the library.
    """
    verdicts: list[SelfTestVerdict] = []
    for number, device in enumerate(devices):
        name, subject = open_device(device, noise)

        def tell(what: str, share: float, at: int = number, name: str = name) -> None:
            progress(f"{name}: {what}", (at + share) / len(devices))

        # The budget is CPU time, so that a busy machine does not change the verdicts.
        findings = infer(subject, budget, tell, clock=time.process_time)
        verdicts += judge(name, subject, findings)
    return verdicts


def open_device(device: Device, noise: float = 1.0) -> tuple[str, ModelSubject]:
    """Return name and simulated memory of a seed or a library device."""
    if isinstance(device, int):
        made: DeviceModel = (synthetic if device >= 0 else without_buffers)(device)
        return made.name, ModelSubject(made, seed=abs(device) + 1, noise=noise)
    return device, ModelSubject(device, noise=noise)


def judge(name: str, subject: ModelSubject, findings: Findings) -> list[SelfTestVerdict]:
    """Return a verdict for each true quantity and each invented one."""
    truth = subject.truth()
    return [
        *_judge_levels(name, truth, findings),
        _judge_queue(name, truth, findings),
        _judge_interleave(name, truth, findings),
        *_judge_stalls(name, truth, findings),
        *_judge_figures(name, subject),
    ]


def _judge_levels(name: str, truth: Truth, findings: Findings) -> Iterable[SelfTestVerdict]:
    model = truth.model
    levels = [(level, level.capacity_bytes, False) for level in model.caches]
    levels += [(level, level.capacity_bytes * model.devices, True) for level in model.buffers]
    left = list(findings.buffers)
    for level, capacity, in_memory in levels:
        of_level = [
            buffer
            for buffer in left
            if abs(np.log(buffer.capacity_bytes / capacity)) <= np.log(SAME_LEVEL)
        ]
        left = [buffer for buffer in left if buffer not in of_level]
        what = level.name.removesuffix(" cache")
        reads = [buffer for buffer in of_level if buffer.operation == "read"]
        why = findings.not_seen
        if not of_level:
            note = why.get("buffers", "")
            yield SelfTestVerdict(
                name, f"capacity of {what}", _size(capacity), "", "", "not seen", note
            )
            continue
        for buffer in of_level:
            right = abs(np.log(buffer.capacity_bytes / capacity)) <= np.log(NEXT_TESTED)
            by = "" if buffer.operation == "read" else " by writes"
            yield SelfTestVerdict(
                name, f"capacity of {what}{by}", _size(capacity), _size(buffer.capacity_bytes),
                _interval(buffer), "right" if right else "wrong",
            )  # fmt: skip
        if reads:
            true_ns = level.latency_ns * (_refresh_factor(model) if in_memory else 1)
            yield _judge_latency(name, what, true_ns, reads[0])
            if in_memory:
                yield from _judge_structure(name, level, reads[0], why)
    for buffer in left:
        yield SelfTestVerdict(
            name, f"{buffer.name}, {buffer.operation}", "none", _size(buffer.capacity_bytes),
            _interval(buffer), "invented",
        )  # fmt: skip
    if not levels and not findings.buffers:
        yield SelfTestVerdict(name, "buffers", "none", "none", "", "right")


def _refresh_factor(model: DeviceModel) -> float:
    """Return the factor by which refresh lengthens the mean access."""
    refresh = model.refresh
    return 1 / (1 - refresh.length_ns / refresh.period_ns) if refresh is not None else 1.0


def _judge_latency(name: str, what: str, true_ns: float, buffer: BufferFigure) -> SelfTestVerdict:
    shown = "" if buffer.latency_ns is None else f"{buffer.latency_ns:.1f} ns"
    judged = _judge_number(buffer.latency_ns, true_ns, LATENCY_WITHIN)
    return SelfTestVerdict(name, f"latency of {what}", f"{true_ns:.1f} ns", shown, "", judged)


def _judge_structure(
    name: str, level: MemoryLevel, buffer: BufferFigure, why: dict[str, str]
) -> Iterable[SelfTestVerdict]:
    what = level.name

    def verdict(quantity: str, truth: object, seen: object) -> SelfTestVerdict:
        note = "" if seen is not None else why.get(f"{quantity} of {buffer.name}", "")
        judged: Judged = "not seen" if seen is None else "right" if seen == truth else "wrong"
        return SelfTestVerdict(
            name, f"{quantity} of {what}", str(truth), str(seen or ""), "", judged, note
        )

    yield verdict("block", level.block_bytes, buffer.block_bytes)
    yield verdict("ways", level.ways or level.blocks, buffer.ways)
    yield verdict("replacement", level.replacement, buffer.replacement)


def _judge_queue(name: str, truth: Truth, findings: Findings) -> SelfTestVerdict:
    queue = findings.write_queues[0] if findings.write_queues else None
    capacity = truth.write_queue_bytes
    if capacity is None:
        judged: Judged = "right" if queue is None else "invented"
    elif queue is None:
        judged = "not seen"
    else:
        # Bursts are whole lines, so the next tested size of a small queue is one line away.
        lines = max(capacity // 64 * (NEXT_TESTED - 1), 1.0)
        off = abs(queue.capacity_bytes - capacity) / 64
        judged = "right" if off <= lines else "wrong"
    interval = f"{queue.capacity_low_bytes}..{queue.capacity_high_bytes}" if queue else ""
    return SelfTestVerdict(
        name, "write queue", _size(capacity), _size(queue.capacity_bytes if queue else None),
        interval, judged, findings.not_seen.get("write queue", ""),
    )  # fmt: skip


def _judge_interleave(name: str, truth: Truth, findings: Findings) -> SelfTestVerdict:
    interleave = findings.interleaves[0] if findings.interleaves else None
    seen = (interleave.devices, interleave.granularity_bytes) if interleave else None
    judged: Judged
    if truth.interleave is None:
        judged = "right" if seen is None else "invented"
    else:
        judged = "not seen" if seen is None else "right" if seen == truth.interleave else "wrong"
    note = findings.not_seen.get("interleave", "")
    return SelfTestVerdict(
        name, "interleave", _pair(truth.interleave), _pair(seen), "", judged, note
    )


def _judge_stalls(name: str, truth: Truth, findings: Findings) -> Iterable[SelfTestVerdict]:
    wear = next((stall for stall in findings.stalls if stall.period_writes is not None), None)
    refresh = next((stall for stall in findings.stalls if stall.period_ns is not None), None)
    note = findings.not_seen.get("stalls", "")
    kinds = (
        ("wear", wear, wear.period_writes if wear else None, truth.wear_period_writes,
         truth.wear_length_ns),
        ("refresh", refresh, refresh.period_ns if refresh else None, truth.refresh_period_ns,
         truth.refresh_length_ns),
    )  # fmt: skip
    for kind, figure, period, true_period, true_length in kinds:
        interval = f"{figure.low:.0f}..{figure.high:.0f}" if figure else ""
        yield SelfTestVerdict(
            name, f"{kind} period", _number(true_period), _number(period), interval,
            _judge_number(period, true_period, PERIOD_WITHIN), note,
        )  # fmt: skip
        if figure is not None and true_length is not None:
            yield SelfTestVerdict(
                name, f"{kind} length", _number(true_length), _number(figure.length_ns),
                f"{figure.length_low_ns:.0f}..{figure.length_high_ns:.0f}",
                _judge_number(figure.length_ns, true_length, LENGTH_WITHIN),
            )  # fmt: skip
    if wear is not None and truth.model.wear is not None:
        block = truth.model.wear.granularity_bytes
        seen = wear.granularity_bytes
        judged: Judged = "not seen" if seen is None else "right" if seen == block else "wrong"
        why = findings.not_seen.get("granularity of stalls", "")
        yield SelfTestVerdict(name, "wear block", _size(block), _size(seen), "", judged, why)


def _judge_figures(name: str, subject: ModelSubject) -> Iterable[SelfTestVerdict]:
    """Yield idle latency and the bandwidths of all threads."""
    facts, truth = subject.facts(), subject.truth()
    page, most = facts.page_sizes[0], facts.threads
    points = {
        "idle latency": SamplePoint("latency", "chase", page, facts.largest_bytes),
        "read bandwidth": SamplePoint("bandwidth", "read", page, facts.buffer_bytes, threads=most),
        "nt-store bandwidth": SamplePoint(
            "bandwidth", "nt-store", page, facts.buffer_bytes, threads=most
        ),
    }
    # Buffers hold a little of the largest region, so its latency is below the medium's own.
    idle_ns = Model(subject.model, noise=0.0).sample(points["idle latency"]).value
    truths = (idle_ns, truth.read_gb_per_s, truth.nt_store_gb_per_s)
    probe = InferenceProbe(subject, BUDGET_S, SAMPLES, time.process_time)
    gathered = probe.gather(list(points.values()))
    for what, true, samples in zip(points, truths, gathered, strict=True):
        median = float(np.median(samples))
        yield SelfTestVerdict(
            name,
            what,
            f"{true:.1f}",
            f"{median:.1f}",
            "",
            _judge_number(median, true, LATENCY_WITHIN),
        )


def _judge_number(value: float | None, truth: float | None, within: float) -> Judged:
    if truth is None:
        return "right" if value is None else "invented"
    if value is None:
        return "not seen"
    return "right" if abs(value / truth - 1) <= within else "wrong"


def _size(size_bytes: int | None) -> str:
    return "none" if size_bytes is None else f"{size_bytes} B"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.0f}"


def _pair(pair: tuple[int, int] | None) -> str:
    return "none" if pair is None else f"{pair[0]} devices by {pair[1]} B"


def _interval(buffer: BufferFigure) -> str:
    return f"{buffer.capacity_low_bytes}..{buffer.capacity_high_bytes}"


@dataclass(frozen=True)
class PassedDevices:
    """Numbers of tested, sound and complete devices."""

    devices: int
    sound: int
    complete: int


def shares(verdicts: Sequence[SelfTestVerdict]) -> PassedDevices:
    """Return the numbers of devices that are sound, and sound and complete."""
    names = {verdict.device for verdict in verdicts}
    sound = names - {verdict.device for verdict in verdicts if not verdict.sound}
    complete = sound - {verdict.device for verdict in verdicts if not verdict.complete}
    return PassedDevices(len(names), len(sound), len(complete))


def table(verdicts: Sequence[SelfTestVerdict], *, only_failures: bool = False) -> str:
    """Return the verdicts as aligned lines, and the shares below."""
    shown = [
        verdict
        for verdict in verdicts
        if not only_failures or not (verdict.sound and verdict.complete)
    ]
    rows = [("device", "quantity", "truth", "found", "interval", "judged")]
    rows += [(o.device, o.quantity, o.truth, o.inferred, o.interval, o.judged) for o in shown]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    counted = shares(verdicts)
    lines.append(
        f"{counted.devices} devices: nothing wrong or invented on {counted.sound}, "
        f"and everything that must be seen is seen on {counted.complete}"
    )
    return "\n".join(lines)
