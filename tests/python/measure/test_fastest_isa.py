"""The choice of a kernel's instruction set, with given rates and on this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nearfar import _measure
from nearfar.measure import competing, fastest_isa, matrix, sampler
from nearfar.measure.fastest_isa import QUICK_ROUNDS, ROUNDS, FastestIsa
from nearfar.memories.spec import MemorySpec
from nearfar.memories.topology import detect
from nearfar.samples.point import SamplePoint

CPU = detect().cpus[0]
PAGE = 4096
LARGEST = 4 << 20


def kernel(name: str, isas: str = "avx512 avx2 sse2", waits: int = 0, fences: int = 0) -> Any:
    return SimpleNamespace(
        name=name,
        missing=lambda isa: "" if isa in isas.split() else "lacks it",
        traffic=lambda: SimpleNamespace(dependent_loads=waits, fences=fences),
    )


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Runs by instruction set, where SSE2 is the fastest, AVX2 close and AVX-512 far behind."""
    rates = {"avx512": 18.0, "avx2": 24.5, "sse2": 25.0}
    counts = dict.fromkeys(rates, 0)

    def worker(cpu: int, loop: str, memory: Any, second: Any, *, shape: Any, isa: str) -> str:
        assert (cpu, memory, second, shape) == (CPU, "memory", "target", 0.5)
        return f"{loop} {isa}"

    def together(workers: list[str], duration_ns: float, warm_up_ns: float) -> Any:
        assert duration_ns > warm_up_ns
        isa = workers[0].split()[1]
        counts[isa] += 1
        # One disturbed turn, which would decide by the mean.
        rate = 1.0 if isa == "sse2" and counts[isa] == 1 else rates[isa]
        return SimpleNamespace(each=[SimpleNamespace(gb_per_s=rate)])

    class Machine:
        @staticmethod
        def Shape(read_share: float) -> float:  # noqa: N802
            return read_share

    known = [
        kernel("read"),
        kernel("nt-load", "avx512"),
        kernel("persist-clwb", fences=1),
        kernel("chains", waits=1),
    ]
    for name, value in (
        ("isas", lambda: [*rates, "scalar"]),
        ("kernels", lambda: known),
        ("Worker", worker),
        ("together", together),
    ):
        setattr(Machine, name, staticmethod(value))
    monkeypatch.setattr(fastest_isa, "_measure", Machine)
    return counts


def chosen_by(fastest: FastestIsa, name: str) -> str:
    return fastest.of_kernel(name, CPU, "memory", "target")  # type: ignore[arg-type]


def test_the_fastest_set_is_chosen_and_slow_ones_stop_early(ran: dict[str, int]) -> None:
    fastest = FastestIsa()
    assert fastest.chosen("read") == ""
    assert chosen_by(fastest, "read-random") == "sse2"
    assert ran == {"avx512": QUICK_ROUNDS, "avx2": QUICK_ROUNDS, "sse2": QUICK_ROUNDS}
    assert chosen_by(fastest, "read") == "sse2"
    assert sum(ran.values()) == 3 * QUICK_ROUNDS  # nothing ran again
    assert fastest.chosen("read-strided") == "sse2"
    assert fastest.all_chosen() == {"read": "sse2"}


def test_sets_that_may_be_the_fastest_have_all_turns() -> None:
    rates = {"avx512": [18.0, 24.9, 18.0], "avx2": [24.0, 25.5, 24.0], "sse2": [25.0, 25.0, 20.0]}
    assert fastest_isa._without_slow(rates, list(rates)) == ["avx2", "sse2"]
    assert ROUNDS > QUICK_ROUNDS


@pytest.mark.parametrize(
    ("name", "isa"), [("nt-load", "avx512"), ("persist-clwb", ""), ("chains", "")]
)
def test_a_kernel_without_a_choice_does_not_run(ran: dict[str, int], name: str, isa: str) -> None:
    assert chosen_by(FastestIsa(), name) == isa
    assert sum(ran.values()) == 0


@pytest.mark.parametrize("name", ["read", "copy", "nt-store-random", "gather", "mixed"])
def test_this_machine_runs_the_chosen_set(name: str) -> None:
    memory = _measure.Memory.anonymous(LARGEST, "4k")
    isa = FastestIsa(QUICK_ROUNDS).of_kernel(name, CPU, memory)
    found = next(each for each in _measure.kernels() if each.name == name)
    assert isa in _measure.isas()
    assert not found.missing(isa)


class Recording:
    """The native module, whose workers are recorded."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []

    def Worker(self, cpu: int, kernel: str = "", *memories: Any, **given: Any) -> Any:  # noqa: N802
        if kernel:
            self.made.append((kernel, given.get("isa", "")))
        return _measure.Worker(cpu, kernel, *memories, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(_measure, name)


@pytest.fixture
def slowest(monkeypatch: pytest.MonkeyPatch) -> str:
    """The set that every choice returns: the last, which nobody would use by default."""
    isa = _measure.isas()[-1]
    monkeypatch.setattr(FastestIsa, "of_kernel", lambda *_: isa)
    return isa


def test_samples_use_the_chosen_set(monkeypatch: pytest.MonkeyPatch, slowest: str) -> None:
    native = Recording()
    monkeypatch.setattr(sampler, "_measure", native)
    made = sampler.Sampler(
        {PAGE: _measure.Memory.anonymous(LARGEST, "4k")},
        LARGEST,
        lambda _, size_bytes: _measure.Memory.anonymous(size_bytes, "4k"),
        detect().cpus[:2],
        1 << 20,
    )
    made.sample(SamplePoint("bandwidth", "read", PAGE, LARGEST))
    assert native.made == [("read", slowest)]
    if len(made.cpus) > 1:
        loaded = SamplePoint("loaded", "chase", PAGE, LARGEST, generator="mixed", pause_ns=0.0)
        made.sample(loaded)
        assert ("mixed", slowest) in native.made
    made.use_isa("sse2" if "sse2" in _measure.isas() else slowest)
    native.made.clear()
    made.sample(SamplePoint("bandwidth", "read", PAGE, LARGEST))
    assert native.made == [("read", made.isa)]


def test_matrices_and_competing_copies_use_the_chosen_set(
    monkeypatch: pytest.MonkeyPatch, slowest: str
) -> None:
    native = Recording()
    monkeypatch.setattr(matrix, "_measure", native)
    monkeypatch.setattr(competing, "_measure", native)
    machine = detect()
    matrix.RealProber(machine.node or 0, machine).read_gb_per_s(machine.cpus[:1])
    assert native.made == [("read", slowest)]
    native.made.clear()
    dram = MemorySpec("dram")
    competing.CompetingCopies(dram, dram, machine).together((("A->A", 1),))
    assert ("copy", slowest) in native.made
