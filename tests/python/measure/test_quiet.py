"""The limit of noise: refusal in one sentence with instructions for a better measurement."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec
import pytest
from samples import device, measured_here

from nearfar import api
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.quality import MAX_ERROR, quality_of
from nearfar.documents import DeviceProfile, load
from nearfar.measure.measure import _sample_surfaces
from nearfar.measure.model import ModelSubject
from nearfar.measure.parts import TimeBudget
from nearfar.measure.quiet import disputed, is_noisy, needed_s, noise_verdict, refuse_noise
from nearfar.measure.rounds import MIN_ROUNDS
from nearfar.measure.settings import no_progress
from nearfar.options.measure import MeasureOptions
from nearfar.samples.point import Sample, SamplePoint

replace = msgspec.structs.replace
COMMAND = "nearfar measure dram --quick --seconds 55 --repetitions=4 -o near.json"


def measured(floor: float, drift: float = 0.0, kind: str = "chains") -> DeviceProfile:
    context = replace(
        measured_here(), seconds=60.0, noise_floors={kind: floor}, clock_drift=drift, contention=0.8
    )
    made = device("dram")
    return replace(made, measured=context, producer=replace(made.producer, command=COMMAND))


def test_a_quiet_measurement_and_a_device_without_noise_figures_are_accepted():
    refuse_noise(measured(0.3), 0.0, resumable=True)
    refuse_noise(measured(5.0, kind="persist"), 0.0, resumable=True)
    refuse_noise(device("published"), 0.0, resumable=True)


def test_a_measurement_without_surfaces_is_not_refused() -> None:
    made = measured(0.75, kind="latency")
    assert made.measured is not None
    inferred = replace(made, measured=replace(made.measured, repetitions=0))
    refuse_noise(inferred, 0.0, resumable=True)
    assert "do not use this profile" in noise_verdict(inferred)


def test_the_refusal_explains_how_to_continue():
    with pytest.raises(NearfarError) as refused:
        refuse_noise(measured(0.75), 0.0, resumable=True)
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS
    text = str(refused.value)
    # 0.75 is 1.5 times the limit: 2.25 times the minute.
    command = "nearfar measure dram --quick -o near.json --resume --seconds 140"
    assert f"2 min in all, with `{command}`" in text
    assert "noise floor of 75%" in text
    assert "--resume --accept-noise" in text
    script = measured(0.75)
    script = replace(script, producer=replace(script.producer, command="nearfar my_script.py"))
    with pytest.raises(NearfarError, match="with --seconds 140; or"):
        refuse_noise(script, 0.0, resumable=True)
    with pytest.raises(NearfarError, match="with --seconds 140; or take it as it is with --acc"):
        refuse_noise(measured(0.75), 0.0, resumable=False)
    with pytest.raises(NearfarError, match="measure again at a quieter time, about 1 min"):
        refuse_noise(measured(0.1, drift=2.0), 0.0, resumable=True)


def test_the_required_time_meets_the_limit():
    assert needed_s(quality_of(measured(2 * MAX_ERROR)), 60.0) == 240.0
    assert needed_s(quality_of(measured(0.1, drift=1.5)), 60.0) is None
    # Drift leaves a smaller limit for the noise floor.
    with_drift = needed_s(quality_of(measured(0.6, drift=0.8)), 60.0)
    assert with_drift > needed_s(quality_of(measured(0.6)), 60.0)


def test_noise_of_samples_is_detected():
    point = SamplePoint("chains", "chains", 4096, 1 << 20)
    steady = {point: [Sample(100.0)] * 8}
    assert not is_noisy(steady)
    assert is_noisy({point: [Sample(100.0)] * 4 + [Sample(300.0)] * 4})
    disturbed = [Sample(900.0, disturbed=True)] * 3
    assert not is_noisy({point: [*disturbed, *steady[point]]})


class Bursts:
    """Points of which one sample in nine takes six times as long, as beside a busy neighbour."""

    def __init__(self, points: list[SamplePoint], steady: bool = False) -> None:
        self.taken = dict.fromkeys(points, 0)
        self.steady = steady
        self.order = random.Random(5)

    def earlier(self, points: list[SamplePoint]) -> dict[SamplePoint, list[Sample]]:
        return {point: [] for point in points}

    def sample(self, point: SamplePoint) -> Sample:
        self.taken[point] += 1
        return Sample(600.0 if not self.steady and self.order.random() < 1 / 9 else 100.0)


@pytest.mark.parametrize("steady", [True, False])
def test_a_quick_measurement_repeats_the_points_whose_samples_differ(steady: bool) -> None:
    points = [SamplePoint("latency", "chase", 4096, size << 20) for size in range(1, 81)]
    subject = Bursts(points, steady)
    rounds = _sample_surfaces(
        subject, points, MeasureOptions(memory="model:x", quick=True), TimeBudget(0.0, 0, 0, 0),
        began=0.0, progress=no_progress, watch=None,
    )  # fmt: skip
    more = {point for point, taken in subject.taken.items() if taken > 3}
    assert {subject.taken[point] for point in more} == (set() if steady else {6})
    assert all(subject.taken[point] == 3 for point in points if point not in more)
    assert bool(more) == (not steady)
    assert not is_noisy(rounds.samples)
    assert rounds.count == 3
    assert {point: len(taken) for point, taken in rounds.samples.items()} == subject.taken
    first = {point: taken[:3] for point, taken in rounds.samples.items()}
    assert is_noisy(first) == (not steady)
    assert set(disputed(first)) == more


def test_points_that_are_disputed_after_many_samples_get_more() -> None:
    point = SamplePoint("latency", "chase", 4096, 1 << 20)
    subject = Bursts([point], steady=True)
    samples = [Sample(100.0)] * 3 + [Sample(600.0)] * 4
    subject.earlier = lambda _points: {point: samples}  # type: ignore[method-assign]
    rounds = _sample_surfaces(
        subject, [point], MeasureOptions(memory="model:x", quick=True, resume=True),
        TimeBudget(0.0, 0, 0, 0), began=0.0, progress=no_progress, watch=None,
    )  # fmt: skip
    assert len(rounds.samples[point]) == len(samples) + MIN_ROUNDS


def test_a_full_measurement_that_is_noisy_gets_its_time_again() -> None:
    points = [SamplePoint("latency", "chase", 4096, size << 20) for size in range(1, 81)]
    subject = Bursts(points)
    rounds = _sample_surfaces(
        subject, points, MeasureOptions(memory="model:x"), TimeBudget(0.3, 0, 0, 0),
        began=time.monotonic() - 1.0, progress=no_progress, watch=None,
    )  # fmt: skip
    fewest = min(subject.taken.values())
    assert rounds.count == fewest > 3


def test_a_refused_measurement_is_resumed_and_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A memory whose figures jump is not saved, and no sample is measured twice."""
    rng, calls = random.Random(1), []
    plain = ModelSubject.sample

    def noisy(self: ModelSubject, point: SamplePoint) -> Sample:
        calls.append(point)
        sample = plain(self, point)
        return Sample(sample.value * rng.choice((1.0, 4.0)))

    monkeypatch.setattr(ModelSubject, "sample", noisy)
    near = tmp_path / "near.json"
    asked = {
        "memory": "model:optane-100-6dimm",
        "quick": True,
        "repetitions": 4,
        "only": "chains",
        "output": near,
    }
    with pytest.raises(NearfarError, match="is the limit") as refused:
        api.measure(**asked)
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS
    assert [path.name for path in tmp_path.iterdir()] == ["near.json.samples"]
    taken = len(calls)
    api.measure(**asked, resume=True, accept_noise=True)
    assert len(calls) == taken
    assert quality_of(load(near, DeviceProfile)).error > MAX_ERROR
    assert not (tmp_path / "near.json.samples").exists()
