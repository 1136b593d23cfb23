"""The probe drops disturbed samples, stops at its deadline, and repeats unsure answers."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.measure.infer import infer
from nearfar.measure.infer.probe import MIN_SAMPLES, InferenceProbe, until_sure
from nearfar.measure.infer.resample import median_noise
from nearfar.measure.model import ModelSubject
from nearfar.samples.point import SamplePoint

POINTS = [SamplePoint("latency", "chase", 2 << 20, 4096 << shift) for shift in range(8)]


class Ticks:
    """A clock that advances by a second at each reading."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def subject():
    return ModelSubject("optane-100-1dimm")


def test_disturbed_samples_are_counted_and_dropped(subject):
    probe = InferenceProbe(subject, 100, 60)
    gathered = probe.gather(POINTS)
    assert all(len(values) >= 60 for values in gathered)
    assert probe.disturbed > 0
    taken = sum(len(samples) for samples in probe.taken.values())
    assert taken - probe.disturbed == sum(map(len, gathered))


def test_points_without_enough_samples_at_the_deadline_are_empty(subject):
    probe = InferenceProbe(subject, 8, 5, Ticks())
    gathered = probe.gather(POINTS)
    assert probe.out_of_time
    assert any(len(values) == 0 for values in gathered)
    assert all(len(values) == 0 or len(values) >= MIN_SAMPLES for values in gathered)


def test_a_share_of_the_time_ends_earlier(subject):
    probe = InferenceProbe(subject, 1000, 5, Ticks())
    with probe.share(0.1):
        assert probe.seconds_left() < 100
    assert probe.seconds_left() > 900


def test_an_unsure_answer_is_repeated(subject):
    probe = InferenceProbe(subject, 100, 3)
    latency = subject.model.buffers[0].latency_ns
    # Either side of the true value is possible for a noisy median.
    answer = until_sure(probe, POINTS[:1], lambda row, _noise: bool(row[0] > latency), doublings=2)
    assert answer is not None
    assert len(answer.samples[0]) >= 3
    sure = until_sure(probe, POINTS[:1], lambda row, _noise: bool(row[0] > 2 * latency))
    assert sure is not None
    assert (sure.value, sure.share) == (False, 1.0)


def test_noise_is_the_scatter_of_medians():
    rng = np.random.default_rng(0)
    samples = [100 * np.exp(0.02 * rng.standard_normal(25)) for _ in range(100)]
    scatter = float(np.std([np.median(values) for values in samples])) / 100
    assert median_noise(samples) == pytest.approx(scatter, rel=0.3)


def test_without_time_everything_is_not_seen_with_its_reason(subject):
    told: list[float] = []
    inference = infer(subject, 0.0, lambda _what, share: told.append(share))
    assert not (
        inference.buffers or inference.write_queues or inference.interleaves or inference.stalls
    )
    assert {"buffers", "interleave", "write queue", "stalls", "granularity"} <= set(
        inference.not_seen
    )
    assert all(inference.not_seen.values())
    assert inference.ended == "time"
    assert told == sorted(told)
    assert told[-1] == 1.0
