"""Intervals of inferred stalls hold the truth, over many simulated rows of writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from nearfar.devices.stalls import stalled_latency, without_stalls
from nearfar.measure.infer import stalls as stalls_module
from nearfar.measure.infer.findings import Findings
from nearfar.measure.infer.probe import InferenceProbe
from nearfar.measure.infer.refresh import Interval, RefreshStall
from nearfar.measure.infer.stalls import infer_stalls
from nearfar.measure.model import ModelSubject
from nearfar.samples.point import Sample
from nearfar.sim.model_of import model_of
from nearfar.sim.parameters import Refresh

SHORT_ROWS = (15_000, 60_000, 240_000)
"""Lengths of rows for quick tests."""

ROW_ERRORS = (0.0, 0.01, 0.015, 0.03)
"""Relative errors of the times of whole rows."""


@dataclass(frozen=True)
class WriteTruth:
    """Times in ns; 0: no such stall."""

    write_ns: float
    refresh: tuple[float, float] = (0.0, 0.0)
    wear: tuple[int, float] = (0, 0.0)
    """Writes, length."""
    unseen_ns: float = 0.0
    """Time between two writes that is not measured."""


@dataclass
class Writes:
    """Subject whose writes jitter, as real ones do, and whose rows have errors of their own."""

    truth: WriteTruth
    seed: int
    row_error: float = 0.015
    """Relative standard error of the times of one row."""
    written: int = 0
    now: float = 0.0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.now = self.rng.uniform(0, 1e6)

    def facts(self):
        return replace(ModelSubject("cxl-e3s-x8").facts(), llc_bytes=0)

    def sample(self, point):
        truth, rng, count = self.truth, self.rng, point.accesses
        times = truth.write_ns * np.exp(0.03 * rng.standard_normal(count))
        tail = np.nonzero(rng.random(count) < 2e-3)[0]
        times[tail] += 60 * (1 + rng.pareto(2.5, len(tail)))
        interrupts = np.nonzero(rng.random(count) < truth.write_ns / 4e6)[0]
        times[interrupts] += 2000 * (1 + rng.pareto(2.5, len(interrupts)))
        period, length = truth.wear
        if period:
            worn = np.nonzero((np.arange(count) + self.written) % period == period - 1)[0]
            times[worn] += length * rng.uniform(0.9, 1.1, len(worn))
        self.written += count
        gaps = np.full(count, point.rest_ns + truth.unseen_ns)
        if truth.refresh[0]:
            self._refresh(times, gaps)
        self.now += float((times + gaps).sum())
        times *= rng.normal(1, self.row_error)
        return Sample(float(times.mean()), each_ns=times.astype(np.float32))

    def _refresh(self, times, gaps):
        """Let each write that begins during a refresh wait for its end."""
        period, length = self.truth.refresh
        starts = np.concatenate([[0.0], np.cumsum(times + gaps)[:-1]])
        now, number = self.now, int(self.now // period)
        while (at := int(np.searchsorted(starts, number * period - now))) < len(times):
            begin = starts[at] + now
            number = max(number, int(begin // period))
            wait = number * period + length - begin
            if begin >= number * period and wait > 0:
                times[at] += wait
                now += wait
            number += 1


def infer_of(subject):
    findings = Findings()
    infer_stalls(InferenceProbe(subject, 60.0, 6), findings)
    return findings


def random_refreshes(seed, count):
    """Yield truths: half of them stall up to 5 % of the time, half up to 80 %."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        write, period = (
            np.exp(rng.uniform(*np.log((60, 400)))),
            np.exp(rng.uniform(*np.log((2e3, 1e6)))),
        )
        share = rng.uniform(0.05, 0.8) if number % 2 else rng.uniform(0.01, 0.05)
        length = min(max(period * share, rng.uniform(1.5, 3.5) * write), 0.8 * period)
        unseen = rng.choice([0.0, rng.uniform(10, 80)])
        yield WriteTruth(float(write), (float(period), float(length)), unseen_ns=float(unseen))


def dram_refreshes(seed, count):
    """Yield truths with the periods and lengths of DRAM."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        write, period = float(rng.uniform(60, 150)), float(rng.choice([3900, 7800]))
        length = float(rng.uniform(max(1.5 * write, 160), 550))
        yield WriteTruth(write, (period, length), unseen_ns=float(rng.uniform(0, 80)))


@pytest.mark.parametrize(("truths", "count"), [(random_refreshes, 20), (dram_refreshes, 16)])
def test_intervals_of_refresh_hold_the_truth(monkeypatch, truths, count):
    monkeypatch.setattr(stalls_module, "WRITES", SHORT_ROWS)
    seen = periods = lengths = 0
    widths = []
    for seed, truth in enumerate(truths(31, count)):
        stalls = infer_of(Writes(truth, seed, row_error=ROW_ERRORS[seed % 4])).stalls
        assert all(stall.period_writes is None for stall in stalls), truth
        for stall in stalls:
            period, length = truth.refresh
            seen += 1
            periods += stall.low <= period <= stall.high
            lengths += stall.length_low_ns <= length <= stall.length_high_ns
            widths.append((stall.high - stall.low) / period)
            widths.append((stall.length_high_ns - stall.length_low_ns) / length)
    assert seen >= 0.85 * count
    assert periods >= 0.9 * seen
    assert lengths >= 0.9 * seen
    assert np.median(widths) < 0.08


def test_a_period_is_as_sure_as_the_rows_agree():
    truth = WriteTruth(100.0, (7800.0, 350.0))
    widths = []
    for row_error in (0.0, 0.03):
        (stall,) = infer_of(Writes(truth, 3, row_error=row_error)).stalls
        assert stall.low <= 7800 <= stall.high
        widths.append((stall.high - stall.low) / 7800)
    assert widths[0] < 0.03 < widths[1]


def test_confidence_covers_the_length():
    period, length = Interval(1e4, 9900, 10_100, 50), Interval(300, 240, 360, 30)
    findings = Findings()
    stalls_module._add_refresh(RefreshStall(period, length, 0.0), findings)
    (stall,) = findings.stalls
    assert stall.confidence == pytest.approx(0.68, abs=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_wear_is_wear_and_its_interval_holds_the_truth(seed):
    rng = np.random.default_rng(seed)
    period, length = int(rng.uniform(2000, 20_000)), float(rng.uniform(5e3, 1e5))
    (stall,) = infer_of(Writes(WriteTruth(150.0, wear=(period, length)), seed)).stalls
    assert (stall.period_writes, stall.period_ns) == (period, None)
    assert stall.length_low_ns <= length <= stall.length_high_ns


@pytest.mark.parametrize("seed", range(4))
def test_no_stalls_are_invented(seed):
    assert infer_of(Writes(WriteTruth(100.0 * (seed + 1)), seed)).stalls == []


@pytest.mark.parametrize(("period", "length"), [(30_000, 20_000), (5000, 4000), (400_000, 8000)])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_refresh_of_a_model_device(period, length, noise):
    model = replace(model_of("cxl-e3s-x8"), refresh=Refresh(period, length))
    (stall,) = infer_of(ModelSubject(model, seed=2, noise=noise)).stalls
    assert stall.low <= period <= stall.high
    assert stall.length_low_ns <= length <= stall.length_high_ns


def test_a_latency_that_includes_a_stall_is_said():
    model = replace(model_of("cxl-e3s-x8"), refresh=Refresh(30_000, 20_000))
    (stall,) = infer_of(ModelSubject(model, seed=1)).stalls
    low, high = without_stalls(750.0, stall)
    assert low <= 250 <= high < 1.3 * low
    (warning,) = stalled_latency([stall], {1 << 20: 90.0, 1 << 30: 750.0})
    assert "idle read latency of 750 ns" in warning
    rare = replace(model_of("cxl-e3s-x8"), refresh=Refresh(400_000, 8000))
    assert stalled_latency(infer_of(ModelSubject(rare)).stalls, {1 << 30: 255.0}) == []
