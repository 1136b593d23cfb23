"""Stand-ins for X-Mem's three applications: slowdowns and latencies on its emulated memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.documents.study import ComparisonRow, ComparisonTable, StudyResult, TextTable
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.models.xmem import effective_latencies_ns
from nearfar.predict.traffic import CHASE, INDEPENDENT, STREAM, misses, write_backs
from nearfar_studies.applications import (
    APPLICATIONS,
    CACHE,
    GRAPH,
    INDEX,
    Application,
    MeasuredApplication,
    measured,
)
from nearfar_studies.compare import facts, row, table
from nearfar_studies.figures import published
from nearfar_studies.percentiles import Histogram, MeanTimes, near_ns, percentiles_ns, slowdowns
from nearfar_studies.placed import UNGUIDED, PlacedApplication
from nearfar_studies.study import STUDIES, Study, StudyInputs

NEAR = "xmem-near"
FARS = (
    "xmem-far-300ns-10gb",
    "xmem-far-300ns-5gb",
    "xmem-far-450ns-10gb",
    "xmem-far-450ns-5gb",
    "xmem-far-600ns-10gb",
    "xmem-far-600ns-5gb",
)
"""X-Mem's emulated memories, from the mildest to the harshest."""

SHARES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
JUDGED_PERCENTILES = ("p50", "p95", "p99")
"""Percentiles that judge the rule: slower requests wait for interrupts and neighbours."""

PATTERNS = {"pointer chase": CHASE, "random": INDEPENDENT, "stream": STREAM}

ByMemory = Mapping[str, Sequence[PlacedApplication]]
"""Results by application, one per far memory in the order of `FARS`."""


@dataclass(frozen=True)
class PublishedRange:
    """A published range over X-Mem's memories: a slowdown, or a gain over everything far."""

    application: Application
    near_share: float
    key: str
    gain: bool = False

    @property
    def what(self) -> str:
        """Describe what was near."""
        if self.near_share == 0.0:
            return f"{self.application.kind}, all far"
        over = ", gain over all far" if self.gain else ""
        return f"{self.application.kind}, {share_name(self.near_share)} near{over}"

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest figure over X-Mem's memories."""
        figures = published("x-mem")
        return figures.value(f"{self.key}_least"), figures.value(f"{self.key}_most")

    def ours(self, placed: PlacedApplication) -> Estimate:
        """Return our slowdown, or gain, on one memory."""
        return placed.gain(self.near_share) if self.gain else placed.slowdown(self.near_share)

    def unguided(self, placed: PlacedApplication) -> float:
        """Return our slowdown, or gain, with pages interleaved."""
        slowed = placed.slowdown(self.near_share, UNGUIDED).value
        return placed.slowdown(0.0).value / slowed if self.gain else slowed


PUBLISHED = (
    PublishedRange(GRAPH, 0.0, "graph_all_far"),
    PublishedRange(GRAPH, 1 / 2, "graph_half_near"),
    PublishedRange(INDEX, 1 / 16, "index_sixteenth_gain", gain=True),
    PublishedRange(CACHE, 1 / 8, "cache_eighth_gain", gain=True),
    PublishedRange(CACHE, 1 / 4, "cache_quarter_near"),
)


@STUDIES.register("x-mem-applications")
class XMemApplications(Study):
    """Three kinds of program on the emulated memories."""

    title = "Stand-ins for X-Mem's graph, index and cache: slowdowns and latencies by share near"
    source = "S. R. Dulloor et al., Data Tiering in Heterogeneous Memory Systems, EuroSys 2016"

    def run(self, given: StudyInputs) -> StudyResult:
        """Build, run, profile, place and predict the three programs."""
        del given
        near = load_device(NEAR)
        applications = measured(near)
        fars = [load_device(name) for name in FARS]
        return result_of(self.name, near, fars, applications)

    def draw(self, result: StudyResult, figure: Figure) -> str:
        """Draw published ranges next to ours."""
        axes = figure.add_subplot()
        rows = result.tables[0].rows
        for at, _ in enumerate(PUBLISHED):
            pair = rows[2 * at : 2 * at + 2]
            for place, ends, colour in (
                (at - 0.1, [r.published or 0.0 for r in pair], "black"),
                (at + 0.1, [r.ours or 0.0 for r in pair], "C0"),
            ):
                axes.plot([place] * 2, ends, "o-", color=colour)
        names = [published_range.what.replace(", ", ",\n") for published_range in PUBLISHED]
        axes.set_xticks(range(len(PUBLISHED)), names, fontsize=7)
        axes.set_ylabel("slowdown, or gain")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.25)
        return (
            "Slowdowns and gains on the mildest and the harshest of X-Mem's memories: published "
            f"(black), of our programs of the same kind (blue). {self.source}."
        )


def result_of(
    name: str,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    applications: Mapping[str, MeasuredApplication],
) -> StudyResult:
    """Return the study's result for measured applications."""
    placed = {
        application.name: [
            PlacedApplication(application, applications[application.name], near, far)
            for far in fars
        ]
        for application in APPLICATIONS
    }
    range_ends = _range_ends(placed)
    rule_test = _rule_test(applications)
    return StudyResult(
        name=name,
        title=XMemApplications.title,
        source=XMemApplications.source,
        inputs="examples/applications (350 to 750 MB), built, run and profiled here; near time "
        "converted to X-Mem's machine (150 ns, 40 GB/s) by the model, with this machine's caches "
        "and clock; its six emulated memories as published; none of its results",
        tables=[range_ends, rule_test],
        texts=[
            _by_share(placed),
            _percentiles(placed),
            _traffic(placed),
            _objects(placed),
            _effective(near, fars),
            facts(
                "latencies of requests are modelled from a profile's means and were never measured "
                "on such a memory; they leave out queues of waiting requests"
            ),
        ],
        verdict=[
            *(_verdict(published_range, placed) for published_range in PUBLISHED),
            *_rule_verdict(rule_test),
        ],
    )


def share_name(share: float) -> str:
    """Return a share near as X-Mem writes it."""
    return f"1/{1 / share:.0f}" if share else "none"


def _range_ends(placed: ByMemory) -> ComparisonTable:
    rows = []
    for published_range in PUBLISHED:
        by_memory = placed[published_range.application.name]
        for which, figure, placed_application in zip(
            ("mildest memory", "harshest memory"),
            published_range.ends,
            (by_memory[0], by_memory[-1]),
            strict=True,
        ):
            ours = published_range.ours(placed_application)
            rows.append(
                row(
                    f"{published_range.what}, {which}",
                    figure,
                    ours.value,
                    interval=(ours.low, ours.high),
                    rivals={"unguided": published_range.unguided(placed_application)},
                )
            )
    return table(
        "least and greatest over its memories",
        "sections 2 and 6",
        "slowdown, or gain",
        rows,
        note="these programs are others of the same kind, smaller, on one or two threads: a "
        "difference is not a model's error. A gain is the time with everything far over the time "
        "with the plan, as in the source. unguided: pages of every object interleaved",
    )


def _by_share(placed: ByMemory) -> TextTable:
    rows = []
    for by_memory in placed.values():
        for share in SHARES:
            cells = []
            for placed_application in (by_memory[0], by_memory[-1]):
                slowed = placed_application.slowdown(share)
                interleaved = (
                    f"; {placed_application.slowdown(share, UNGUIDED).value:.2f}" if share else ""
                )
                cells.append(
                    f"{slowed.value:.2f} ({slowed.low:.2f}-{slowed.high:.2f}){interleaved}"
                )
            rows.append([by_memory[0].application.kind, share_name(share), *cells])
    return TextTable(
        title="slowdown of the mean by share near (90 % interval; pages interleaved)",
        columns=["program", "near", "mildest memory", "harshest memory"],
        rows=rows,
    )


def _percentiles(placed: ByMemory) -> TextTable:
    rows = []
    for by_memory in placed.values():
        harshest = by_memory[-1]
        requests = _requests(harshest.application, harshest.measured.latencies)
        times = harshest.times(0.0)
        near = near_ns(requests, list(PERCENTILES.values()), times, "evenly")
        cells = [f"{ns / 1e3:.1f} us" for ns in near]
        rows.append([harshest.application.kind, "all", *cells])
        for share in reversed(SHARES):
            ends = slowdowns(requests, list(PERCENTILES.values()), harshest.times(share))
            cells = [f"{low:.2f}-{high:.2f}" for low, high in ends]
            rows.append([harshest.application.kind, share_name(share), *cells])
    return TextTable(
        title="latency of a request, harshest memory: everything near, then slowdowns by share "
        "near (modelled: the mean added time of each kind, spread evenly and in proportion; plans "
        "minimise the mean of all requests, for the graph of PageRank)",
        columns=["program", "near", *PERCENTILES],
        rows=rows,
    )


def _requests(application: Application, latencies: Mapping[str, Histogram]) -> dict[str, Histogram]:
    return {kind: latencies[kind] for kind in application.requests if kind in latencies}


def _rule_test(applications: Mapping[str, MeasuredApplication]) -> ComparisonTable:
    """Test the rule here: pages of 2 MiB act as near memory, the slower ones of 4 KiB as far."""
    rows: list[ComparisonRow] = []
    shares = list(PERCENTILES.values())
    for application in APPLICATIONS:
        quick = _requests(application, applications[application.name].in_huge_pages)
        slow = _requests(application, applications[application.name].latencies)
        # Means leave out latencies above the p99: interrupts and neighbours cause those.
        times = {}
        for kind, before in quick.items():
            near = _trimmed_ns(before)
            times[kind] = MeanTimes(near, near, _trimmed_ns(slow[kind]))
        measured = percentiles_ns(slow, shares) / percentiles_ns(quick, shares)
        ends = slowdowns(quick, shares, times)
        for name, slowdown, (low, high) in zip(PERCENTILES, measured, ends, strict=True):
            rows.append(
                row(
                    f"{application.kind}, {name}",
                    float(slowdown),
                    (low * high) ** 0.5,
                    interval=(low, high),
                    rivals={"no slowdown": 1.0},
                    judged=name in JUDGED_PERCENTILES,
                    note="" if name in JUDGED_PERCENTILES else "interrupts, neighbours",
                )
            )
    return table(
        "test of the rule for percentiles here: pages of 4 KiB over pages of 2 MiB",
        "measured here, both",
        "slowdown of latency",
        rows,
        note='"published" is measured; ours follows from the latencies in pages of 2 MiB and the '
        "mean added time of each kind of request in pages of 4 KiB",
    )


def _trimmed_ns(histogram: Histogram) -> float:
    """Return the mean of the fastest 99 % of a kind."""
    below = histogram.counts.cumsum() <= 0.99 * histogram.counts.sum()
    below[0] = True
    return float(
        (histogram.up_to_ns * histogram.counts)[below].sum() / histogram.counts[below].sum()
    )


def _traffic(placed: ByMemory) -> TextTable:
    """Return near memory traffic per thread, which shows how similar the programs are."""
    source = published("x-mem")
    theirs = {
        GRAPH.name: f"up to {source.value('graph_read_gb_per_s'):g} read, "
        f"{source.value('graph_write_gb_per_s'):g} written, all threads",
        INDEX.name: f"{source.value('index_read_gb_per_s') / 8:.2f} read, "
        f"{source.value('index_write_gb_per_s') / 8:.2f} written, each of 8 sites",
        CACHE.name: f"{source.value('cache_small_read_gb_per_s'):g} (16 B) to "
        f"{source.value('cache_large_read_gb_per_s'):g} (8 KiB) read, all threads",
    }
    rows = []
    for name, by_memory in placed.items():
        problem = by_memory[0].problem
        near = problem.near_time_ns.value
        read = sum(float(misses(phase.total)) for phase in problem.phases) * LINE_BYTES / near
        written = sum(float(write_backs(phase.total)) for phase in problem.phases)
        ours = f"{read:.2f} read, {written * LINE_BYTES / near:.2f} written"
        rows.append([by_memory[0].application.kind, ours, theirs[name]])
    return TextTable(
        title="memory traffic with everything near, GB/s",
        columns=["program", "ours, one thread", "published"],
        rows=rows,
    )


def _objects(placed: ByMemory) -> TextTable:
    rows = [
        [
            by_memory[0].application.kind,
            share_name(share),
            ", ".join(by_memory[-1].kept(share)) or "nothing",
        ]
        for by_memory in placed.values()
        for share in SHARES[1:]
    ]
    return TextTable(
        title="objects kept near, harshest memory (above a thousandth of the data)",
        columns=["program", "near", "objects"],
        rows=rows,
    )


def _effective(near: DeviceProfile, fars: Sequence[DeviceProfile]) -> TextTable:
    """Return latency per line by pattern, the rule by which X-Mem places."""
    local = near_memory(near)
    first = effective_latencies_ns(local)
    rows = []
    for memory in [local, *(far_memory(far, local) for far in fars)]:
        costs = effective_latencies_ns(memory)
        cells = [
            f"{float(costs[column]):.1f} ({float(costs[column]) / float(first[column]):.1f}x)"
            for column in PATTERNS.values()
        ]
        rows.append([memory.device.name, *cells])
    return TextTable(
        title="effective latency of a line by pattern, ns (over near)",
        columns=["memory", *PATTERNS],
        rows=rows,
    )


def _verdict(published_range: PublishedRange, placed: ByMemory) -> str:
    values = [
        published_range.ours(placed_application).value
        for placed_application in placed[published_range.application.name]
    ]
    low, high = min(values), max(values)
    least, most = published_range.ends
    meet = "the ranges meet" if low <= most and high >= least else "they do not meet"
    return (
        f"{published_range.what}: published {least:.2f} to {most:.2f}, ours {low:.2f} to "
        f"{high:.2f} ({meet})"
    )


def _rule_verdict(rule_test: ComparisonTable) -> list[str]:
    judged = [row for row in rule_test.rows if row.judged and row.published]
    inside = sum((row.low or 0.0) <= (row.published or 0.0) <= (row.high or 0.0) for row in judged)
    errors = rule_test.errors
    return [
        f"percentiles, tested on pages of 4 KiB: mean error {errors['ours'].mean:.1%} (predicting "
        f"no slowdown, {errors['no slowdown'].mean:.1%}); {inside} of {len(judged)} are between "
        "the two ways to spread the added time, widened by one bucket of 3 % on either side",
    ]
