"""From a memory spec to a subject that can be measured, real or simulated."""

from __future__ import annotations

from dataclasses import replace

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.measure.model import ModelSubject
from nearfar.measure.real import open_real
from nearfar.measure.settings import Progress, Settings, no_progress
from nearfar.measure.subject import OpenedMemory, Subject, SubjectFacts
from nearfar.memories.spec import PAGE_BYTES, MemorySpec, parse_spec
from nearfar.samples.point import Sample, SamplePoint
from nearfar.sim.model_of import RANDOM
from nearfar.sim.synthetic import synthetic


def open_simulated(settings: Settings) -> OpenedMemory:
    """Open the device that the spec names."""
    name = settings.spec.model
    device: DeviceProfile | None = None
    if name.startswith(RANDOM):
        model = synthetic(int(name.removeprefix(RANDOM)))
        truth = ModelSubject(model, seed=settings.seed)
    else:
        device = load_device(name)
        truth = ModelSubject(device, seed=settings.seed)
    if settings.threads is not None:
        # The limit includes the generators.
        truth.model = replace(truth.model, threads=min(truth.model.threads, settings.threads))
    if settings.largest_bytes > truth.model.largest_bytes:
        raise NearfarError(
            f"a simulated memory has regions of {format_bytes(truth.model.largest_bytes)} at most: "
            "choose a smaller --largest"
        )
    subject: Subject = Bounded(truth, settings)
    facts = subject.facts()
    return OpenedMemory(
        subject=subject,
        what=f"the simulated {name}",
        citation=f"measured by nearfar measure on its own simulation of {name}",
        technology=device.technology if device is not None else "emulated",
        capacity_bytes=device.capacity_bytes if device is not None else None,
        durable=device.durable if device is not None else False,
        persists_through=device.persists_through if device is not None else "",
        llc_bytes=facts.llc_bytes,
        facts={"simulated": name, "seed_of_noise": str(settings.seed)},
    )


class Bounded:
    """A simulated memory with smaller regions or other pages, as requested."""

    def __init__(self, subject: Subject, settings: Settings) -> None:
        self._subject = subject
        facts = subject.facts()
        if settings.largest_bytes:
            largest = min(facts.largest_bytes, settings.largest_bytes)
            facts = replace(
                facts,
                largest_bytes=largest,
                buffer_bytes=min(facts.buffer_bytes, settings.largest_bytes),
            )
        if settings.spec.pages is not None:
            facts = replace(facts, page_sizes=(PAGE_BYTES[settings.spec.pages],))
        self._facts = facts

    def facts(self) -> SubjectFacts:
        """Return the facts, as bounded."""
        return self._facts

    def sample(self, point: SamplePoint) -> Sample:
        """Return the simulated memory's."""
        return self._subject.sample(point)


def open_subject(
    spec: MemorySpec | str,
    *,
    quick: bool = False,
    threads: int | None = None,
    largest_bytes: int = 0,
    spin: bool = True,
    seed: int = 1,
) -> Subject:
    """Return a subject that samples the memory `spec`; takes it and holds it while it lives.

    `largest_bytes` is the largest region to chase (0: by the caches), `threads` the most threads
    (None: a thread on every core of the node), `spin` whether another core is kept awake while one
    is timed alone, `seed` of a simulated memory's noise. Raises NearfarError for a memory that is
    not there, busy or too small.
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    return open_memory(
        Settings(
            spec=parsed,
            quick=quick,
            threads=threads,
            largest_bytes=largest_bytes,
            spin=spin,
            seed=seed,
        )
    ).subject


def open_memory(settings: Settings, progress: Progress = no_progress) -> OpenedMemory:
    """Return the subject of `settings` and what is known of its memory."""
    if settings.spec.kind == "model":
        return open_simulated(settings)
    return open_real(settings, progress)
