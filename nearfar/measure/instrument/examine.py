"""Examination of the instrument by all probes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nearfar.documents.device import LatencyFigure
from nearfar.measure.instrument import msr, prefetch, siblings, timer, tlb
from nearfar.measure.instrument.verdict import InstrumentProbe, InstrumentVerdict
from nearfar.measure.instrument.watch import InstrumentWatch
from nearfar.measure.subject import Subject
from nearfar.samples.point import Sample, SamplePoint

ROUNDS = 7
"""Samples of each point: a median needs six for an interval narrower than the extremes."""

PROBES: tuple[InstrumentProbe, ...] = (timer, tlb, prefetch)

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Instrument:
    """State of the instrument on this machine."""

    verdicts: tuple[InstrumentVerdict, ...]
    samples: dict[SamplePoint, list[Sample]]
    """All samples, for the Parquet file."""

    @property
    def environment(self) -> dict[str, str]:
        """Facts for `MeasuredContext.environment`."""
        return {key: text for verdict in self.verdicts for key, text in verdict.facts.items()}

    @property
    def warnings(self) -> list[str]:
        """Warnings: sentence and remedy for each doubtful or unknown property."""
        return [verdict.warning for verdict in self.verdicts if verdict.warning]

    @property
    def latency(self) -> list[LatencyFigure]:
        """Figures for the DeviceProfile."""
        return [figure for verdict in self.verdicts for figure in verdict.latency]


def examine(
    subject: Subject,
    *,
    rounds: int = ROUNDS,
    watch: InstrumentWatch | None = None,
    progress: Progress = lambda _what, _share: None,
) -> Instrument:
    """Run every probe on `subject`; some 3 s on real memory.

    A subject with an attribute `cpus` runs on this machine (`Sampler`). Then the CPUs, the
    prefetcher registers, the clock and interruptions are examined too, the last two by `watch` (by
    default a new one).
    """
    facts = subject.facts()
    cpus: tuple[int, ...] = tuple(getattr(subject, "cpus", ()))
    if cpus and watch is None:
        watch = InstrumentWatch(cpus)
    wanted = list(dict.fromkeys(point for probe in PROBES for point in probe.points(facts)))
    samples: dict[SamplePoint, list[Sample]] = {point: [] for point in wanted}
    dice = random.Random(1)
    for number in range(rounds):
        if watch is not None:
            watch.round(number)
        for index, point in enumerate(dice.sample(wanted, len(wanted))):
            samples[point].append(subject.sample(point))
            done = (number + (index + 1) / len(wanted)) / rounds
            progress("examining the instrument", done)
    values = {point: [sample.value for sample in taken] for point, taken in samples.items()}
    verdicts = [verdict for probe in PROBES for verdict in probe.judge(facts, values)]
    if cpus and watch is not None:
        verdicts += [msr.judge(cpus), siblings.judge(cpus)]
        verdicts += watch.verdicts(disturbed_share(samples.values()))
    return Instrument(tuple(verdicts), samples)


def disturbed_share(samples: Iterable[Sequence[Sample]]) -> float:
    """Return the share of samples that were interrupted."""
    every = [sample for values in samples for sample in values]
    return sum(sample.disturbed for sample in every) / len(every) if every else 0.0
