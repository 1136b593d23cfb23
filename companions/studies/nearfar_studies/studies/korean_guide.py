"""The Optane guide's sequence of commands, replayed with nearfar's verbs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearfar.devices.library import load_device
from nearfar.documents import DeviceProfile
from nearfar.documents.device import LatencyFigure, MeasuredContext
from nearfar.documents.study import ComparisonTable, StudyResult, TextTable
from nearfar.measure import drift
from nearfar.measure.instrument.msr import judge
from nearfar_like import mlc
from nearfar_studies import guide_platform
from nearfar_studies.compare import facts, percent, row, table
from nearfar_studies.figures import published
from nearfar_studies.guide_platform import State
from nearfar_studies.replay import ReplayedCommand, replay
from nearfar_studies.study import STUDIES, Study, StudyInputs

GUIDE = published("optane-guide")
DRAM, OPTANE = "model:ddr4-2666-cascade-lake", "model:optane-100-6dimm"
"""Library devices in place of the guide's memories."""

THREAD_FILE = "perthreadfile"
THREAD_LINE = "0-15 R seq 200m dram\n"

NOT_OURS = "nearfar changes no modes: that takes root, ipmctl and a reboot"

OTHER_ERRORS = 2
"""Errors that functions report, not a command's output: msr, and the unstable latency."""

NO_DRIFT = "nothing"

DRIFT_INTERVAL = 0.01
"""Half-width given to the guide's two latencies, which it prints without one."""


@dataclass(frozen=True)
class GuideStep:
    """One step of the guide."""

    guide: str
    """Its command, or its error."""
    result: str
    """Its output, or the remedy that the guide gives."""
    arguments: tuple[str, ...] = ()
    """Arguments of nearfar; empty: nearfar does not do this."""
    state: State | None = None
    """State of the guide's machine; None: this machine."""
    keep: Callable[[ReplayedCommand], str] = ReplayedCommand.ended
    """Function that picks the lines that the table shows."""
    note: str = ""
    ours_only: bool = False
    """Whether the guide lacks this step."""


def _lines(*starts: str) -> Callable[[ReplayedCommand], str]:
    return lambda replayed: replayed.lines(*starts) or replayed.ended()


_POINT = _lines("00000", "***")
_LATENCY = _lines("Each iteration", "0 ", "***")

DETECT = [
    GuideStep(
        "lscpu; cat /sys/devices/cpu/caps/pmu_name",
        "Xeon Gold 5218, 16 cores, caches",
        ("machine",),
        keep=_lines("cpu ", "caches ", "L1 data", "L2 ", "L3 ", "virtual "),
    ),
    GuideStep(
        "dmidecode -t 17; ipmctl show -memoryresources (Memory Mode)",
        "64 GB DRAM as cache, 256 GB Optane as memory",
        ("machine",),
        "memory-mode",
        _lines("nodes "),
    ),
]

CONVERT = [
    GuideStep(
        "ipmctl create -goal PersistentMemoryType=AppDirect; reboot",
        "a region; `ipmctl show -goal` then says no result",
        note=NOT_OURS,
    ),
    GuideStep(
        "ndctl create-namespace",
        "/dev/pmem0",
        ("machine",),
        "region",
        _lines("- persistent-memory", "fix: sudo ndctl"),
    ),
    GuideStep(
        "mkfs.ext4 /dev/pmem0; mount -o dax /dev/pmem0 /mnt/pmem0",
        "/mnt/pmem0",
        ("machine",),
        "not mounted",
        _lines("- persistent-memory", "fix: sudo mkfs"),
    ),
    GuideStep(
        "(not in the guide: mounted without -o dax)",
        "-",
        ("machine",),
        "without dax",
        _lines("- persistent-memory", "fix: sudo umount"),
        ours_only=True,
    ),
    GuideStep(
        "ready for App Direct",
        "/mnt/pmem0",
        ("machine",),
        "app-direct",
        _lines("usable ", "persistent "),
    ),
    GuideStep(
        "ipmctl create -goal MemoryMode=100: Error 124, namespaces exist",
        "umount, ndctl disable- and destroy-namespace, disable-region, ipmctl delete -goal",
        ("machine",),
        "app-direct",
        _lines("persistent "),
        note=f"shows what is in the way and where it is mounted; {NOT_OURS}",
    ),
    GuideStep(
        "ipmctl: memory mode below the recommended NM:FM ratio of 1:4 (warning)",
        "accept; 1:4 here is 64 GB to 256 GB",
        ("machine",),
        "memory-mode",
        _lines("nodes "),
        note="shows both sizes, judges no ratio",
    ),
]

MLC = [
    GuideStep(
        "mlc --idle_latency -b60g",
        f"{GUIDE.value('idle_ns')} ns",
        ("measure", "--like", "mlc", DRAM, "--idle_latency", "-b1g"),
        keep=_LATENCY,
    ),
    GuideStep(
        "mlc --latency_matrix -b60g -X",
        f"{GUIDE.value('matrix_ns')} ns",
        ("measure", "--like", "mlc", DRAM, "--latency_matrix", "-b1g", "-X"),
        keep=_LATENCY,
    ),
    GuideStep(
        "mlc --idle_latency -J/mnt/pmem0 -r",
        "a picture",
        ("measure", "--like", "mlc", OPTANE, "--idle_latency", "-b1g", "-r"),
        keep=_LATENCY,
    ),
    GuideStep(
        f"mlc --loaded_latency -d0 -T -o{THREAD_FILE} (R seq 200m)",
        "a picture",
        ("measure", "--like", "mlc", OPTANE, "--loaded_latency", "-d0", "-T", f"-o{THREAD_FILE}"),
        keep=_POINT,
    ),
    *(
        GuideStep(
            f"the same, {words}",
            "a picture",
            ("measure", "--like", "mlc", OPTANE, "--loaded_latency", "-d0", "-T", f"-W{kind}"),
            keep=_POINT,
        )
        for words, kind in (
            ("2:1 reads to writes", 2),
            ("1:1 reads to writes", 5),
            ("NT writes", 6),
        )
    ),
]

ERRORS = [
    GuideStep(
        "mlc --latency_matrix -b2048g -X: unable to mbind, buffer allocation failed",
        "a buffer fits one socket; look which mode the memory is in",
        ("measure", "--like", "mlc", "--latency_matrix", "-b2048g", "-X"),
    ),
    GuideStep(
        "(not in the guide: mlc --idle_latency -J of a folder that is not there)",
        "-",
        ("measure", "--like", "mlc", "--idle_latency", "-J/mnt/no-such-pmem", "-r"),
        ours_only=True,
    ),
]


@STUDIES.register("korean-guide")
class KoreanGuide(Study):
    """Detection, modes, measurement, fixes of errors."""

    title = "Optane guide: detect, change modes, run MLC, fix its errors"
    source = GUIDE.citation

    def run(self, given: StudyInputs) -> StudyResult:
        """Replay every step."""
        with tempfile.TemporaryDirectory(prefix="nearfar-guide-") as folder:
            work = Path(folder)
            (work / THREAD_FILE).write_text(THREAD_LINE)
            unstable = _unstable()
            texts = [
                _replayed("detection and modes", [*DETECT, *CONVERT], work),
                _replayed("MLC", MLC, work),
                _replayed("errors and remedies", ERRORS, work, [_msr(), unstable]),
                facts(
                    "ipmctl itself reports error 124 and the ratio; nearfar shows the namespace, "
                    "its mount and both sizes, and predicts neither",
                    "most of the guide's results are pictures without numbers: not compared",
                ),
            ]
            latencies = _latencies()
        return StudyResult(
            name=self.name,
            title=self.title,
            source=self.source,
            inputs="its machine as hand-made sysfs trees (nearfar_studies/guide_platform.py); its "
            f"memories as {DRAM} and {OPTANE}; errors on this machine",
            tables=[latencies],
            texts=texts,
            verdict=_verdict(latencies, unstable[-1]),
        )


def _replayed(
    title: str, steps: list[GuideStep], work: Path, more: list[list[str]] | None = None
) -> TextTable:
    return TextTable(
        title=title,
        columns=["the guide", "its result or remedy", "nearfar", "printed"],
        rows=[*(_row(step, work) for step in steps), *(more or [])],
    )


def _row(step: GuideStep, work: Path) -> list[str]:
    if not step.arguments:
        return [step.guide, step.result, "-", step.note]
    arguments = list(step.arguments)
    if step.state is not None:
        root = work / step.state.replace(" ", "-")
        if not root.exists():
            root.mkdir()
            guide_platform.write(root, step.state)
        arguments += ["--root", root.name]
    replayed = replay(arguments, work)
    shown = step.keep(replayed)
    return [
        step.guide,
        step.result,
        replayed.command,
        f"{shown}\n({step.note})" if step.note else shown,
    ]


def _msr() -> list[str]:
    """Say what nearfar finds of prefetchers where MLC wants the module msr."""
    verdict = judge(tuple(sorted(os.sched_getaffinity(0))[:1]))
    remedy = f"; remedy: {verdict.remedy}" if verdict.remedy else ""
    return [
        "mlc: unable to modify prefetchers (try modprobe msr)",
        "modprobe msr",
        "nearfar measure",
        f"{verdict.text}{remedy} (nearfar switches none off: it chases at random)",
    ]


def _unstable() -> list[str]:
    """Say what nearfar says where the guide's latency doubled until reboot."""
    library = load_device(DRAM.removeprefix("model:"))
    before, now = (_measured(library, GUIDE.value(key)) for key in ("before_ns", "until_reboot_ns"))
    warnings = drift.warnings(drift.compare(now, before))
    return [
        f"mlc --latency_matrix -X -b32g: {GUIDE.value('before_ns')} ns, later "
        f"{GUIDE.value('until_reboot_ns')}",
        "reboot; cause not found",
        "nearfar measure, again on the same memory",
        warnings[0] if warnings else NO_DRIFT,
    ]


def _measured(library: DeviceProfile, value_ns: float) -> DeviceProfile:
    figure = LatencyFigure(
        how="measured",
        source=next(iter(library.sources)),
        region_bytes=32 << 30,
        value_ns=value_ns,
        low_ns=value_ns * (1 - DRIFT_INTERVAL),
        high_ns=value_ns * (1 + DRIFT_INTERVAL),
    )
    context = MeasuredContext(
        memory_spec="dram",
        repetitions=1,
        seconds=1.0,
        noise_floor=DRIFT_INTERVAL,
        timer_resolution_ns=1.0,
        cpus=[0],
        llc_bytes=0,
        environment={},
    )
    return msgspec.structs.replace(
        library, latency=[figure], bandwidth=[], chains=[], measured=context
    )


def _latencies() -> ComparisonTable:
    rows = []
    for step, key in ((MLC[0], "idle_ns"), (MLC[1], "matrix_ns")):
        _, _, _, *options = step.arguments
        document = mlc.run(options, lambda _line: None)
        rows.append(row(step.guide, GUIDE.value(key), _first_ns(document["results"])))
    return table("idle latency of DRAM", "slides on idle latency", "ns", rows)


def _first_ns(value: object) -> float | None:
    """Return the first figure called value_ns, or the only number of a matrix."""
    if isinstance(value, dict):
        if isinstance(value.get("value_ns"), float):
            return float(value["value_ns"])
        parts = list(value.values())
    elif isinstance(value, list):
        parts = value
    else:
        return None
    values = (_first_ns(part) for part in parts)
    return next((ns for ns in values if ns is not None), None)


def _verdict(latencies: ComparisonTable, drift_report: str) -> list[str]:
    steps = [s for s in (*DETECT, *CONVERT, *MLC, *ERRORS) if not s.ours_only]
    ours = sum(bool(step.arguments) for step in steps)
    verdict = [
        f"{ours + OTHER_ERRORS} of its {len(steps) + OTHER_ERRORS} steps and errors have a nearfar "
        f"command; {NOT_OURS}",
        "its latency that doubles until reboot: nearfar reports "
        + ("no drift" if drift_report == NO_DRIFT else "drift, with what to check"),
    ]
    if "ours" in latencies.errors:
        verdict.insert(
            0,
            f"its {GUIDE.value('idle_ns')} ns are of sequential accesses with prefetchers off; "
            "nearfar, which switches none off, reads the library's DRAM at random: "
            f"{percent(latencies.errors['ours'].bias, signed=True)}",
        )
    return verdict
