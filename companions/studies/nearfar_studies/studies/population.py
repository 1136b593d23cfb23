"""Forty or more Debian programs as they are, beside the published slowdowns of 265 workloads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from math import hypot, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearfar.api import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.devices.machines.library import load_machine
from nearfar.documents import DeviceProfile, WorkloadProfile, load
from nearfar.documents.prediction import DevicePrediction
from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.machine import detect
from nearfar.predict.on_machine import OTHER_CORE_ERROR, UNKNOWN_CLOCK_ERROR
from nearfar.predict.other_machine import on_other_machine, with_cache
from nearfar_studies.applications import MEASURED, nearfar
from nearfar_studies.compare import column, facts, row, table
from nearfar_studies.figures import published
from nearfar_studies.population_list import LIST, PopulationList, read_list
from nearfar_studies.population_runs import profile_population
from nearfar_studies.study import STUDIES, Study, StudyInputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = published("melody")
SHARES = PUBLISHED.columns("shares")
WORKLOADS = 265
SLOWDOWNS = "slowdown of every program"

SHIFTS = (1, 2, 3)
"""Other cache sizes: how many times the list's cache size is doubled."""

Runs = dict[str, dict[str, DevicePrediction]]
"""Predictions by program and device."""


@STUDIES.register("population")
class Population(Study):
    """Number of programs that slow down by less than 5, 10 and 50 %."""

    title = "unmodified Debian programs beside a published population on CXL memory"
    source = PUBLISHED.citation + " (from a public summary: second hand)"
    programs: ClassVar[Path] = LIST

    def run(self, given: StudyInputs) -> StudyResult:
        """Profile all installed programs of the list, and predict them on other memories."""
        with tempfile.TemporaryDirectory(prefix="nearfar-population-") as name:
            return self._run(read_list(self.programs), given.profiles or Path(name), given.say)

    def _run(self, listed: PopulationList, folder: Path, say: Callable[[str], None]) -> StudyResult:
        failures = profile_population(listed, folder, say)
        path = folder / "here.json"
        if not path.is_file():
            nearfar("measure", "dram", *MEASURED, "--quiet", "-o", str(path))
        here = load(path, DeviceProfile)
        whole_bytes = load_machine(listed.machine).llc_bytes or listed.llc_bytes
        sizes = sorted({listed.llc_bytes, *(listed.llc_bytes << s for s in SHIFTS), whole_bytes})
        by_size: dict[int, Runs] = {size: {} for size in sizes}
        for name in [name for name, failure in failures.items() if not failure]:
            profile = load(folder / f"{name}.json", WorkloadProfile)
            say(f"predicting {name}")
            try:
                predictions = {size: predicted(listed, profile, here, size) for size in sizes}
            except NearfarError as error:
                failures[name] = str(error)
            else:
                for size, devices in predictions.items():
                    by_size[size][name] = devices
        left_out = [[name, failure] for name, failure in failures.items() if failure]
        runs = by_size[listed.llc_bytes]
        if not runs:
            raise NearfarError(f"no program was predicted: {left_out}", ExitCode.MACHINE_LACKS)
        shares = share_table(listed, runs)
        return self.result(
            f"{len(runs)} of {len(listed.programs)} programs of a list that was fixed in "
            "advance, profiled here unmodified; near time predicted for the target; the library's "
            "devices",
            tables=[shares],
            texts=[
                _slowdowns(listed, runs),
                _by_cache({size: share_table(listed, by_size[size]) for size in sizes}),
                TextTable(title="left out", columns=["program", "why"], rows=left_out),
                facts(*listed.notes),
            ],
            verdict=verdict(shares, len(runs)),
        )

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw the number of programs below each slowdown, and the published shares as points."""
        axes = figure.add_subplot()
        text = next(each for each in result.texts if each.title == SLOWDOWNS)
        for number, name in enumerate(text.columns[2:]):
            values = sorted(float(cells[2 + number].split()[0]) for cells in text.rows)
            below = 100.0 * np.arange(1, len(values) + 1) / len(values)
            colour = f"C{number}"
            axes.step(100.0 * np.array(values) - 100.0, below, colour, where="post", label=name)
            axes.plot(SHARES["below_percent"], SHARES[name], "o", color=colour)
        axes.set_xscale("symlog", linthresh=5.0)
        axes.set_xlabel("slowdown, %")
        axes.set_ylabel("programs below it, %")
        axes.grid(visible=True, alpha=0.25)
        axes.legend()
        return f"Programs below a slowdown: lines predicted, points of {WORKLOADS} published ones."


def predicted(
    listed: PopulationList,
    profile: WorkloadProfile,
    here: DeviceProfile,
    llc_bytes: int,
) -> dict[str, DevicePrediction]:
    """Predict the program on every device, with a last-level cache of `llc_bytes`."""
    target, near = load_machine(listed.machine), load_device(listed.near)
    own_bytes = here.measured and here.measured.effective_llc_bytes
    on_target = on_other_machine(
        profile if llc_bytes == listed.llc_bytes else with_cache(profile, llc_bytes),
        near,
        here=here,
        measured=with_cache(profile, own_bytes or detect.llc()[0]),
        error=hypot(OTHER_CORE_ERROR, UNKNOWN_CLOCK_ERROR),
    )
    fars = [load_device(name) for name in listed.memories.values()]
    pages = None if target.page_bytes is None else f"{target.page_bytes}B"
    prediction = predict(profile=on_target, near=near, far=fars, pages=pages, core=target.core)
    return {device.far: device for device in prediction.devices}


def share_table(listed: PopulationList, runs: Runs) -> ComparisonTable:
    """Return the shares of programs below the published slowdowns."""
    rows = []
    for memory, device in listed.memories.items():
        predictions = [run[device] for run in runs.values()]
        totals = [each.total for each in predictions]
        latency = f"{device}, {predictions[0].latency_ns or 0.0:.0f} ns there"
        by_misses = [m.slowdown for total in totals for m in total.models if m.model == "misses"]
        for percent, share in zip(SHARES["below_percent"], SHARES[memory], strict=True):
            rows.append(
                row(
                    f"{memory} below {percent:g} %",
                    share,
                    _below([total.slowdown.value for total in totals], percent),
                    interval=(
                        _below([total.slowdown.high for total in totals], percent),
                        _below([total.slowdown.low for total in totals], percent),
                    ),
                    rivals={"no slowdown": 100.0, "every miss waits": _below(by_misses, percent)},
                    note=latency,
                )
            )
    cited = PUBLISHED.tables["shares"]["where"]
    return table("share of programs below a slowdown", cited, "% of programs", rows)


def _below(slowdowns: Sequence[float], percent: float) -> float:
    """Return the share of slowdowns below `percent`, in per cent."""
    return 100.0 * float(np.mean(np.array(slowdowns) < 1.0 + percent / 100.0))


def verdict(shares: ComparisonTable, count: int) -> list[str]:
    """Return the differences between the shares and the published ones, in sentences."""
    differences = ", ".join(
        f"{_points(shares, name):.0f} points ({name})" for name in shares.errors
    )
    bias = float(np.mean(column(shares) - column(shares, "published")))
    return [
        *(
            f"{each.what}: {each.ours:.0f} % of {count} programs, published {each.published:.0f} % "
            f"of {WORKLOADS} workloads"
            for each in shares.rows
        ),
        f"mean difference to the published shares: {differences}; ours are {abs(bias):.0f} points "
        f"too {'high' if bias > 0 else 'low'} on average",
        f"chance alone makes a share of {count} programs uncertain by up to "
        f"{196 * sqrt(0.25 / count):.0f} points",
    ]


def _points(shares: ComparisonTable, name: str = "ours") -> float:
    """Return the mean difference to the published shares, in percentage points."""
    return float(np.mean(np.abs(column(shares, name) - column(shares, "published"))))


def _by_cache(tables: Mapping[int, ComparisonTable]) -> TextTable:
    """Return the mean shares of all memories by size of the cache; the first is the list's."""
    limits, first = len(SHARES["below_percent"]), next(iter(tables.values()))

    def cells(values: NDArray[np.float64]) -> list[str]:
        return [f"{share:.0f} %" for share in values.reshape(-1, limits).mean(axis=0)]

    rows = [
        [f"{size / 2**20:g} MiB", *cells(column(shares)), f"{_points(shares):.0f} points"]
        for size, shares in tables.items()
    ]
    return TextTable(
        title="shares by last-level cache, mean of the memories; the first size was fixed in "
        "advance, the others were computed when the published shares were known",
        columns=[
            "cache",
            *(f"below {limit:g} %" for limit in SHARES["below_percent"]),
            "difference",
        ],
        rows=[["published", *cells(column(first, "published")), "-"], *rows],
    )


def _slowdowns(listed: PopulationList, runs: Runs) -> TextTable:
    def cell(slowdown: Estimate) -> str:
        return f"{slowdown.value:.3f} ({slowdown.low:.2f} to {slowdown.high:.2f})"

    rows = [
        [each.name, each.kind]
        + [cell(runs[each.name][device].total.slowdown) for device in listed.memories.values()]
        for each in listed.programs
        if each.name in runs
    ]
    return TextTable(title=SLOWDOWNS, columns=["program", "kind", *listed.memories], rows=rows)
