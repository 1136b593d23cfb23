"""Emulating from Python: a program in, an `Emulation` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.documents import DeviceProfile, Emulation, Plan, producer
from nearfar.documents.emulation import EmulatedPhase
from nearfar.documents.plan import NEAR, Placement
from nearfar.emulate.probes import TOLERANCE, Judged, judge, worst
from nearfar.emulate.way import (
    MOST_SLOW_MOTION,
    WAYS,
    Say,
    Times,
    Wanted,
    Way,
    check_ended,
)
from nearfar.memories import topology
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.overlap import has_prefetcher
from nearfar.profile.session import ProfileRequest
from nearfar.program.executable import find_executable
from nearfar.program.phases import PhaseTime

ORDER = ("node", "delays", "contention")
"""Physical memory first; contention last, since it takes cache too and cannot be dosed."""


def emulate(
    request: ProfileRequest,
    near: DeviceProfile,
    far: DeviceProfile,
    *,
    plan: Plan | None = None,
    plan_path: str = "",
    way: str | None = None,
    most_slow_motion: float = MOST_SLOW_MOTION,
    say: Say = lambda _: None,
) -> Emulation:
    """Run a program near and as if its memory, or what a plan puts far, were `far`.

    Without `way`, those that can be had are judged by probes in the order node, delays,
    contention, until one is faithful; if none is, the least wrong is taken, and it is said. Where
    tracing takes longer than the far memory, delays may slow all down by up to `most_slow_motion`.
    """
    near_side = near_memory(near)
    far_side = far_memory(far, near_side)
    placements = _stay_near(plan)
    wanted = Wanted(
        near_side,
        far_side,
        topology.detect(),
        ahead=has_prefetcher(near_side),
        placements=placements,
        most_slow_motion=most_slow_motion,
    )
    executable = find_executable(request.job.command[0])
    chosen, judged, said = _choose(request, wanted, executable, way, say)
    near_now = judged.now.memory(near_side)
    wanted = replace(wanted, near=near_now, slow_motion=judged.slow_motion)
    probes = judged.probes
    times = WAYS.get(chosen)().run(request, wanted, say)
    check_ended(times, request.job.command)
    phases = [
        _phase(name, times.near[name], times.emulated[name])
        for name in times.near
        if name in times.emulated and (name != "-" or len(times.near) == 1)
    ]
    faithful = worst(probes) <= TOLERANCE
    return Emulation(
        producer=producer(),
        command=list(request.job.command),
        near=near.name,
        far=far.name,
        plan=plan_path,
        near_objects=times.near_objects,
        way=chosen,  # type: ignore[arg-type]
        exit_status=times.status,
        phases=phases,
        total=_total(times),
        delayed_ns=times.delayed_ns,
        overhead_ns=times.overhead_ns,
        unpaid_ns=times.unpaid_ns,
        slow_motion=times.slow_motion,
        probes=probes,
        faithful=faithful,
        tolerance=TOLERANCE,
        caveats=[*said, *judged.caveats(), *times.caveats, *far_side.caveats],
    )


def _stay_near(plan: Plan | None) -> Sequence[Placement]:
    if plan is None:
        return ()
    near = plan.memories[0].name if plan.memories else NEAR
    mixed = [one.name for one in plan.placements if one.parts or one.interleave]
    if mixed:
        raise CommandError(
            f"the plan splits {mixed[0]} between memories, and an emulation knows whole objects "
            "only: make a plan without parts and interleaving"
        )
    kept = [one for one in plan.placements if one.memory == near]
    if not kept:
        raise CommandError("the plan keeps nothing near: leave --plan out, and everything is far")
    return kept


def _choose(
    request: ProfileRequest, wanted: Wanted, executable: Path, way: str | None, say: Say
) -> tuple[str, Judged, list[str]]:
    """Return the way taken, its probes, and what is to be said of the others."""
    tried: dict[str, Judged] = {}
    lacking = []
    for name in (way,) if way is not None else ORDER:
        one: Way = WAYS.get(name)()
        if why := one.lacks(wanted, executable):
            lacking.append(f"{name}: {why}")
            continue
        say(f"judging {name} by probes")
        tried[name] = judge(one, request, wanted, say)
        if worst(tried[name].probes) <= TOLERANCE:
            break
    if not tried:
        raise CommandError(
            f"{wanted.far.device.name} cannot be emulated here for this program; "
            + "; ".join(lacking),
            ExitCode.MACHINE_LACKS,
        )
    off = {name: worst(one.probes) for name, one in tried.items()}
    best = min(tried, key=lambda name: off[name])
    said = [f"{name} was off by up to {off[name]:.0%}" for name in tried if name != best]
    return best, tried[best], said


def _phase(name: str, near: PhaseTime, emulated: PhaseTime) -> EmulatedPhase:
    return EmulatedPhase(
        name=name,
        near_ns=float(near.cpu_ns),
        emulated_ns=float(emulated.cpu_ns),
        slowdown=emulated.cpu_ns / near.cpu_ns if near.cpu_ns else 1.0,
        operations=near.operations or None,
    )


def _total(times: Times) -> EmulatedPhase:
    near = sum(phase.cpu_ns for phase in times.near.values())
    emulated = sum(phase.cpu_ns for phase in times.emulated.values())
    return _phase("total", PhaseTime(cpu_ns=near), PhaseTime(cpu_ns=emulated))
