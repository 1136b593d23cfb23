"""X-Mem's curve of slowdown by the share of memory that is near, for a program profiled here."""

from __future__ import annotations

from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents import load as load_document
from nearfar.documents.study import ComparisonRow, StudyResult
from nearfar.place.optimiser import OPTIMISERS
from nearfar.place.problem import make_problem
from nearfar_studies.compare import column, row, table
from nearfar_studies.study import STUDIES, Study, StudyInputs

PROFILE = Path("build/demo/run.json")
NEAR = Path("build/demo/near.json")
"""Files that `make demo` creates."""

SHARES = (0.0, 0.03, 0.06, 0.10, 0.25, 0.50, 0.75, 1.0)

OURS, RIVALS = "exact", ("greedy", "hot-first", "page-interleaved")
"""Guided placement by our optimisers, best first, and without guidance."""

LATENCY_FACTOR, BANDWIDTH_DIVISOR = 4, 8
"""X-Mem's far memory relative to its near memory."""

PUBLISHED = {0.06: "GraphMat", 0.25: "VoltDB, MemC3"}
"""The source's programs by the share of near memory with which they were placed."""
PUBLISHED_GUIDED = (1.13, 1.40)
"""Range of their slowdowns with guided placement."""


@STUDIES.register("x-mem-curve")
class XMemCurve(Study):
    """Budgets of near memory."""

    title = "X-Mem's curve: share of memory that is near against slowdown"
    source = "S. R. Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016"

    def run(self, given: StudyInputs) -> StudyResult:
        """Place the profiled program's objects under every budget."""
        profile, near_file = given.profile or PROFILE, given.near or NEAR
        if not profile.is_file() or not near_file.is_file():
            raise NearfarError(
                f"X-Mem's curve needs a profile and its near memory ({profile}, {near_file}): run "
                "`make demo`, or name both files with --profile and --near",
                ExitCode.MACHINE_LACKS,
            )
        workload = load_document(profile, WorkloadProfile)
        near = load_document(near_file, DeviceProfile)
        problem = make_problem(workload, near, x_mem_far(near))
        near_ns = problem.near_time_ns.value

        def slowdown(optimiser: str, share: float) -> float:
            budget = int(share * problem.footprint_bytes)
            chosen = OPTIMISERS.get(optimiser)().choose(problem, budget).near_shares
            return float(problem.times_ns(chosen)) / near_ns

        program = Path(workload.program.executable).name
        rows = [
            row(
                f"{share:.0%} near",
                None,
                slowdown(OURS, share),
                rivals={name: slowdown(name, share) for name in RIVALS},
                note=_published(share),
            )
            for share in SHARES
        ]
        return self.result(
            f"the profile of {program} ({profile}) and its near memory ({near_file}); far: "
            f"{LATENCY_FACTOR}x its latency, 1/{BANDWIDTH_DIVISOR} of its bandwidth",
            tables=[table(f"{program}, by optimiser", "abstract", "slowdown", rows)],
            verdict=_verdict(program, dict(zip(SHARES, rows, strict=True))),
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw slowdown over near share."""
        axes = figure.add_subplot()
        curve = result.tables[0]
        axes.plot(SHARES, column(curve), "o-", label=OURS)
        for name in RIVALS:
            axes.plot(SHARES, column(curve, name), "o--", label=name, markersize=3)
        axes.set_xlabel("share of the program's memory that is near")
        axes.set_ylabel("slowdown")
        axes.grid(visible=True, alpha=0.25)
        axes.legend()
        return f"Predicted slowdown over the share that is near. {result.inputs}."


def _published(share: float) -> str:
    low, high = PUBLISHED_GUIDED
    return f"{PUBLISHED[share]}, guided: {low}-{high}" if share in PUBLISHED else ""


def _verdict(program: str, rows: dict[float, ComparisonRow]) -> list[str]:
    """Compare our slowdown at each published share with the published range and with no guidance.

    The source's programs differ from this one, so only the kind of result can agree.
    """
    low, high = PUBLISHED_GUIDED
    lines = [f"{program}: all far {rows[0.0].ours:.2f}"]
    for share, programs in PUBLISHED.items():
        ours, interleaved = rows[share].ours or 0.0, rows[share].rivals["page-interleaved"]
        place = "inside" if low <= ours <= high else "below" if ours < low else "above"
        lines.append(
            f"{program} with {share:.0%} near: guided {ours:.2f}, {place} the published "
            f"{low}-{high} of other programs ({programs}); page-interleaved {interleaved:.2f}, "
            + (f"{interleaved - ours:.2f} more" if interleaved > ours + 0.005 else "no slower")
        )
    return lines


def x_mem_far(near: DeviceProfile) -> DeviceProfile:
    """Return X-Mem's far memory relative to `near`."""
    return msgspec.structs.replace(
        near,
        name="x-mem-far",
        title=f"{LATENCY_FACTOR}x the latency, 1/{BANDWIDTH_DIVISOR} the bandwidth of near",
        latency=[
            msgspec.structs.replace(
                f, value_ns=LATENCY_FACTOR * f.value_ns, low_ns=None, high_ns=None
            )
            for f in near.latency
        ],
        bandwidth=[
            msgspec.structs.replace(
                f,
                value_gb_per_s=f.value_gb_per_s / BANDWIDTH_DIVISOR,
                low_gb_per_s=None,
                high_gb_per_s=None,
            )
            for f in near.bandwidth
        ],
        # Chains and loaded latency of such a memory are not measured, so the model derives them.
        chains=[],
        loaded_latency=[],
    )
