"""Emulate a far memory as options specify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base.errors import CommandError, ExitCode
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, Emulation, Plan, load, loaded, origin, producer
from nearfar.documents.emulation import EmulatedPhase
from nearfar.documents.plan import NEAR, Placement
from nearfar.emulate.mechanism import (
    MECHANISMS,
    EmulationTarget,
    Mechanism,
    Say,
    check_ended,
)
from nearfar.emulate.probes import TOLERANCE, ProbeResults, judge
from nearfar.memories import topology
from nearfar.options.emulate import MAX_SLOW_MOTION, EmulateOptions
from nearfar.options.profile import ProfileOptions
from nearfar.predict.core_time import has_prefetcher
from nearfar.predict.derive import far_memory, near_memory
from nearfar.profile.options import make_request
from nearfar.profile.session import ProfileRequest
from nearfar.program.executable import find_executable
from nearfar.program.phases import PhaseTime

ORDER = ("node", "delays", "contention")
"""Mechanisms in the order in which they are tried: physical memory first; contention last, since it
takes cache too and its strength cannot be set."""


def emulate(
    options: EmulateOptions, say: Say = lambda _: None, *, stdout_to_stderr: bool = False
) -> Emulation:
    """Run a program near, then with its memory (or a plan's far objects) emulated as far.

    Without --by, probes test the mechanisms node, delays and contention in this order until one is
    faithful. If none is, the mechanism with the smallest error is used, and a caveat names the
    others. If tracing takes longer than the far memory would, delays slow the whole run down by a
    factor of up to --slow-motion.
    """
    near = load(options.near, DeviceProfile)
    if near.measured is None:
        raise CommandError(
            f"{options.near} was not measured here: make one with `nearfar measure dram --quick`"
        )
    far = load_device(options.far)
    plan = None if options.plan is None else loaded(options.plan, Plan)
    request = _request(options, stdout_to_stderr=stdout_to_stderr)
    near_side = near_memory(near)
    far_side = far_memory(far, near_side)
    target = EmulationTarget(
        near_side,
        far_side,
        topology.detect(),
        ahead=has_prefetcher(near_side),
        placements=_near_placements(plan),
        max_slow_motion=options.slow_motion or MAX_SLOW_MOTION,
    )
    executable = find_executable(request.job.command[0])
    chosen, judged, caveats = _choose(request, target, executable, options.by, say)
    near_now = judged.now.memory(near_side)
    target = replace(target, near=near_now, slow_motion=judged.slow_motion)
    times = MECHANISMS.get(chosen)().run(request, target, say)
    check_ended(times, request.job.command)
    phases = [
        _phase(name, times.near[name], times.emulated[name])
        for name in times.near
        if name in times.emulated and (name != "-" or len(times.near) == 1)
    ]
    return Emulation(
        producer=producer(),
        command=list(request.job.command),
        near=near.name,
        far=far.name,
        plan=origin(options.plan),
        near_objects=times.near_objects,
        way=chosen,  # type: ignore[arg-type]
        exit_status=times.status,
        phases=phases,
        total=_phase("total", _sum(times.near), _sum(times.emulated)),
        delayed_ns=times.delayed_ns,
        overhead_ns=times.overhead_ns,
        unpaid_ns=times.unpaid_ns,
        slow_motion=times.slow_motion,
        probes=judged.probes,
        faithful=judged.error <= TOLERANCE,
        tolerance=TOLERANCE,
        caveats=[*caveats, *judged.caveats(), *times.caveats, *far_side.caveats],
    )


def _request(options: EmulateOptions, *, stdout_to_stderr: bool) -> ProfileRequest:
    """Return the request of one run, with the cache size that one core gets in near memory."""
    profiled = ProfileOptions(
        command=options.command,
        driver=options.driver,
        duration=options.duration,
        after=options.after,
        llc=options.llc,
        near=None if options.llc else options.near,
        plain=options.plain,
        repetitions=1,
    )
    return make_request(profiled, stdout_to_stderr=stdout_to_stderr)


def _near_placements(plan: Plan | None) -> Sequence[Placement]:
    if plan is None:
        return ()
    near = plan.memories[0].name if plan.memories else NEAR
    for placement in plan.placements:
        if placement.parts or placement.interleave:
            raise CommandError(
                f"the plan splits {placement.name} between memories, and an emulation can only "
                "keep whole objects near: make the plan with --allow whole"
            )
    placements = [placement for placement in plan.placements if placement.memory == near]
    if not placements:
        raise CommandError("the plan keeps nothing near: leave --plan out, and everything is far")
    return placements


def _choose(
    request: ProfileRequest,
    target: EmulationTarget,
    executable: Path,
    way: str | None,
    say: Say,
) -> tuple[str, ProbeResults, list[str]]:
    """Return the mechanism to use, its probes, and caveats about the others."""
    judged: dict[str, ProbeResults] = {}
    missing = []
    for name in (way,) if way is not None else ORDER:
        mechanism: Mechanism = MECHANISMS.get(name)()
        if reason := mechanism.missing(target, executable):
            missing.append(f"{name}: {reason}")
            continue
        say(f"judging {name} by probes")
        judged[name] = judge(mechanism, request, target, say)
        if judged[name].error <= TOLERANCE:
            break
    if not judged:
        raise CommandError(
            f"cannot emulate {target.far.device.name} on this machine for this program; "
            + "; ".join(missing),
            ExitCode.MACHINE_LACKS,
        )
    best = min(judged, key=lambda name: judged[name].error)
    caveats = [
        f"{name} was off by up to {results.error:.0%}"
        for name, results in judged.items()
        if name != best
    ]
    return best, judged[best], caveats


def _phase(name: str, near: PhaseTime, emulated: PhaseTime) -> EmulatedPhase:
    return EmulatedPhase(
        name=name,
        near_ns=float(near.cpu_ns),
        emulated_ns=float(emulated.cpu_ns),
        slowdown=emulated.cpu_ns / near.cpu_ns if near.cpu_ns else 1.0,
        operations=near.operations or None,
    )


def _sum(phases: Mapping[str, PhaseTime]) -> PhaseTime:
    return PhaseTime(cpu_ns=sum(phase.cpu_ns for phase in phases.values()))
