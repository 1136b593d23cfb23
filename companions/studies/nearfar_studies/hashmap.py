"""The performance thesis' hash map: its printed fits, its two models, and ours from the same fits.

All functions are for n gets with n elements; times are in ns unless the name says s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar_studies.figures import Column, published

THESIS = published("performance-thesis")

MAX_CLOCK_GHZ = 4.0
"""Turbo clock of one core of the Xeon Gold 5218R (Intel's datasheet): counters cannot imply a
higher one."""


@dataclass(frozen=True)
class HashMapCounters:
    """Counts of n gets on DRAM by the printed fits; negative counts are set to 0."""

    cycles: Column
    stalled_cycles: Column
    load_misses: Column


def counters(n: Column) -> HashMapCounters:
    """Evaluate the printed fits at `n`."""
    v = THESIS.value
    ratio = v("load_ratio_slope") * np.log(n) + v("load_ratio_offset")
    return HashMapCounters(
        cycles=v("cycles_per_get") * n,
        stalled_cycles=np.maximum(v("stalls_slope") * n + v("stalls_offset"), 0.0),
        load_misses=np.maximum(loads(n), 0.0) * np.clip(ratio, 0.0, 1.0),
    )


def loads(n: Column) -> Column:
    """Return the printed fit of last-level loads, negative where the fit is."""
    return THESIS.value("loads_slope") * n + THESIS.value("loads_offset")


def stores(n: Column) -> Column:
    """Return the printed fit of last-level stores, negative where the fit is."""
    return THESIS.value("stores_slope") * n + THESIS.value("stores_offset")


def store_ratio(n: Column) -> Column:
    """Return the printed fit of the last level's store miss ratio, above 1 where the fit is."""
    return THESIS.value("store_ratio_slope") * n + THESIS.value("store_ratio_offset")


def implied_clocks_ghz(n: Column, dram_ns: float) -> Column:
    """Return the clock at which stalled cycles are misses times DRAM's latency, for each n.

    The misses of a get depend on each other (bucket, entry, next entry), so the core stalls the
    whole latency of each. The cycle counter counts at the clock that the core had, which need not
    be the nominal one. Impossible clocks, where the fits break down, are left out.
    """
    waited_ns, stalled_cycles = _possible(n, dram_ns)
    return np.asarray(stalled_cycles / waited_ns)


def clock_ghz(n: Column, dram_ns: float) -> float:
    """Return one clock for all n: least squares of stalled cycles over the misses' latency.

    Residuals are absolute: large n, where the fits are best, count most.
    """
    waited_ns, stalled_cycles = _possible(n, dram_ns)
    return float((waited_ns * stalled_cycles).sum() / (waited_ns * waited_ns).sum())


def predicted_s(n: Column, clock: float, dram_ns: float) -> Column:
    """Return seconds on persistent memory: DRAM's cycles plus the added latency of every miss.

    The only value of persistent memory that it uses is the idle read latency.
    """
    counted = counters(n)
    added_ns = THESIS.value("pmem_read_ns") - dram_ns
    return np.asarray((counted.cycles / clock + counted.load_misses * added_ns) * 1e-9)


def _possible(n: Column, dram_ns: float) -> tuple[Column, Column]:
    """Return misses times latency, and stalled cycles, for n that imply a possible clock."""
    counted = counters(n)
    waited_ns = counted.load_misses * dram_ns
    possible = (waited_ns > 0) & (counted.stalled_cycles <= MAX_CLOCK_GHZ * waited_ns)
    return waited_ns[possible], counted.stalled_cycles[possible]


def its_counters_model_s(n: Column, *, with_cpu: bool) -> Column:
    """Return the thesis' counters model (figure 5.7) with absolute values, for 1-byte elements.

    `with_cpu` adds the processor time, which the appendix' code computes but does not add.
    """
    v = THESIS.value
    load_misses = np.abs(loads(n)) * np.abs(
        v("load_ratio_slope") * np.log(n) + v("load_ratio_offset")
    )
    store_misses = np.abs(stores(n)) * np.abs(store_ratio(n))
    latency_ns = load_misses * v("pmem_read_ns") + store_misses * v("pmem_write_ns")
    latency_ns = latency_ns + n / v("pmem_read_gb_per_s")
    return np.asarray((latency_ns + (its_cpu_ns(n) if with_cpu else 0.0)) * 1e-9)


def its_cpu_ns(n: Column) -> Column:
    """Return the thesis' processor time: cycles over clock times instructions per cycle."""
    v = THESIS.value
    per_cycle = v("instructions_per_get") / v("cycles_per_get")
    return np.asarray(v("cycles_per_get") * n / v("clock_ghz") * per_cycle)


def its_code_model_s(n: Column) -> Column:
    """Return the thesis' code model, figure 5.10: a get takes 4 1/3 reads and transfers 1 byte."""
    reads = 4.0 + 1.0 / 3.0
    per_get_ns = reads * THESIS.value("pmem_read_ns") + 1.0 / THESIS.value("pmem_read_gb_per_s")
    return np.asarray(per_get_ns * n * 1e-9)
