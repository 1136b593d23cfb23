"""A complete measurement of simulated memories with known values, in one profile."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices import check, curves
from nearfar.documents import DeviceProfile, load, save
from nearfar.documents.device import LatencyFigure
from nearfar.measure import measure as measuring
from nearfar.measure.model import ModelSubject
from nearfar.measure.open_subject import open_memory
from nearfar.measure.parts import SHARES, share_out
from nearfar.measure.quiet import noise_unmeasured
from nearfar.measure.recorder import Recorder
from nearfar.measure.rounds import RoundLimits, run_rounds
from nearfar.measure.surfaces import SURFACES
from nearfar.options.measure import MeasureOptions, MemoryOptions
from nearfar.samples.point import Sample, SamplePoint
from nearfar.samples.store import SampleStore, header

MODEL = "model:optane-100-6dimm"


def settings(memory: str = MODEL, **changes) -> MeasureOptions:
    given = {"quick": True, "repetitions": 3, "accept_noise": True} | changes
    return MeasureOptions(memory=memory, **given)


@pytest.fixture(scope="module")
def measured() -> measuring.Measured:
    parts = [*SURFACES.names(), *(part for part in SHARES if part != "surfaces")]
    return measuring.run(settings(seconds=25.0, only=",".join(parts)))


def test_it_is_a_valid_device_with_every_part(measured: measuring.Measured, tmp_path: Path) -> None:
    device = measured.device
    assert check.check_device(device) is None
    save(device, tmp_path / "device.json")
    assert load(tmp_path / "device.json", DeviceProfile) == device
    context = device.measured
    assert context is not None
    assert (context.ended, context.repetitions) == ("repetitions", 3)
    assert context.memory_spec == MODEL
    assert context.environment["simulated"] == "optane-100-6dimm"
    assert "surfaces" in context.environment["time_shared_out"]
    assert {each.name for each in context.protocols} >= {"plain-chase"}
    assert device.technology == "pmem"
    assert device.buffers or "buffers" in device.not_seen
    assert measured.evidence


def test_figures_equal_the_true_values_within_noise(measured: measuring.Measured) -> None:
    truth = ModelSubject("optane-100-6dimm").truth()
    device = measured.device
    assert curves.idle_read_latency_ns(device).value_ns == pytest.approx(truth.idle_ns, rel=0.03)
    assert curves.bandwidth(device, "read").value_gb_per_s == pytest.approx(
        truth.read_gb_per_s, rel=0.03
    )
    assert curves.chains(device)[0].chains == 1


def test_predict_can_use_it(measured: measuring.Measured) -> None:
    device = measured.device
    for operation in ("read", "write", "nt-store"):
        assert curves.bandwidth(device, operation).how == "measured"
    curve = curves.loaded_curve(device, 1.0)
    assert curve is not None
    assert curve.instruction == "load"
    assert curve.read_share == 1.0
    assert len(curve.tails) == len(curve.points)


def test_a_quick_one_has_what_predictions_read_of_a_durable_memory_and_another() -> None:
    for memory, durable in ((MODEL, True), ("model:cxl-e3s-x8", False)):
        device = measuring.measure(settings(memory, repetitions=2))
        assert device.durable == durable
        assert device.chains
        assert device.bandwidth
        assert device.loaded_latency
        assert {each.operation for each in device.latency} >= {"read"}
        assert any(each.instruction == "store+clwb" for each in device.latency) == durable
        assert not device.measured.protocols
        assert not device.not_seen
        assert any("(--quick)" in text for text in device.measured.warnings)


def test_only_some_parts_and_an_unknown_part() -> None:
    device = measuring.measure(settings(only="chains"))
    assert device.chains
    assert not device.latency
    assert not device.bandwidth
    assert any("only chains was measured" in text for text in device.measured.warnings)
    with pytest.raises(NearfarError, match="did you mean 'inference'"):
        measuring.measure(settings(only="inferense"))


def test_nothing_to_measure_is_refused_and_leaves_no_profile(tmp_path: Path) -> None:
    output = tmp_path / "device.json"
    with pytest.raises(NearfarError, match=r"cannot measure loaded .*second CPU") as refused:
        measuring.run(settings(only="loaded", threads=1, output=output))
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS
    assert list(tmp_path.iterdir()) == []


def test_inference_alone_does_not_end_early_by_narrow_intervals() -> None:
    context = measuring.measure(settings("model:random:5", only="inference", seconds=2)).measured
    assert (context.ended, context.repetitions) == ("nothing to repeat", 0)


def test_inference_alone_knows_the_noise_of_its_own_samples() -> None:
    device = measuring.measure(settings("model:optane-100-1dimm", only="inference", seconds=60))
    assert device.measured is not None
    assert 0.0 < device.measured.noise_floors["latency"] < 0.2
    assert not noise_unmeasured(device)


def test_an_unknown_model_and_a_random_one() -> None:
    with pytest.raises(NearfarError, match="did you mean 'optane-200'"):
        open_memory(MemoryOptions(memory="model:optane-20"))
    options = MemoryOptions(memory="model:random:5", threads=2, largest="64MiB")
    facts = open_memory(options).subject.facts()
    assert (facts.threads, facts.largest_bytes) == (2, 64 << 20)
    assert facts.page_sizes == (2 << 20, 4096)
    small = MemoryOptions(memory="model:random:5,pages=4k")
    assert open_memory(small).subject.facts().page_sizes == (4096,)


def test_time_is_divided_among_the_parts() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    whole = share_out(60, set(SHARES))
    assert whole.total == pytest.approx(60)
    assert whole.surfaces > whole.inference > whole.protocols > whole.instrument > 0
    part = share_out(60, {"inference"})
    assert (part.inference, part.surfaces) == (pytest.approx(60), 0)
    assert part.text() == "inference 60 s"


def test_drift_against_the_previous_run_at_the_same_output(tmp_path: Path) -> None:
    output = tmp_path / "device.json"
    asked = settings(only="chains", output=output, samples=False)
    first = measuring.measure(asked)
    assert first.measured.drift == []
    first.chains = [
        msgspec.structs.replace(
            each, value_ns=each.value_ns / 2, low_ns=each.low_ns / 2, high_ns=each.high_ns / 2
        )
        for each in first.chains
    ]
    save(first, output)
    again = measuring.measure(asked)
    assert again.measured.drift
    assert all(each.beyond_noise for each in again.measured.drift)
    assert any("moved beyond noise" in text for text in again.measured.warnings)


class Counting:
    """Counts its samples."""

    def __init__(self) -> None:
        self.asked = 0

    def facts(self):
        raise AssertionError("not asked here")

    def sample(self, _point: SamplePoint) -> Sample:
        self.asked += 1
        return Sample(float(self.asked))


POINTS = [SamplePoint("latency", "chase", 4096, size) for size in (1 << 16, 1 << 20, 1 << 28)]


def test_a_recorder_returns_saved_samples_and_measures_only_the_rest(tmp_path: Path) -> None:
    head = header("dram", {"quick": "True"})
    with SampleStore.create(tmp_path / "x.samples", head) as store:
        recorder = Recorder(Counting(), store)
        for point in (*POINTS, POINTS[0]):
            recorder.sample(point)
    with SampleStore.resume(tmp_path / "x.samples", head) as store:
        subject = Counting()
        recorder = Recorder(subject, store)
        earlier = recorder.earlier(POINTS[:2])
        assert [[each.value for each in earlier[p]] for p in POINTS[:2]] == [[1.0, 4.0], [2.0]]
        assert recorder.sample(POINTS[2]).value == 3.0
        assert (subject.asked, recorder.replayed, recorder.taken) == (0, 4, 0)
        assert recorder.sample(POINTS[2]).value == 1.0
        assert (subject.asked, recorder.taken) == (1, 1)
        assert sum(1 for _ in store.records()) == 5


def test_rounds_continue_after_earlier_samples_and_complete_an_interrupted_round() -> None:
    subject = Counting()
    earlier = {POINTS[0]: [Sample(1.0)] * 3, POINTS[1]: [Sample(1.0)] * 2}
    rounds = run_rounds(POINTS, subject.sample, RoundLimits(0.0, repetitions=4), earlier=earlier)
    assert {len(taken) for taken in rounds.samples.values()} == {4}
    assert subject.asked == 3 * 4 - 5
    assert (rounds.ended, rounds.count) == ("repetitions", 4)


def test_a_resumed_run_measures_no_sample_twice(tmp_path: Path) -> None:
    output = tmp_path / "device.json"
    asked = settings(only="chains", output=output, repetitions=2)
    first = measuring.run(asked)
    assert first.store is not None
    first.store.close()
    again = measuring.run(settings(only="chains", output=output, repetitions=2, resume=True))
    assert again.device.chains == first.device.chains
    assert again.store is not None
    again.store.close()
    longer = measuring.run(settings(only="chains", output=output, repetitions=3, resume=True))
    assert longer.device.measured.repetitions == 3


def test_a_small_memory_of_many_cores_is_loaded_step_by_step() -> None:
    device = measuring.measure(settings("model:optane-100-1dimm", only="loaded"))
    for curve in device.loaded_latency:
        below = [point for point in curve.points[1:] if point[0] < 0.9 * curve.points[-1][0]]
        assert len(below) >= 3
        half = next(ns for drawn, ns in curve.points if drawn > 0.4 * curve.points[-1][0])
        assert half < (curve.points[0][1] + curve.points[-1][1]) / 2, "its knee is beyond half"
    assert not any("distinct loads" in text for text in device.measured.warnings)


def test_fewer_threads_mean_fewer_generators() -> None:
    def peak(threads: int | None) -> float:
        options = MemoryOptions(memory="model:optane-100-6dimm", threads=threads)
        subject = open_memory(options).subject
        facts = subject.facts()
        return subject.sample(
            SamplePoint("loaded", "chase", facts.page_sizes[0], facts.largest_bytes,
                        generator="mixed", pause_ns=0.0, read_share=1.0)
        ).drawn_gb_per_s  # fmt: skip

    assert peak(2) < 0.5 * peak(None)


def test_a_resumed_run_repeats_the_probes_and_loads_of_the_previous_run(tmp_path: Path) -> None:
    output = tmp_path / "device.json"
    asked = settings(only="loaded", output=output, repetitions=2)
    first = measuring.run(asked)
    assert first.store is not None
    kept = sum(1 for _ in first.store.records())
    first.store.close()
    again = measuring.run(settings(only="loaded", output=output, repetitions=2, resume=True))
    assert again.device.loaded_latency == first.device.loaded_latency
    assert again.store is not None
    assert sum(1 for _ in again.store.records()) == kept, "nothing was measured again"
    again.store.close()


def test_write_latency_depends_on_the_instruction(measured: measuring.Measured) -> None:
    def largest(instruction: str) -> LatencyFigure:
        return next(
            each
            for each in measured.device.latency
            if each.instruction == instruction and each.region_bytes is None
        )

    assert largest("store+clwb").operation == "clwb"
    assert largest("nt-store").value_ns > 0


def test_a_profile_has_one_value_per_quantity(measured: measuring.Measured) -> None:
    same = [
        (each.instruction, each.pattern, each.region_bytes, each.page_bytes, each.stride_bytes)
        for each in measured.device.latency
    ]
    assert len(same) == len(set(same)), "the instrument's own chase competes with the surface's"
