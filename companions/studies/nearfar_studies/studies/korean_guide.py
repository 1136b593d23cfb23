"""The Optane guide's sequence of commands, replayed with nearfar's verbs."""

from __future__ import annotations

import os
import tempfile
import tomllib
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
from nearfar_studies.figures import FOLDER, published
from nearfar_studies.guide_platform import State, replay
from nearfar_studies.study import STUDIES, Study, StudyInputs

GUIDE = published("optane-guide")
DRAM, OPTANE = "model:ddr4-2666-cascade-lake", "model:optane-100-6dimm"
"""Library devices in place of the guide's memories."""

THREAD_FILE = "perthreadfile"
THREAD_LINE = "0-15 R seq 200m dram\n"

NOT_OURS = "nearfar changes no modes, because that needs root, ipmctl and a reboot"

OTHER_ERRORS = 2
"""Errors that are reported by functions instead of a command's output: msr, and the unstable
latency."""

NO_DRIFT = "nothing"

DRIFT_INTERVAL = 0.01
"""Half-width assumed for the guide's two latencies, which are printed without one."""


class GuideStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of the guide."""

    guide: str
    """The guide's command, or its error."""
    result: str
    """The output, or the remedy in the guide."""
    arguments: tuple[str, ...] = ()
    """Arguments of nearfar; empty: nearfar has no such function."""
    state: State | None = None
    """State of the guide's machine; None: this machine."""
    keep: tuple[str, ...] = ()
    """First words of the printed lines that the table shows; empty: how the command ended."""
    note: str = ""
    ours_only: bool = False
    """Whether the guide lacks this step."""


def _steps() -> dict[str, list[GuideStep]]:
    text = (FOLDER / "optane-guide-steps.toml").read_text()
    for key in ("idle_ns", "matrix_ns"):
        text = text.replace(f"{{{key}}}", str(GUIDE.value(key)))
    steps = tomllib.loads(text.replace("{not_ours}", NOT_OURS))
    return msgspec.convert(steps, dict[str, list[GuideStep]])


STEPS = _steps()
"""By part of the guide: detect, convert, mlc, errors."""


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
                _replayed("detection and modes", [*STEPS["detect"], *STEPS["convert"]], work),
                _replayed("MLC", STEPS["mlc"], work),
                _replayed("errors and remedies", STEPS["errors"], work, [_msr(), unstable]),
                facts(
                    "ipmctl itself reports error 124 and the ratio; nearfar shows the namespace, "
                    "its mount and both sizes, but predicts neither",
                    "most of its results are pictures without numbers, which are not compared",
                ),
            ]
            latencies = _latencies()
        return self.result(
            "the guide's machine as hand-made sysfs trees (nearfar_studies/guide_platform.py), its "
            f"memories as {DRAM} and {OPTANE}; its errors on this machine",
            tables=[latencies],
            texts=texts,
            verdict=_verdict(latencies, unstable[-1]),
        )


def _replayed(
    title: str, steps: list[GuideStep], work: Path, more_rows: list[list[str]] | None = None
) -> TextTable:
    return TextTable(
        title=title,
        columns=["the guide", "its result or remedy", "nearfar", "printed"],
        rows=[*(_row(step, work) for step in steps), *(more_rows or [])],
    )


def _row(step: GuideStep, work: Path) -> list[str]:
    """Run a step's command in `work` and return the row of the table."""
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
    shown = (step.keep and replayed.lines(*step.keep)) or replayed.ended()
    return [
        step.guide,
        step.result,
        replayed.command,
        f"{shown}\n({step.note})" if step.note else shown,
    ]


def _msr() -> list[str]:
    """Return the row on prefetchers: MLC needs the module msr, nearfar reports their setting."""
    verdict = judge(tuple(sorted(os.sched_getaffinity(0))[:1]))
    remedy = f"; remedy: {verdict.remedy}" if verdict.remedy else ""
    return [
        "mlc: unable to modify prefetchers (try modprobe msr)",
        "modprobe msr",
        "nearfar measure",
        f"{verdict.text}{remedy} (nearfar leaves prefetchers on, because it chases at random)",
    ]


def _unstable() -> list[str]:
    """Return the row on the latency that doubled until reboot, with the drift nearfar reports."""
    library = load_device(DRAM.removeprefix("model:"))
    before, doubled = (
        _measured(library, GUIDE.value(key)) for key in ("before_ns", "until_reboot_ns")
    )
    warnings = drift.warnings(drift.compare(doubled, before))
    return [
        f"mlc --latency_matrix -X -b32g: {GUIDE.value('before_ns')} ns, later "
        f"{GUIDE.value('until_reboot_ns')}",
        "reboot; cause unknown",
        "nearfar measure, again on the same memory",
        warnings[0] if warnings else NO_DRIFT,
    ]


def _measured(library: DeviceProfile, value_ns: float) -> DeviceProfile:
    """Return `library` as if measured, with this idle latency alone."""
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
    for step, key in zip(STEPS["mlc"], ("idle_ns", "matrix_ns"), strict=False):
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
    steps = [s for part in STEPS.values() for s in part if not s.ours_only]
    ours = sum(bool(step.arguments) for step in steps)
    verdict = [
        f"{ours + OTHER_ERRORS} of the guide's {len(steps) + OTHER_ERRORS} steps and errors have a "
        f"nearfar command; {NOT_OURS}",
        "latency that doubles until reboot: nearfar reports "
        + ("no drift" if drift_report == NO_DRIFT else "drift, with what to check"),
    ]
    if "ours" in latencies.errors:
        verdict.insert(
            0,
            f"the guide's {GUIDE.value('idle_ns')} ns are for sequential accesses with prefetchers "
            "off; nearfar leaves them on and reads the library's DRAM at random: difference "
            f"{percent(latencies.errors['ours'].bias, signed=True)}",
        )
    return verdict
