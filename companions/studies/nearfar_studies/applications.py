"""The programs of examples/applications: built, run for their latencies, and profiled here.

Everything measured is measured on this machine: misses by instrumented runs, near time and
latencies by plain ones. Near time on X-Mem's machine is predicted from it (`nearfar predict
--here`); its caches and clock are assumed to equal ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.predict.other_machine import on_other_machine
from nearfar.profile.compiler import twin
from nearfar_studies.percentiles import Histogram, read_histograms

SOURCES = Path(__file__).parent / "programs" / "applications"

MEASURED = (
    *("--only", "idle,chains,bandwidth", "--quick", "--seconds", "5", "--no-samples"),
    "--accept-noise",
)
"""Options of `nearfar measure` for this machine's memory, which explains near time."""


@dataclass(frozen=True)
class Application:
    """One program, and the phases of it that count."""

    name: str
    kind: str
    source: str
    arguments: tuple[str, ...]
    """Arguments for size and amount of work: 350 to 750 MB, one to two seconds."""
    placed: tuple[str, ...]
    """Phases for which plans are made and judged: not loading data, nor making requests."""
    requests: tuple[str, ...]
    """Kinds of request with latencies; each is a phase."""


GETS = tuple(f"get {size}" for size in (32, 64, 128, 256, 512, 1024, 2048, 8192))
ORDERS = ("new order", "payment", "status", "delivery", "stock level")

GRAPH = Application(
    "graph",
    "graph analytics",
    "graph_analytics.cpp",
    ("4194304", "1"),
    ("pagerank",),
    ("two hops",),
)
INDEX = Application(
    "index", "transactional index", "transactions.cpp", ("4", "100000"), ORDERS, ORDERS
)
CACHE = Application(
    "cache",
    "key-value cache",
    "kv_cache.cpp",
    ("900000", "400000"),
    (*GETS, "set"),
    (*GETS, "set"),
)
APPLICATIONS = (GRAPH, INDEX, CACHE)


@dataclass(frozen=True)
class MeasuredApplication:
    """One application, measured here."""

    here: WorkloadProfile
    there: WorkloadProfile
    """Profile as on a machine with another near memory."""
    latencies: dict[str, Histogram]
    """Latencies by kind of request, near, on this machine."""
    in_huge_pages: dict[str, Histogram]
    """The same with all objects in pages of 2 MiB, which act as a faster memory of this machine."""


def measured(near: DeviceProfile) -> dict[str, MeasuredApplication]:
    """Return each application by name, also as on a machine whose near memory is `near`.

    This machine's memory is measured first. Raises NearfarError with `MACHINE_LACKS` if nothing can
    be compiled or profiled.
    """
    with tempfile.TemporaryDirectory(prefix="nearfar-applications-") as name:
        folder = Path(name)
        here = folder / "here.json"
        nearfar("measure", "dram", *MEASURED, "--quiet", "-o", str(here))
        local = load(here, DeviceProfile)
        by_name = {}
        for application in APPLICATIONS:
            built = build(application, folder)
            workload = profile(application, built, here)
            by_name[application.name] = MeasuredApplication(
                workload,
                on_other_machine(workload, near, here=local),
                latencies(application, built),
                latencies(application, built, "--huge-pages"),
            )
    return by_name


def build(application: Application, folder: Path) -> Path:
    """Build an application with nearfar's compiler and return the program."""
    if not SOURCES.is_dir():
        raise NearfarError(
            f"the applications' sources are not in this installation ({SOURCES})",
            ExitCode.MACHINE_LACKS,
        )
    built = folder / application.name
    options = ["-O2", "-std=c++20", "-pthread", f"-I{include_folder()}"]
    nearfar("c++", *options, str(SOURCES / application.source), "-o", str(built))
    return built


def profile(application: Application, built: Path, near: Path, *words: str) -> WorkloadProfile:
    """Profile an application, also called with `words`, in the memory of the document `near`."""
    output = built.with_suffix(".json")
    options = ["--quiet", "--near", str(near), "--repetitions", "3", "-o", str(output)]
    nearfar("profile", *options, "--", str(built), *application.arguments, *words)
    return load(output, WorkloadProfile)


def only(workload: WorkloadProfile, names: Sequence[str]) -> WorkloadProfile:
    """Return the profile with only these phases."""
    phases = [phase for phase in workload.phases if phase.name in names]
    return msgspec.structs.replace(workload, phases=phases)


def latencies(application: Application, built: Path, *words: str) -> dict[str, Histogram]:
    """Run the plain build and return its latencies by kind of request."""
    with tempfile.TemporaryDirectory(dir=built.parent) as name:
        folder = Path(name)
        plain = twin.extract_plain(built, folder)
        assert plain is not None, "nearfar c++ puts it in"
        into = folder / "latencies.csv"
        command = [str(plain), *application.arguments, "--latencies", str(into), *words]
        _run(command, f"{application.source} failed", twin.plain_environment(folder))
        return read_histograms(into)


def nearfar(*words: str, environment: dict[str, str] | None = None) -> None:
    """Run a verb; on failure, raise its last sentence."""
    _run([sys.executable, "-m", "nearfar", *words], f"nearfar {words[0]} failed", environment)


def _run(command: Sequence[str], failed: str, environment: dict[str, str] | None = None) -> None:
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            _, errors = process.communicate()
        except BaseException:
            process.terminate()  # a verb then ends what it started
            raise
    if process.returncode != 0:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        raise NearfarError(f"{failed}: {last.removeprefix('nearfar: ')}", ExitCode.MACHINE_LACKS)
