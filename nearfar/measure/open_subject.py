"""From a memory spec to a subject that can be measured, real or simulated."""

from __future__ import annotations

from dataclasses import replace

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.measure.model import ModelSubject
from nearfar.measure.real import open_real
from nearfar.measure.settings import Progress, no_progress
from nearfar.measure.subject import OpenedMemory, Subject, SubjectFacts
from nearfar.memories.spec import PAGE_BYTES, parse_spec
from nearfar.options.measure import MemoryOptions
from nearfar.samples.point import Sample, SamplePoint
from nearfar.sim.model_of import RANDOM
from nearfar.sim.synthetic import synthetic


def open_simulated(options: MemoryOptions) -> OpenedMemory:
    """Open the device that the spec names."""
    name = parse_spec(options.memory).model
    device: DeviceProfile | None = None
    if name.startswith(RANDOM):
        model = synthetic(int(name.removeprefix(RANDOM)))
        truth = ModelSubject(model, seed=options.seed)
    else:
        device = load_device(name)
        if device.technology == "paged":
            raise NearfarError(f"{name} is a paged memory, and only its swap can be measured")
        truth = ModelSubject(device, seed=options.seed)
    if options.threads is not None:
        # The limit includes the generators.
        truth.model = replace(truth.model, threads=min(truth.model.threads, options.threads))
    if options.largest_bytes > truth.model.largest_bytes:
        raise NearfarError(
            f"a simulated memory has regions of {format_bytes(truth.model.largest_bytes)} at most: "
            "choose a smaller --largest"
        )
    subject: Subject = Bounded(truth, options)
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
        facts={"simulated": name, "seed_of_noise": str(options.seed)},
    )


class Bounded:
    """A simulated memory with smaller regions or other pages, as requested."""

    def __init__(self, subject: Subject, options: MemoryOptions) -> None:
        self._subject = subject
        facts = subject.facts()
        if options.largest_bytes:
            largest = min(facts.largest_bytes, options.largest_bytes)
            facts = replace(
                facts,
                largest_bytes=largest,
                buffer_bytes=min(facts.buffer_bytes, options.largest_bytes),
            )
        pages = parse_spec(options.memory).pages
        if pages is not None:
            facts = replace(facts, page_sizes=(PAGE_BYTES[pages],))
        self._facts = facts

    def facts(self) -> SubjectFacts:
        """Return the facts, as bounded."""
        return self._facts

    def sample(self, point: SamplePoint) -> Sample:
        """Return the simulated memory's."""
        return self._subject.sample(point)


def open_memory(
    options: MemoryOptions, progress: Progress = no_progress, *, quick: bool = False
) -> OpenedMemory:
    """Return the subject of `options` and what is known of its memory.

    The subject maps its memory now and holds it as long as it exists. Raises NearfarError for a
    memory that is missing, busy or too small.
    """
    if parse_spec(options.memory).kind == "model":
        return open_simulated(options)
    return open_real(options, progress, quick=quick)
