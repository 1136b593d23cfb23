"""Judge predictions of programs on paper: spans, intervals, and orders. Returns violations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paper_memory import PaperMemory, far_paper, near_paper
from paper_programs import INCLUDED, MAX_BUS_SHARE, Hiding, Program, profile_of

from nearfar.api import predict
from nearfar.base.units import LINE_BYTES
from nearfar.documents import DeviceProfile, Prediction
from nearfar.documents.prediction import PhasePrediction
from nearfar.predict.device_figures import program_page_bytes

SLACK = 0.03
"""Relative tolerance of values: a time that is the sum of two is a little above the longer."""

ORDER_SLACK = 1e-4
"""Relative tolerance of orders: rounding."""

HIDDEN_SLACK = 0.0025
"""The same where near time hides all that a program does more. A time is a little above the longest
of its parts (`SLACK`), and the part above is not the same in all programs: a fill takes 0.2 % more
than its stream, a copy 0.01 % more, with equal near times. In a medium with larger blocks, whose
evicted lines cost more, a fill takes up to 2.4 % more: there the tolerance is `SLACK`."""

ROUNDING = 1e-12
"""Distance of a slowdown from 1 that arithmetic leaves where nothing is slower."""


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
    """Return what is wrong with the predictions of `forms`, of as many threads, on far memories.

    Their near times are those of `near`; `predicted_near` is what the model is told instead.
    """
    page_bytes = program_page_bytes(near)
    paper = near_paper(near, page_bytes, forms[0].threads)
    made = [(form, form.near_ns(paper, hiding)) for form in forms]
    prediction = predict(
        profile=profile_of(made),
        near=predicted_near or near,
        far=fars,
        pages=f"{page_bytes}B" if page_bytes else None,
    )
    return judge_prediction(prediction, made, near, fars)


def judge_prediction(
    prediction: Prediction,
    made: Sequence[tuple[Program, float]],
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
) -> list[Violation]:
    """Return what is wrong with a prediction of programs with these near times in `near`."""
    paper = near_paper(near, program_page_bytes(near), made[0][0].threads)
    # Near time that may be the bus's does not tell how many misses were in flight.
    unknown = {
        form.name
        for form, near_ns in made
        if form.waits and form.bus_share(paper, near_ns) > MAX_BUS_SHARE
    }
    written = {form.name: form.total.written for form, _ in made}
    violations = []
    for device, far in zip(prediction.devices, fars, strict=True):
        papers = far_paper(far, paper, near, made[0][0].threads), paper
        times = {phase.phase: phase for phase in device.phases}
        for form, near_ns in made:
            phase = times[form.name]
            wrong = _interval(form, phase)
            if far.name != near.name:
                wrong += _value(form, phase, near_ns, *papers)
            if form.seen < 1.0 and not any(form.name in caveat for caveat in device.caveats):
                wrong.append(("silent", "no caveat says that accesses were left out"))
            violations += [
                Violation(kind, form.name, near.name, far.name, text) for kind, text in wrong
            ]
        # What the larger program writes back besides may be all that near time shows.
        violations += [
            violation
            for violation, less in _orders(times, near.name, far)
            if violation.program not in unknown or written[violation.program] <= written[less]
        ]
    return violations


def _value(
    form: Program,
    phase: PhasePrediction,
    near_ns: float,
    far: PaperMemory,
    near: PaperMemory,
) -> list[tuple[str, str]]:
    span = form.far_ns(far, near, near_ns)
    time = phase.far_time_ns.value
    low, high = span.low * (1.0 - SLACK), span.high * (1.0 + SLACK)
    if form.seen < 1.0 and not form.checked:
        # Nothing tells the value; the interval has to reach the far memory's figures.
        ends = phase.far_time_ns
        if ends.high < low or ends.low > high:
            return [
                (
                    "unreached" if form.waits_most(far) else "unreached bandwidth",
                    f"{ends.low / 1e6:.4g} to {ends.high / 1e6:.4g} ms, at least "
                    f"{span.low / 1e6:.4g} and at most {span.high / 1e6:.4g}",
                )
            ]
        return []
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
        slower = abs(phase.slowdown.value - 1.0) > ROUNDING
        if form.lines > 0 and slower and estimate.low == estimate.high:
            wrong.append(("width", f"{estimate} has no width"))
        if form.lines == 0 and abs(phase.slowdown.value - 1.0) > ORDER_SLACK:
            wrong.append(("cached", f"slowdown {phase.slowdown.value} without a miss"))
    return wrong


def _orders(
    times: dict[str, PhasePrediction], near: str, far: DeviceProfile
) -> Iterator[tuple[Violation, str]]:
    """Yield each program that takes less than one that it includes, with the other's name."""
    slack = HIDDEN_SLACK if far.granularity_bytes <= LINE_BYTES else SLACK
    for name, phase in times.items():
        title, _, size = name.partition(" n=")
        for less, more in INCLUDED:
            other = times.get(f"{more} n={size}")
            if title != less or other is None:
                continue
            if phase.near_time_ns.value > other.near_time_ns.value * (1 + ORDER_SLACK):
                continue
            first, second = phase.far_time_ns.value, other.far_time_ns.value
            hidden = other.near_time_ns.value <= phase.near_time_ns.value * (1 + ORDER_SLACK)
            if second < first * (1.0 - (slack if hidden else ORDER_SLACK)):
                sentence = f"{second / 1e6:.4g} ms, {name} takes {first / 1e6:.4g}"
                yield Violation("order", other.phase, near, far.name, sentence), name
