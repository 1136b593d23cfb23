"""Published and independent figures beside what nearfar computes: `make reproduce`.

Each study prints its table, or one sentence why it cannot run here.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks import cycle_level
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents import load as load_document
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import make_problem
from nearfar.predict.model import DEFAULT_MODEL, NAIVE_MODELS

PROFILE = Path("build/demo/run.json")
NEAR = Path("build/demo/near.json")
"""What `make demo` leaves; two other files may be given as arguments."""

SHARES = (0.0, 0.03, 0.06, 0.10, 0.25, 0.50, 0.75, 1.0)

PLACED = ("exact", "greedy", "hot-first", "page-interleaved")
"""Guided placement by our optimisers, best first, and without guidance."""

X_MEM = """\
X-Mem (Dulloor et al., EuroSys 2016, abstract): far memory of 4x the latency and 1/8 the \
bandwidth; with 6 % (GraphMat) or 25 % (VoltDB, MemC3) of memory near and guided placement, \
slowdown 1.13-1.40; without guidance 1.5-5.9 in the worst case."""


def main(arguments: list[str]) -> int:
    """Run every study; exit code 0 where each ran or could not."""
    console = Console()
    profile, near = (Path(a) for a in arguments) if len(arguments) == 2 else (PROFILE, NEAR)
    for study in (lambda: cycle_level_study(console), lambda: x_mem_study(console, profile, near)):
        try:
            study()
        except NearfarError as error:
            if error.exit_code != ExitCode.MACHINE_LACKS:
                raise
            console.print(f"skipped: {error}", markup=False, highlight=False)
        console.print()
    return 0


def cycle_level_study(console: Console) -> None:
    """Errors of predicted slowdowns against the cycle-level core."""
    reference = cycle_level.load()
    models = (DEFAULT_MODEL, *NAIVE_MODELS)
    table = Table(
        "core, level",
        "kernels",
        *models,
        "covered",
        title="Mean / max error of slowdown, %, against a cycle-level core",
        title_justify="left",
    )
    for config in cycle_level.CONFIGS:
        for level in cycle_level.LEVELS:
            found = cycle_level.cases(reference, config, level)
            halves = {
                "fitted": [case for case in found if case.kernel in cycle_level.FITTED],
                "held out": [case for case in found if case.kernel not in cycle_level.FITTED],
            }
            for half, judged in halves.items():
                table.add_row(
                    f"{config} {level}",
                    half,
                    *(_errors(judged, model) for model in models),
                    _coverage(judged),
                )
    console.print(table)
    console.print(
        "nopf: no prefetchers. pf: stride and SPP prefetchers. Levels: latency x1.5 to x4; bw4: a "
        "quarter of the bandwidth. covered: truths inside the 95 % interval, and its mean "
        "half-width. No constant was taken from the held-out half; the rule's form was written "
        "with all ten in sight.",
        highlight=False,
    )
    _worst(console, reference)


def _errors(judged: list[cycle_level.Case], model: str) -> str:
    errors = [abs(case.error(model)) * 100 for case in judged]
    return f"{statistics.mean(errors):.1f} / {max(errors):.0f}"


def _coverage(judged: list[cycle_level.Case]) -> str:
    """Say how many intervals hold the truth, and their mean half-width relative to the value."""
    width = statistics.mean(
        (case.interval.high - case.interval.low) / 2 / case.interval.value for case in judged
    )
    return f"{sum(case.covered for case in judged)} of {len(judged)}, +-{width:.0%}"


def _worst(console: Console, reference: dict[str, object]) -> None:
    table = Table(
        "kernel",
        *cycle_level.LEVELS,
        title="True slowdown, and error of the prediction, kernel by kernel",
        title_justify="left",
    )
    for config in cycle_level.CONFIGS:
        by_level = [cycle_level.cases(reference, config, level) for level in cycle_level.LEVELS]
        for row in zip(*by_level, strict=True):
            table.add_row(
                f"{config} {row[0].kernel}",
                *(f"{case.truth:.2f} {case.error(DEFAULT_MODEL):+.0%}" for case in row),
            )
    console.print(table)


def x_mem_study(console: Console, profile: Path, near: Path) -> None:
    """X-Mem's curve, near share against slowdown, for a profiled program."""
    if not profile.is_file() or not near.is_file():
        raise NearfarError(
            f"X-Mem's curve wants a profile and its near memory ({profile}, {near}): run "
            "`make demo`, or name both files",
            ExitCode.MACHINE_LACKS,
        )
    workload = load_document(profile, WorkloadProfile)
    near_device = load_document(near, DeviceProfile)
    problem = make_problem(workload, near_device, x_mem_far(near_device))
    near_ns = problem.near_time_ns.value
    table = Table(
        "near share",
        *PLACED,
        title=f"X-Mem's curve, {Path(workload.program.executable).name}: slowdown by optimiser",
        title_justify="left",
    )
    for share in SHARES:
        budget = int(share * problem.footprint_bytes)
        chosen = [OPTIMISERS.get(name)().choose(problem, budget).near_shares for name in PLACED]
        table.add_row(
            f"{share:.0%}",
            *(f"{float(problem.times_ns(shares)) / near_ns:.2f}" for shares in chosen),
        )
    console.print(table)
    console.print(X_MEM, highlight=False)


def x_mem_far(near: DeviceProfile) -> DeviceProfile:
    """Return X-Mem's far memory relative to `near`: 4x the latency, 1/8 the bandwidth."""
    return msgspec.structs.replace(
        near,
        name="x-mem-far",
        title="4x the latency, 1/8 the bandwidth of near",
        latency=[
            msgspec.structs.replace(f, value_ns=4 * f.value_ns, low_ns=None, high_ns=None)
            for f in near.latency
        ],
        bandwidth=[
            msgspec.structs.replace(
                f, value_gb_per_s=f.value_gb_per_s / 8, low_gb_per_s=None, high_gb_per_s=None
            )
            for f in near.bandwidth
        ],
        # The chains curve and the loaded latency of such a memory nobody measured: derived.
        chains=[],
        loaded_latency=[],
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
