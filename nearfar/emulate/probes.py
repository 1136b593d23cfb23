"""How faithful a way is: a chase, chains and a stream run in it, against the far profile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.emulation import Probe
from nearfar.emulate.way import Say, Wanted, Way, check_ended
from nearfar.native_files import include_folder
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.memory import Memory
from nearfar.profile.session import Request

TOLERANCE = 0.10
"""What is off by more is not called faithful: the issue of many predictions is less than that."""

NAMES = ("chase", "chains-4", "chains-16", "stream")
LINES = 1_500_000
"""Touched by the chase: 0.1 to 0.6 s; chains touch 2 and 4 times as many, the stream 8."""
CACHES = 8
"""Region over last-level cache: an eighth of random lines still hits the cache then."""
LEAST_REGION_BYTES = 256 << 20
"""Chains are measured over regions beyond what a TLB and the caches' page tables reach: in a small
region of small pages walks are cheap, and a chase takes half of what the curve says."""
HUGE_BYTES = 2 << 20

SPARE = 1.1
"""Slow motion beyond what tracing took longer: batches differ."""


def target_ns(memory: Memory, name: str) -> float:
    """Return what a line of this probe takes in a memory, ns, by its profile."""
    if name == "stream":
        return memory.core_stream_ns
    return memory.cost_ns(float(name.removeprefix("chains-")) if name != "chase" else 1.0)


def in_huge_pages(wanted: Wanted) -> Wanted:
    """Return what is wanted in pages of 2 MiB, where this machine gives them to who asks.

    Page walks are the program's pages', not the far memory's, and how long they take depends on
    what else the caches hold: without them, the probes judge what a line of the far memory takes.
    """
    near = wanted.near.device
    setting = near.measured.environment.get("transparent_huge_pages", "") if near.measured else ""
    if setting not in ("always", "madvise"):
        return wanted
    near_side = near_memory(near, HUGE_BYTES)
    return replace(wanted, near=near_side, far=far_memory(wanted.far.device, near_side))


@dataclass(frozen=True)
class Judged:
    """Probes of a way, and the slow motion that they were run in."""

    probes: list[Probe]
    slow_motion: float = 1.0


def judge(way: Way, request: Request, wanted: Wanted, say: Say) -> Judged:
    """Run the probes as the program is run, everything far; in huge pages where there are.

    Where a probe takes too long, they are run once more in as slow a motion as that takes.
    """
    wanted = in_huge_pages(replace(wanted, placements=()))
    found = _probed(way, request, wanted, say)
    slow = min(SPARE * max(1.0 + one.error for one in found.probes), wanted.most_slow_motion)
    if (
        worst(found.probes) <= TOLERANCE
        or not way.slows_down
        or slow <= max(1.1, found.slow_motion)
    ):
        return found
    say(f"probes once more, {slow:.1f} times as slowly: tracing takes longer than far memory")
    again = _probed(way, request, replace(wanted, slow_motion=slow), say)
    return again if worst(again.probes) < worst(found.probes) else found


def _probed(way: Way, request: Request, wanted: Wanted, say: Say) -> Judged:
    with tempfile.TemporaryDirectory(prefix="nearfar-probes-") as folder:
        program = _compiled(Path(folder))
        region_bytes = max(CACHES * request.cache_bytes, LEAST_REGION_BYTES)
        command = [str(program), str(region_bytes), str(LINES)]
        job = replace(
            request.job,
            command=command,
            driver=None,
            duration_s=None,
            after_s=0.0,
            stdout_to_stderr=True,
        )
        mine = replace(request, job=job, plain=None, split_sizes=False)
        times = way.run(mine, wanted, lambda text: say(f"probes, {text}"))
        check_ended(times, command)
    found = []
    for name in NAMES:
        near, emulated = times.near[name], times.emulated[name]
        target = target_ns(wanted.far, name)
        emulated_ns = emulated.cpu_ns / emulated.operations
        found.append(
            Probe(
                name=name,  # type: ignore[arg-type]
                near_ns=near.cpu_ns / near.operations,
                target_ns=target,
                emulated_ns=emulated_ns,
                error=emulated_ns / target - 1.0,
            )
        )
    return Judged(found, times.slow_motion)


def worst(probes: list[Probe]) -> float:
    """Return the largest error, as a share."""
    return max(abs(one.error) for one in probes)


def _compiled(folder: Path) -> Path:
    target = folder / "probes"
    source = Path(__file__).with_name("probes.c")
    command = [sys.executable, "-m", "nearfar", "cc", "-O2", f"-I{include_folder()}", str(source)]
    done = subprocess.run(
        [*command, "-o", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NearfarError(
            f"the probes that judge an emulation could not be compiled: {why}; "
            "`nearfar machine` says what `nearfar cc` lacks",
            ExitCode.MACHINE_LACKS,
        )
    return target
