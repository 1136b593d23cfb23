"""Noise of measurements: in the interval, and in one line of predict, place and report."""

from __future__ import annotations

import io

import msgspec
import numpy as np
import pytest
from rich.console import Console
from samples import device, measured_here, workload

from nearfar.api import place, predict, report
from nearfar.base.estimate import Estimate
from nearfar.devices.library import device_names, load_device
from nearfar.devices.quality import MAX_ERROR, QUIET, quality_of
from nearfar.documents import DeviceProfile, Plan, Prediction
from nearfar.place.table import print_plan
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.interval import far_estimate
from nearfar.predict.model import MODELS
from nearfar.predict.perturbations import noise_perturbations
from nearfar.predict.table import print_prediction
from nearfar.predict.traffic import CHASE, COLUMNS, STREAM, PhaseMissCurve, PhaseTraffic

replace = msgspec.structs.replace
FAR = "optane-100-6dimm"


def near_with(floor: float = 0.0, drift: float = 0.0, contention: float = 0.0) -> DeviceProfile:
    """Return near memory measured with this noise in every figure."""
    floors = dict.fromkeys(("latency", "chains", "bandwidth"), floor)
    context = replace(
        measured_here(),
        seconds=62.0,
        noise_floor=floor,
        noise_floors=floors,
        clock_drift=drift,
        contention=contention,
    )
    return replace(device("dram", latency_ns=100.0), measured=context)


NOISY = near_with(0.46, 1.12, 0.83)
PROFILE = workload()


def printed(show, document: Prediction | Plan) -> str:
    console = Console(file=io.StringIO(), width=1000)
    show(document, console)
    return console.file.getvalue()


def width(slowdown: Estimate) -> float:
    return slowdown.high - slowdown.low


def test_predict_reports_it_once_and_widens_intervals():
    far = [load_device(FAR), load_device("cxl-e3s-x8")]
    noisy, quiet = (predict(profile=PROFILE, near=near, far=far) for near in (NOISY, near_with()))
    assert quiet.noise is None
    assert "Noise:" not in printed(print_prediction, quiet)
    ratios = []
    for before, after in zip(quiet.devices, noisy.devices, strict=True):
        assert after.total.slowdown.value == before.total.slowdown.value
        ratios.append(width(after.total.slowdown) / width(before.total.slowdown))
    assert min(ratios) > 1.1
    assert noisy.noise.widening == pytest.approx(max(ratios), rel=0.05)
    text = printed(print_prediction, noisy)
    assert text.count("noise floor of 46%") == 1
    for part in ("drift of 112%", "contention for 83% of the time", "times as wide", "about 1 min"):
        assert part in text
    many = predict(
        profile=PROFILE, near=NOISY, far=[load_device(name) for name in device_names()[:8]]
    )
    assert printed(print_prediction, many).count("noise floor of 46%") == 1


def test_place_reports_it_and_widens_intervals():
    noisy, quiet = (
        place(profile=PROFILE, near=near, far=load_device(FAR), budget="10%")
        for near in (NOISY, near_with())
    )
    assert quiet.noise is None
    assert printed(print_plan, noisy).count("noise floor of 46%") == 1
    widths = [
        {bar.name: width(bar.slowdown) for bar in plan.alternatives} for plan in (quiet, noisy)
    ]
    assert widths[1]["all-far"] > 1.1 * widths[0]["all-far"]


def test_report_shows_it():
    noisy, quiet = (
        report(profile=PROFILE, near=near, far=[load_device(FAR)]) for near in (NOISY, near_with())
    )
    assert quiet.method.noise == ""
    assert "noise floor of 46%" in noisy.method.noise


def test_each_cause_alone_widens_the_interval():
    estimates = {}
    for name, near in {
        "quiet": near_with(),
        "floor": near_with(0.46),
        "drift": near_with(drift=1.12),
        "both": NOISY,
        "contention": near_with(contention=0.83),
    }.items():
        total = predict(profile=PROFILE, near=near, far=[load_device(FAR)]).devices[0].total
        estimates[name] = width(total.slowdown)
    assert estimates["contention"] == estimates["quiet"]
    assert estimates["quiet"] < min(estimates["floor"], estimates["drift"])
    assert max(estimates["floor"], estimates["drift"]) < estimates["both"]


def test_noise_about_the_cache_widens_by_the_miss_curve():
    """Half the cache has 1.5 times the misses, twice the cache a third of them."""
    sizes = np.array([2.0**power for power in range(20, 27)])
    lines = np.array([6e6, 6e6, 4.5e6, 3e6, 1e6, 1e6, 1e6])
    rows = np.zeros((1, COLUMNS))
    rows[0, CHASE] = 3e6
    curve = PhaseMissCurve(sizes, lines, 8 << 20)
    phase = PhaseTraffic("all", Estimate(6e8, 6e8, 6e8), 1.0, None, rows, 0.0, curve=curve)
    near = near_with()
    context = replace(
        near.measured, effective_llc_bytes=8 << 20, effective_llc_range=(4 << 20, 16 << 20)
    )
    kind, widths, lines_tried = MODELS.get("best"), [], []
    for side in (near_memory(near), near_memory(replace(near, measured=context))):
        far = far_memory(load_device(FAR), side)
        estimate = far_estimate(kind, phase, side, far, kind(phase, side, far))
        widths.append(width(estimate.slowdown))
        lines_tried.append([p.lines for p in noise_perturbations(phase, side, far)])
    assert lines_tried == [[], [pytest.approx(1.5), pytest.approx(1 / 3)]]
    assert widths[1] > 1.2 * widths[0]


def test_a_predicted_near_time_is_not_called_repeated():
    profile = workload()
    phase = profile.phases[0]
    near_ns = phase.near_cpu_time_ns.value
    predicted = replace(
        phase,
        near_cpu_time_ns=Estimate(near_ns, 0.7 * near_ns, 1.3 * near_ns),
        near_repetitions=0,
    )
    made = predict(
        profile=replace(profile, phases=[predicted]),
        near=device(),
        far=["cxl-e3s-x8"],
    )
    assert made.noise is not None
    assert "near time is predicted, within +-30%" in made.noise.sentence
    assert "--near-time" in made.noise.sentence


def test_far_memory_measured_with_noise_is_named():
    far = replace(NOISY, name="slow", latency=[replace(f, value_ns=200.0) for f in NOISY.latency])
    noise = predict(profile=PROFILE, near=near_with(), far=[far]).noise
    assert noise.memory == "slow"
    assert "far memory slow was measured" in noise.sentence


def test_spread_of_near_time_is_reported():
    phases = [
        replace(
            phase,
            near_cpu_time_ns=Estimate(t := phase.near_cpu_time_ns.value, 0.7 * t, 1.3 * t),
            near_repetitions=3,
        )
        for phase in PROFILE.phases
    ]
    noise = predict(
        profile=replace(PROFILE, phases=phases), near=near_with(), far=[load_device(FAR)]
    ).noise
    assert "near time varied by +-30% over 3 repetitions" in noise.sentence
    assert noise.widening > 1.0


def test_a_spread_that_leaves_slowdowns_as_they_are_is_said_of_times():
    """Bandwidth takes all of near time, however long it was, and so it does of far time."""
    phases = []
    for phase in PROFILE.phases:
        near_ns = 0.05 * phase.near_cpu_time_ns.value
        time = Estimate(near_ns, 0.53 * near_ns, 1.47 * near_ns)
        phases.append(replace(phase, near_cpu_time_ns=time, near_repetitions=3))
    made = predict(
        profile=replace(PROFILE, phases=phases), near=near_with(), far=[load_device(FAR)]
    )
    (device,) = made.devices
    assert made.noise.widening < 1.01
    far = [phase.far_time_ns for phase in device.phases]
    spread = sum(time.high - time.low for time in far) / 2.0 / sum(time.value for time in far)
    assert "near time varied by +-47% over 3 repetitions" in made.noise.sentence
    wider = f"slowdowns are hardly wider for that, and those of far times reach +-{spread:.0%}"
    assert wider in made.noise.sentence


def test_older_documents_have_their_noise_in_the_environment():
    facts = {
        "noise_floor_chains": "0.46",
        "noise_floor_bandwidth": "0.2",
        "frequency_drift": "1.12",
        "cpu_pressure": "unknown",
    }
    old = replace(device("dram"), measured=measured_here(**facts))
    quality = quality_of(old)
    assert (quality.latency_floor, quality.bandwidth_floor) == (0.46, 0.2)
    assert (quality.clock_drift, quality.contention) == (1.12, 0.0)
    assert quality_of(device("dram")) == QUIET
    without = replace(device("dram"), measured=replace(measured_here(), noise_floor=0.3))
    assert quality_of(without).floor == 0.3


@pytest.mark.parametrize("column", [CHASE, STREAM])
def test_the_limit_nearly_doubles_intervals(column: int):
    """`MAX_ERROR` is what its docstring claims, for a program that only waits."""
    rows = np.zeros((1, COLUMNS))
    rows[0, column] = 1e7
    quiet = near_memory(near_with())
    cost = quiet.core_stream_ns if column == STREAM else quiet.latency_ns
    phase = PhaseTraffic("all", Estimate(*[1e7 * cost] * 3), 1.0, None, rows, 0.02)
    near, kind = near_memory(near_with(MAX_ERROR)), MODELS.get("best")
    ratios = []
    for name in device_names():
        far = far_memory(load_device(name), near)
        estimate = far_estimate(kind, phase, near, far, kind(phase, near, far))
        if estimate.slowdown.value > 1.1:
            ratios.append(width(estimate.slowdown) / width(estimate.quiet_slowdown))
    assert len(ratios) > 15
    assert 1.5 < np.quantile(ratios, 0.9) < 3.0
