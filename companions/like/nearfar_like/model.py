"""A memory of the library as a bench: one node, one CPU per thread of the model."""

from __future__ import annotations

from dataclasses import replace

from nearfar.base.errors import CommandError
from nearfar.base.units import format_bytes
from nearfar.measure.open_subject import open_memory
from nearfar.measure.subject import Subject, SubjectFacts
from nearfar.options.measure import MemoryOptions
from nearfar.samples.point import SamplePoint
from nearfar_like.bench import Chase, HandOff, NodeFacts, Values, Worker
from nearfar_like.repeat import MIN_SAMPLES, Effort

EQUIVALENT_KERNELS = {"stream-triad-nt": ("mixed-nt", 2 / 3)}
"""Kernel and read share of equal bus traffic: a model does not know arrays."""


class ModelBench:
    """A bench on points of a `Subject`; all its workers make the same traffic."""

    vector = ""

    def __init__(self, name: str, subject: Subject | None = None) -> None:
        """Open the model called `name` (``model:...``), or take `subject` as it."""
        if subject is None:
            subject = open_memory(MemoryOptions(memory=name)).subject
        self.name = name
        self.ghz = 1.0
        """1.0: a model has no clock, so delays are in ns."""
        self._subject = subject
        self._facts: SubjectFacts = subject.facts()
        self.llc_bytes = self._facts.llc_bytes

    def nodes(self) -> list[NodeFacts]:
        """Return the one node."""
        size = max(self._facts.largest_bytes, self._facts.buffer_bytes)
        return [NodeFacts(0, tuple(range(self._facts.threads)), size, size)]

    def one_per_core(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Return all: a model has no sibling threads."""
        return cpus

    def check(self, chase: Chase | None, workers: list[Worker]) -> list[str]:
        """Refuse regions beyond the model's, folders, and threads that differ."""
        facts = self._facts
        notes = ["delays are in ns: a model has no clock"] if any(
            worker.pause_ns for worker in workers
        ) else []  # fmt: skip
        for place in [thread.place for thread in (chase, *workers) if thread is not None]:
            if place.folder is not None:
                raise CommandError(f"{self.name} has no folders: leave out -J and pmem lines")
        if chase is not None and chase.size_bytes > facts.largest_bytes:
            raise CommandError(
                f"a buffer of {format_bytes(chase.size_bytes)} is more than {self.name} can chase "
                f"({format_bytes(facts.largest_bytes)}): use a smaller -b"
            )
        for worker in map(_with_known_kernel, workers):
            if worker.kernel not in facts.kernels:
                raise CommandError(f"{self.name} has no kernel {worker.kernel!r}")
        if len({_settings(worker) for worker in workers}) > 1:
            raise CommandError(
                f"all threads do the same on {self.name}: use lines of one kind of traffic, one "
                "buffer and one delay"
            )
        if workers and any(worker.pause_ns for worker in workers) and chase is None:
            raise CommandError(f"delays go with latency on {self.name}: leave out -T, or use -d0")
        return notes

    def measure(self, chase: Chase | None, workers: list[Worker], effort: Effort) -> Values:
        """Take the requested number of samples, because more do not make a model more precise."""
        count = max(effort.samples or 0, MIN_SAMPLES)
        point = self._point(chase, workers)
        samples = [self._subject.sample(point) for _ in range(count)]
        if chase is None:
            worker_count = len(workers)
            return Values(
                [], [[sample.value / worker_count for sample in samples] for _ in workers]
            )
        ns = [sample.value for sample in samples]
        # The timed thread's own lines are left out here; modes add them to what they print.
        drawn = [max(sample.drawn_gb_per_s - 64 / sample.value, 0.0) for sample in samples]
        return Values(ns, [[sample / len(workers) for sample in drawn] for _ in workers])

    def core_to_core(self) -> list[HandOff]:
        """Return nothing: a memory has no cores."""
        return []

    def _point(self, chase: Chase | None, workers: list[Worker]) -> SamplePoint:
        sizes = self._facts.page_sizes
        first = _with_known_kernel(workers[0]) if workers else None
        pages = (chase or first).pages if chase or first else "default"  # type: ignore[union-attr]
        page = sizes[0] if pages in ("2m", "1g") or len(sizes) == 1 else sizes[-1]
        if chase is None:
            assert first is not None
            return SamplePoint(
                "bandwidth",
                first.kernel,
                sizes[0],
                self._facts.buffer_bytes,
                threads=len(workers),
                read_share=first.read_share,
                stride_bytes=first.stride_bytes if first.stride_bytes > 64 else 0,
                window_bytes=first.window_bytes,
            )
        return SamplePoint(
            "loaded" if first else "latency",
            "chase-sequential" if chase.sequential else "chase",
            page,
            chase.size_bytes,
            threads=len(workers) + 1 if first else 1,
            generator=first.kernel if first else "",
            pause_ns=first.pause_ns if first else None,
            read_share=first.read_share if first else None,
            stride_bytes=chase.stride_bytes if chase.stride_bytes > 64 else 0,
            window_bytes=chase.window_bytes,
        )


def _with_known_kernel(worker: Worker) -> Worker:
    """Return `worker` with a kernel that a model knows and whose traffic on the bus is equal."""
    if worker.kernel not in EQUIVALENT_KERNELS:
        return worker
    kernel, share = EQUIVALENT_KERNELS[worker.kernel]
    return replace(worker, kernel=kernel, read_share=share)


def _settings(worker: Worker) -> tuple[object, ...]:
    """Return the settings in which all workers on a model must agree."""
    return (worker.kernel, worker.read_share, worker.size_bytes, worker.pause_ns,
            worker.stride_bytes, worker.window_bytes)  # fmt: skip
