"""The choice of a kernel's instruction set, with given rates and on this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nearfar import _measure
from nearfar.measure import fastest_isa
from nearfar.measure.fastest_isa import QUICK_ROUNDS, ROUNDS, FastestIsa
from nearfar.memories.topology import detect

CPU = detect().cpus[0]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Runs by instruction set, where SSE2 is the fastest, AVX2 close and AVX-512 far behind."""
    rates = {"avx512": 18.0, "avx2": 24.5, "sse2": 25.0}
    counts = dict.fromkeys(rates, 0)

    def worker(cpu: int, kernel: str, memory: Any, second: Any, isa: str) -> str:
        assert (cpu, memory, second) == (CPU, "memory", None)
        return f"{kernel} {isa}"

    def together(workers: list[str], duration_ns: float, warm_up_ns: float) -> Any:
        assert duration_ns > warm_up_ns
        isa = workers[0].split()[1]
        counts[isa] += 1
        disturbed = 0.5 if counts[isa] == 1 else 1.0
        return SimpleNamespace(each=[SimpleNamespace(gb_per_s=rates[isa] * disturbed)])

    class Kernels:
        isas = staticmethod(lambda: [*rates, "scalar"])
        kernels = staticmethod(
            lambda: [
                SimpleNamespace(name="read", missing=lambda isa: ""),
                SimpleNamespace(name="nt-load", missing=lambda isa: "no" * (isa != "avx512")),
            ]
        )
        Worker = staticmethod(worker)

    monkeypatch.setattr(Kernels, "together", staticmethod(together), raising=False)
    monkeypatch.setattr(fastest_isa, "_measure", Kernels)
    return counts


def test_the_fastest_set_is_chosen_and_slow_ones_stop_early(ran: dict[str, int]) -> None:
    fastest = FastestIsa()
    assert fastest.chosen("read") == ""
    assert fastest.of_kernel("read-random", CPU, "memory") == "sse2"  # type: ignore[arg-type]
    assert ran == {"avx512": QUICK_ROUNDS, "avx2": ROUNDS, "sse2": ROUNDS}
    assert fastest.of_kernel("read", CPU, "memory") == "sse2"  # type: ignore[arg-type]
    assert sum(ran.values()) == QUICK_ROUNDS + 2 * ROUNDS  # nothing ran again
    assert fastest.chosen("read-strided") == "sse2"
    assert fastest.all_chosen() == {"read": "sse2"}


def test_a_kernel_of_one_set_is_not_tried(ran: dict[str, int]) -> None:
    assert FastestIsa().of_kernel("nt-load", CPU, "memory") == "avx512"  # type: ignore[arg-type]
    assert sum(ran.values()) == 0


@pytest.mark.parametrize("kernel", ["read", "copy", "nt-store-random", "gather"])
def test_this_machine_runs_the_chosen_set(kernel: str) -> None:
    memory = _measure.Memory.anonymous(4 << 20, "4k")
    isa = FastestIsa(QUICK_ROUNDS).of_kernel(kernel, CPU, memory)
    assert isa in _measure.isas()
    found = next(each for each in _measure.kernels() if each.name == kernel)
    assert not found.missing(isa)
