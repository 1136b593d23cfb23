"""Judge predictions of programs on paper: spans, intervals, and orders. Returns violations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paper_memory import PaperMemory, far_paper, near_paper
from paper_programs import INCLUDED, MAX_BUS_SHARE, Hiding, Program, profile_of

from nearfar.api import predict
from nearfar.documents import DeviceProfile
from nearfar.documents.prediction import PhasePrediction
from nearfar.predict.device_figures import program_page_bytes

SLACK = 0.03
"""Relative tolerance of values: a time that is the sum of two is a little above the longer."""

ORDER_SLACK = 1e-4
"""Relative tolerance of orders: rounding."""


@dataclass(frozen=True)
class Violation:
    """A prediction that cannot be true."""

    kind: str
    program: str
    near: str
    far: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.program}, near {self.near}, far {self.far}: {self.sentence}"


def judge(
    forms: Sequence[Program],
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    hiding: Hiding = "bus",
    *,
    predicted_near: DeviceProfile | None = None,
) -> list[Violation]:
    """Return what is wrong with the predictions of `forms` on all far memories.

    Their near times are those of `near`; `predicted_near` is what the model is told instead.
    """
    page_bytes = program_page_bytes(near)
    paper = near_paper(near, page_bytes)
    made = [(form, form.near_ns(paper, hiding)) for form in forms]
    # Near time that may be the bus's does not tell how many misses were in flight.
    unknown = {
        form.name
        for form, near_ns in made
        if form.waits and form.bus_share(paper, near_ns) > MAX_BUS_SHARE
    }
    prediction = predict(
        profile=profile_of(made),
        near=predicted_near or near,
        far=fars,
        pages=f"{page_bytes}B" if page_bytes else None,
    )
    results = []
    for device, far in zip(prediction.devices, fars, strict=True):
        times = {phase.phase: phase for phase in device.phases}
        for form, near_ns in made:
            phase = times[form.name]
            wrong = [*_value(form, phase, near_ns, far, (near, paper)), *_interval(form, phase)]
            results += [
                Violation(kind, form.name, near.name, far.name, text) for kind, text in wrong
            ]
        results += _orders(times, unknown, near.name, far.name)
    return results


def _value(
    form: Program,
    phase: PhasePrediction,
    near_ns: float,
    far: DeviceProfile,
    near: tuple[DeviceProfile, PaperMemory],
) -> list[tuple[str, str]]:
    if far.name == near[0].name:
        return []
    span = form.far_ns(far_paper(far, near[1], near[0]), near[1], near_ns)
    time = phase.far_time_ns.value
    low, high = span.low * (1.0 - SLACK), span.high * (1.0 + SLACK)
    # What is near the longer of two parts takes as long as both, and near time holds either way.
    if time < low:
        return [("below", f"{time / 1e6:.4g} ms of at least {span.low / 1e6:.4g}")]
    if time > max(high, near_ns * (1.0 + SLACK)):
        return [("above", f"{time / 1e6:.4g} ms of at most {span.high / 1e6:.4g}")]
    return []


def _interval(form: Program, phase: PhasePrediction) -> list[tuple[str, str]]:
    wrong = []
    for estimate in (phase.far_time_ns, phase.slowdown):
        if not estimate.low <= estimate.value <= estimate.high:
            wrong.append(("interval", f"{estimate} does not contain its value"))
        if form.lines > 0 and phase.slowdown.value != 1.0 and estimate.low == estimate.high:
            wrong.append(("width", f"{estimate} has no width"))
        if form.lines == 0 and abs(phase.slowdown.value - 1.0) > ORDER_SLACK:
            wrong.append(("cached", f"slowdown {phase.slowdown.value} without a miss"))
    return wrong


def _orders(
    times: dict[str, PhasePrediction], unknown: set[str], near: str, far: str
) -> list[Violation]:
    wrong = []
    for name, phase in times.items():
        title, size = name.split(" n=")
        for less, more in INCLUDED:
            if title == less and (other := times.get(f"{more} n={size}")) is not None:
                first, second = phase.far_time_ns.value, other.far_time_ns.value
                if name in unknown or other.phase in unknown:
                    continue
                if phase.near_time_ns.value > other.near_time_ns.value * (1 + ORDER_SLACK):
                    continue
                if second < first * (1.0 - ORDER_SLACK):
                    sentence = f"{second / 1e6:.4g} ms, {name} takes {first / 1e6:.4g}"
                    wrong.append(Violation("order", other.phase, near, far, sentence))
    return wrong
