"""The performance thesis' uses of pmembench: gets and inserts, on DRAM here and predicted.

Its one printed table is of gets on real persistent memory; of inserts and of element sizes it
prints pictures and sentences. Ours is the hash map of `nearfar bench` in a pool in DRAM, profiled
here; its time on the thesis' persistent memory is predicted by the model `persist`.
"""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from nearfar.api import predict
from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.study import StudyResult, TextTable
from nearfar_studies.compare import column, covered, facts, mean_max, row, table
from nearfar_studies.figures import published
from nearfar_studies.pmembench_runs import PHASE, PmembenchRuns
from nearfar_studies.study import STUDIES, Study, StudyInputs

THESIS = published("performance-thesis")
FAR = "thesis-pmem"
MODEL = "persist"
SIZES = (50_000, 100_000, 500_000, 1_000_000)
"""Sizes of table 6.1; larger ones would add minutes of set-up, and ns per get hardly change."""
INSERTS = 100_000
"""Number of inserts in figure 4.4."""
ELEMENTS_BYTES = (8, 64, 512, 4096)
"""Figure 4.4's axis is logarithmic and unlabelled in the text."""
PUBLISHED_GET_BYTES = 8
"""Published size: 1 byte, which libpmemobj rounds up to this."""


@dataclass(frozen=True)
class TimedOperations:
    """Seconds of n operations."""

    near: float
    far: Estimate

    @property
    def slowdown(self) -> float:
        """Far time divided by near time."""
        return self.far.value / self.near


@STUDIES.register("pmembench-tables")
class PmembenchTables(Study):
    """Gets over n, inserts over the size of an element."""

    title = "performance thesis, pmembench's map_get and map_insert"
    source = f"{THESIS.citation}, chapter 4 and table 6.1"

    def run(self, given: StudyInputs) -> StudyResult:
        """Build, measure, profile, predict."""
        with PmembenchRuns(given.near) as runs:
            gets = {n: timed(runs.profile("get", n, PUBLISHED_GET_BYTES), runs.near) for n in SIZES}
            inserts = {
                size: timed(runs.profile("insert", INSERTS, size), runs.near)
                for size in ELEMENTS_BYTES
            }
            return compare(self, gets, inserts, runs.near)

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw seconds of gets over n."""
        axes = figure.add_subplot()
        compared = result.tables[0]
        axes.plot(SIZES, column(compared, "published"), "o-", label="published, persistent memory")
        axes.plot(SIZES, column(compared), "s-", label="predicted for it")
        axes.plot(
            SIZES, column(compared, "measured in DRAM here"), "^-", label="measured in DRAM here"
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("n")
        axes.set_ylabel("seconds of n gets")
        axes.grid(visible=True, alpha=0.25)
        axes.legend()
        return f"Gets of a hash map of n elements. {self.source}"


def timed(profile: WorkloadProfile, near: DeviceProfile) -> TimedOperations:
    """Return a profile's time here, and the time predicted for the thesis' persistent memory."""
    predicted = (
        predict(profile=profile, near=near, far=[load_device(FAR)], model=MODEL, phase=[PHASE])
        .devices[0]
        .phases[0]
    )
    far = predicted.far_time_ns
    return TimedOperations(
        predicted.near_time_ns.value * 1e-9,
        Estimate(far.value * 1e-9, far.low * 1e-9, far.high * 1e-9),
    )


def compare(
    study: Study,
    gets: dict[int, TimedOperations],
    inserts: dict[int, TimedOperations],
    near: DeviceProfile,
) -> StudyResult:
    """Compare gets with table 6.1, and inserts with statements in the thesis' text."""
    printed = THESIS.columns("6.1")
    at = {int(n): i for i, n in enumerate(printed["n"])}
    rows = [
        row(
            f"{n:,} gets",
            printed["real"][at[n]],
            timed_gets.far.value,
            interval=(timed_gets.far.low, timed_gets.far.high),
            rivals={
                "measured in DRAM here": timed_gets.near,
                "its counters model": printed["counters_model"][at[n]],
                "its code model": printed["code_model"][at[n]],
            },
        )
        for n, timed_gets in gets.items()
    ]
    compared = table("seconds of n gets on persistent memory", "table 6.1", "s", rows)
    inside, judged = covered(compared)
    errors = compared.errors
    return study.result(
        f"times, misses, flushes and fences of nearfar bench's hash-atomic in this "
        f"machine's DRAM ({near.name}, {near.producer.cpu_model}); the latencies of {FAR}. No "
        "published time",
        tables=[compared],
        texts=[
            _claims(gets, inserts),
            _inserts_table(inserts),
            facts(
                "the source's map calls a function at each step to translate a 16-byte reference, "
                "and its last-level cache differs: only the growth with n can be compared"
            ),
        ],
        verdict=[
            f"gets: error {mean_max(errors['ours'])}; of the source's models, fitted on its own "
            f"machine, {mean_max(errors['its counters model'])} and "
            f"{mean_max(errors['its code model'])}; {inside} of {judged} are inside the interval",
            "a published get takes "
            f"{_ns(printed['real'][at[SIZES[0]]], SIZES[0]):.0f} ns at {SIZES[0]:,} elements, ours "
            f"{_ns(gets[SIZES[0]].near, SIZES[0]):.0f} ns in DRAM",
            "growth per get from the least to the greatest n: published "
            f"{_growth(printed['real'][at[SIZES[0]]], printed['real'][at[SIZES[-1]]]):.1f} times, "
            f"ours {_growth(gets[SIZES[0]].far.value, gets[SIZES[-1]].far.value):.1f}",
        ],
    )


def _claims(gets: dict[int, TimedOperations], inserts: dict[int, TimedOperations]) -> TextTable:
    # The share is of one n; slowdowns are of the largest map, which exceeds the caches.
    n, last = min(gets, key=lambda each: abs(each - INSERTS)), max(gets)
    insert = inserts[PUBLISHED_GET_BYTES]
    per_get, per_insert = gets[n].near / n, insert.near / INSERTS
    share = per_insert / (per_insert + per_get)
    stated = THESIS.value("stated_initialisation_share")
    return TextTable(
        title="statements of the source about pmembench, and results here",
        columns=["statement", "here"],
        rows=[
            [
                "persistent memory and DRAM differ less in inserts than in gets (figures 4.3, 4.4)",
                f"{insert.slowdown:.2f} times for inserts, {gets[last].slowdown:.2f} for {last:,} "
                f"gets ({gets[n].slowdown:.2f} for {n:,}): "
                + ("true here" if insert.slowdown < gets[last].slowdown else "not true here"),
            ],
            [
                f"about {stated * 100:.0f} % of a run of map_get builds the map (section 4.3.2)",
                f"{share * 100:.0f} % in DRAM: an insert takes {per_insert * 1e9:.0f} ns, a get "
                f"{per_get * 1e9:.0f}",
            ],
            [
                "a get's time does not depend on the element's size (section 5.4: it returns a "
                "reference)",
                "by construction: with value=0 a get reads no element (docs/bench.md)",
            ],
        ],
    )


def _inserts_table(inserts: dict[int, TimedOperations]) -> TextTable:
    return TextTable(
        title=f"map_insert, {INSERTS:,} inserts over the size of an element (figure 4.4: pictures)",
        columns=["element, bytes", "ns in DRAM here", "ns on Optane, predicted", "interval"],
        rows=[
            [
                f"{size:,}",
                f"{_ns(each.near, INSERTS):.0f}",
                f"{_ns(each.far.value, INSERTS):.0f}",
                f"{_ns(each.far.low, INSERTS):.0f} to {_ns(each.far.high, INSERTS):.0f}",
            ]
            for size, each in inserts.items()
        ],
    )


def _ns(seconds: float, operations: int) -> float:
    return seconds / operations * 1e9


def _growth(smallest_s: float, largest_s: float) -> float:
    return (largest_s / SIZES[-1]) / (smallest_s / SIZES[0])
