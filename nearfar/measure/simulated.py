"""Opens a simulated memory, ``model:NAME``: its truth is known, its samples are all there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nearfar.base.errors import NearfarError
from nearfar.base.units import format_bytes
from nearfar.documents import DeviceProfile
from nearfar.measure.opened import OpenedMemory
from nearfar.measure.settings import Settings
from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.samples.point import Sample, SamplePoint

if TYPE_CHECKING:
    from nearfar.sim.parameters import DeviceModel

RANDOM = "random:"


def open_simulated(settings: Settings) -> OpenedMemory:
    """Open the device that the spec names."""
    from nearfar.measure.model import ModelSubject

    name = settings.spec.model
    device: DeviceProfile | None = None
    if name.startswith(RANDOM):
        truth: ModelSubject = ModelSubject(_random(name), seed=settings.seed)
    else:
        device = _library_device(name)
        truth = ModelSubject(device, seed=settings.seed)
    if settings.threads is not None:
        # The generators too are as many as asked for.
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


def _random(name: str) -> DeviceModel:
    from nearfar.sim.synthetic import synthetic

    return synthetic(int(name.removeprefix(RANDOM)))


def _library_device(name: str) -> DeviceProfile:
    from nearfar.devices.library import load_device

    return load_device(name)


class Bounded:
    """A simulated memory with smaller regions or other pages, as asked for."""

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
            from nearfar.memories.spec import PAGE_BYTES

            facts = replace(facts, page_sizes=(PAGE_BYTES[settings.spec.pages],))
        self._facts = facts

    def facts(self) -> SubjectFacts:
        """Return the facts, as bounded."""
        return self._facts

    def sample(self, point: SamplePoint) -> Sample:
        """Return the simulated memory's."""
        return self._subject.sample(point)
