"""Detection of profiles without half of their misses, and acceptance of intact ones.

Each program's profile is made here, with QEMU's check. Then half of its misses are hidden: of every
object; of the objects with most misses and their instructions; or everywhere in the compiler pass's
counts, as if it had not seen half of the code.
"""

from __future__ import annotations

import copy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import Row, make_row
from benchmarks.kernel_runs import build as build_kernel
from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.workload import ObjectTraffic, Phase, Traffic
from nearfar.profile.traffic import add_traffic
from nearfar.validate import kernel

SECONDS = 100
COMPUTES = True

PROGRAMS = {"chase": ("262144", "1"), "join": ("131072",), "unordered_map": ("262144", "1")}
"""Programs of benchmarks/kernels besides those of `nearfar validate`, with their sizes."""
REGION_BYTES = 16 << 20
LLC_BYTES = 1 << 20
NEAR, FAR = "ddr5-4800-local", "cxl-e3s-x8"
NOTICED = "its counts of misses disagree"


def halve_objects(profile: WorkloadProfile, phase: Phase) -> None:
    """Halve the misses and write-backs of every object only."""
    del profile
    phase.objects = [_halved(row) for row in phase.objects]


def drop_half(profile: WorkloadProfile, phase: Phase) -> None:
    """Drop objects and their instructions, most misses first, until half of the misses are gone."""
    del profile
    left = sum(row.traffic.misses() for row in phase.objects) / 2.0
    for row in sorted(phase.objects, key=lambda row: -row.traffic.misses()):
        own = row.traffic.misses()
        if own <= 0.0 or left <= 0.0:
            break
        keep = max(0.0, 1.0 - left / own)
        left -= own
        row.traffic = add_traffic(Traffic(), row.traffic, keep)
        row.curve = None
        for counted in phase.instructions:
            if counted.object == row.object:
                counted.misses *= keep


def halve_everywhere(profile: WorkloadProfile, phase: Phase) -> None:
    """Halve all counts of the compiler pass in the phase; QEMU's counts stay."""
    before = sum(row.traffic.misses() for row in phase.objects)
    phase.objects = [_halved(row) for row in phase.objects]
    for row in phase.objects:
        if row.curve is not None:
            row.curve.read = [count / 2.0 for count in row.curve.read]
            row.curve.write = [count / 2.0 for count in row.curve.write]
    for counted in phase.instructions:
        counted.misses /= 2.0
    profile.sampling.sampled_misses -= round(before / 2.0 / profile.sampling.rate)


HIDE: dict[str, Callable[[WorkloadProfile, Phase], None]] = {
    "of every object": halve_objects,
    "of the largest objects and their instructions": drop_half,
    "of all that the compiler pass counts": halve_everywhere,
}


def hidden(
    profile: WorkloadProfile, hide: Callable[[WorkloadProfile, Phase], None]
) -> WorkloadProfile:
    """Return a copy of the profile with half of the misses of every phase hidden."""
    changed = copy.deepcopy(profile)
    for phase in changed.phases:
        hide(changed, phase)
    return changed


def is_noticed(profile: WorkloadProfile, near: DeviceProfile, far: DeviceProfile) -> bool:
    """Return whether a prediction reports that the profile's counts disagree."""
    (device,) = predict(profile=profile, near=near, far=[far], max_objects=1).devices
    return any(NOTICED in caveat for caveat in device.caveats)


def holds(
    changed: WorkloadProfile, intact: WorkloadProfile, near: DeviceProfile, far: DeviceProfile
) -> bool:
    """Return whether the changed profile's interval contains the intact one's prediction."""
    (ours,), (wanted,) = (
        predict(profile=p, near=near, far=[far]).devices for p in (changed, intact)
    )
    result, truth = ours.total.slowdown, wanted.total.slowdown.value
    return result.low <= truth <= result.high


def profiles(folder: Path) -> dict[str, WorkloadProfile]:
    """Profile twenty programs, with bursts and thus QEMU's counts."""
    kernels = kernel.build(kernel.kernel_names(), folder, lambda _: None)
    made = kernel.profiles(
        list(kernels.values()),
        folder,
        region_bytes=REGION_BYTES,
        runs=1,
        llc_bytes=LLC_BYTES,
        tell=lambda _: None,
    )
    for name, words in PROGRAMS.items():
        command = [str(build_kernel(name).traced), *words]
        made[f"{name} of benchmarks"] = kernel.profile(
            command, folder / f"{name}-kernel.json", LLC_BYTES
        )
    return made


def rows() -> list[Row]:
    """Profile, hide and count."""
    try:
        near, far = load_device(NEAR), load_device(FAR)
        with tempfile.TemporaryDirectory(prefix="nearfar-hidden-") as name:
            made = profiles(Path(name))
    except NearfarError as missing:
        print(f"hidden_misses: left out, {missing}", file=sys.stderr)
        return []
    results = []
    for how, hide in HIDE.items():
        changed = {name: hidden(profile, hide) for name, profile in made.items()}
        unseen = [name for name, p in changed.items() if not is_noticed(p, near, far)]
        outside = [n for n, p in changed.items() if not holds(p, made[n], near, far)]
        print(f"half {how}: not noticed {unseen or 'none'}, outside {outside or 'none'}")
        results += [
            _row(f"half of the misses hidden, {how}: noticed", len(unseen), made),
            _row(f"half hidden, {how}: interval holds the intact", len(outside), made, 90.0),
        ]
    alarms = [name for name, profile in made.items() if is_noticed(profile, near, far)]
    print(f"intact: noticed {alarms or 'none'}")
    return [*results, _row("intact profiles: nothing noticed", len(alarms), made)]


def _row(name: str, failed: int, made: dict[str, WorkloadProfile], bar: float = 95.0) -> Row:
    return make_row(
        f"{name}, of {len(made)} programs",
        100.0 * (1.0 - failed / len(made)),
        "%",
        bar=bar,
        at_most=False,
        peer="a coin",
        peer_value=50.0,
        command="make benchmarks ONLY=hidden_misses",
    )


def _halved(row: ObjectTraffic) -> ObjectTraffic:
    return ObjectTraffic(
        object=row.object, traffic=add_traffic(Traffic(), row.traffic, 0.5), curve=row.curve
    )
