"""Time of predicting a large profile on many devices."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import numpy as np

from benchmarks import Row, alternate, make_row, wall_seconds
from nearfar.api import predict
from nearfar.devices.library import device_names, load_device
from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile, load, save
from nearfar.place.plan_rows import frontier
from nearfar.place.problem import problem_of
from nearfar.predict.derive import near_memory
from nearfar.predict.phases import phases_of

SECONDS = 10
QUICK = True

OBJECTS, DEVICES, BUDGETS = 10_000, 50, 100
REPETITIONS = 3

USUAL_OBJECTS, USUAL_PHASES = 100, ("-", "load", "get", "order", "rank")
"""The same number as in the demonstration's profile of Redis."""


BURST_INSTRUCTIONS = 96_000


def rows() -> list[Row]:
    """Predict all devices, then each device's complete frontier and the time at every budget."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python"))
    import samples
    import window_bursts

    workload, near, devices = samples.workload(objects=OBJECTS), samples.device(), fifty_devices()
    slowdowns: list[list[float]] = []

    def work() -> None:
        slowdowns.clear()
        prediction = predict(profile=workload, near=near, far=devices)
        phases, near_side = phases_of(workload), near_memory(near)
        for device, predicted in zip(devices, prediction.devices, strict=True):
            problem = problem_of(workload, phases, near_side, [device])
            curve = frontier(problem)
            budgets = np.linspace(0.0, problem.footprint_bytes, BUDGETS)
            steps = np.searchsorted(curve.near_bytes, budgets, side="right") - 1
            times = curve.times_ns[steps].tolist()
            slowdowns.append([time / predicted.total.near_time_ns.value for time in times])
            check(predicted.total.slowdown.value, slowdowns[-1])

    usual = samples.workload(objects=USUAL_OBJECTS, phases=USUAL_PHASES)

    fitted = samples.workload(objects=USUAL_OBJECTS, phases=("-",))
    fitted = msgspec.structs.replace(fitted, bursts=window_bursts.many_bursts(("-",)))

    def with_window() -> None:
        # A new profile each time: nothing is cached.
        prediction = predict(profile=msgspec.structs.replace(fitted), near=near, far=devices)
        assert all("window" in " ".join(device.caveats) for device in prediction.devices)

    with tempfile.TemporaryDirectory() as name:
        command = verb(Path(name), usual, near, devices)

        # As installed: modules are compiled once, not at every start.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

        def quick() -> None:
            subprocess.run(command, check=True, env=environment)

        def start() -> None:
            subprocess.run([sys.executable, "-m", "nearfar", "--version"], check=True, **silent)

        def plain(count: int = DEVICES) -> None:
            profile = msgspec.structs.replace(fitted, bursts=None)
            predict(profile=profile, near=near, far=devices[:count])

        silent = {"env": environment, "stdout": subprocess.DEVNULL}
        encoded = msgspec.json.encode(workload)
        timed = (
            *(work, quick, with_window, start, plain),
            lambda: plain(1),
            lambda: msgspec.json.decode(encoded, type=WorkloadProfile),
        )
        samples_s = alternate([lambda run=run: wall_seconds(run) for run in timed], REPETITIONS)
        seconds, quick_seconds, window_seconds, start_seconds, *others = samples_s
        plain_seconds, one_seconds, decode_seconds = others
        assert len(load(Path(name) / "p.json", Prediction).devices) == DEVICES
    return [
        make_row(
            f"predict, from files to a file, start of the program included: {USUAL_OBJECTS} "
            f"objects, {len(USUAL_PHASES)} phases, {DEVICES} devices",
            sorted(quick_seconds)[len(quick_seconds) // 2],
            "s",
            bar=1.0,
            peer="starting nearfar alone (--version)",
            peer_value=statistics.median(start_seconds),
            command="ONLY=predict python -m benchmarks",
        ),
        make_row(
            f"predict and the whole frontier: {OBJECTS} objects, {DEVICES} devices, "
            f"{BUDGETS} budgets",
            sorted(seconds)[len(seconds) // 2],
            "s",
            bar=3.0,
            peer="making the profile's objects from JSON",
            peer_value=statistics.median(decode_seconds),
            command="ONLY=predict python -m benchmarks",
        ),
        make_row(
            f"predict after the start: {USUAL_OBJECTS} objects, {DEVICES} devices",
            statistics.median(plain_seconds),
            "s",
            bar=0.3,
            peer="the same for one device",
            peer_value=statistics.median(one_seconds),
            command="ONLY=predict python -m benchmarks",
        ),
        make_row(
            f"predict with a window fitted to bursts of {BURST_INSTRUCTIONS} instructions, after "
            f"the start: {USUAL_OBJECTS} objects, {DEVICES} devices",
            sorted(window_seconds)[len(window_seconds) // 2],
            "s",
            bar=0.5,
            peer="the same without bursts",
            peer_value=statistics.median(plain_seconds),
            command="ONLY=predict python -m benchmarks",
        ),
    ]


def verb(
    folder: Path, workload: WorkloadProfile, near: DeviceProfile, devices: list[DeviceProfile]
) -> list[str]:
    """Return the command that predicts `workload` on all `devices`, written into `folder`."""
    save(workload, folder / "run.json")
    save(near, folder / "near.json")
    command = [sys.executable, "-m", "nearfar", "predict", str(folder / "run.json"), "--quiet"]
    command += ["--near", str(folder / "near.json"), "-o", str(folder / "p.json")]
    for device in devices:
        save(device, folder / f"{device.name}.json")
        command += ["--far", str(folder / f"{device.name}.json")]
    return command


def fifty_devices() -> list[DeviceProfile]:
    """Return the library's devices, some of them repeated under another name."""
    library = [load_device(name) for name in device_names()]
    return [
        msgspec.structs.replace(device, name=f"{device.name}-{number}")
        for number, device in zip(range(DEVICES), itertools.cycle(library), strict=False)
    ]


def check(all_far: float, slowdowns: list[float]) -> None:
    """Refuse a wrong result: from all far to all near, and never rising."""
    assert abs(slowdowns[0] - all_far) < 1e-6 * all_far
    # Where far memory has more bandwidth, objects that are faster there stay far, and all of them
    # together may be slower than near by an unmeasurable amount.
    assert slowdowns[-1] <= 1.0 + 1e-6
    assert all(a >= b for a, b in itertools.pairwise(slowdowns))
