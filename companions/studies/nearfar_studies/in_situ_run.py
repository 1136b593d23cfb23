"""The NVDIMM thesis' pipeline, run on two memories of this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nearfar import validate
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.contention.program_memory import program_memory, slower_memories
from nearfar.memories import topology
from nearfar.predict.pipeline import PipelineTimes

_HERE = Path(__file__).parent
_HARNESS = Path(validate.__file__).parent / "kernels" / "harness"
_SOURCES = (_HERE / "programs" / "in_situ" / "in_situ.c", _HARNESS / "memory.c")

NODES, SETS = 500_000, 20
"""68 MB of matrix, beyond any last-level cache's share of a core; about a second."""


@dataclass(frozen=True)
class PipelineRun:
    """One run; times in seconds."""

    far: str
    """Memory spec of the consumer's memory."""
    pipeline: PipelineTimes
    alone_total: float
    """Time of both parts one after the other, in near memory, by one thread."""
    alone_generate: float
    alone_analyse: float


def far_here() -> str:
    """Return the spec of a physically slower memory of this machine, or refuse."""
    specs = slower_memories(topology.detect())
    if not specs:
        raise NearfarError(
            "this machine has one memory only: name what stands for the other with "
            "run_pipeline_here(far=...), or read the study nvdimm-pipeline, which predicts it",
            ExitCode.MACHINE_LACKS,
        )
    return specs[0]


def run_pipeline_here(
    far: str, *, nodes: int = NODES, sets: int = SETS, program: Path | None = None
) -> PipelineRun:
    """Compile the pipeline and run it with the consumer's memory in `far`.

    `far` is a memory spec such as ``node:1`` or ``file:/mnt/pmem0``; `program` is the pipeline if
    it was compiled before. The sums are compared with those of a run without threads. Raises
    NearfarError if they differ, if `far` is not available, or if there is no C compiler.
    """
    place = program_memory(far, topology.detect())
    with tempfile.TemporaryDirectory(prefix="nearfar-in-situ-") as folder:
        program = program or compiled(Path(folder))
        done = subprocess.run(
            [str(program), str(nodes), str(sets)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NEARFAR_VALIDATE_MEMORY": place.words()},
        )
    if done.returncode != 0:
        message = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        missing = done.returncode == 3
        raise NearfarError(
            f"the pipeline failed with its analysis in {far}: {message}",
            ExitCode.MACHINE_LACKS if missing else ExitCode.FOUND,
        )
    piped, alone = (line.split() for line in done.stdout.splitlines())
    total, generate, generate_idle, transfer, transfer_idle, analyse = map(float, piped)
    times = PipelineTimes(
        total=total,
        generate=generate,
        generate_idle=generate_idle,
        transfer=transfer,
        analyse=analyse,
        transfer_idle=transfer_idle,
    )
    return PipelineRun(far, times, *map(float, alone[1:]))


def compiled(folder: Path) -> Path:
    """Compile the pipeline into `folder` and return the program."""
    target = folder / "in_situ"
    command = ["cc", "-O2", "-std=gnu11", "-pthread", f"-I{_HARNESS}", *map(str, _SOURCES)]
    try:
        subprocess.run([*command, "-o", str(target)], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = getattr(error, "stderr", "") or str(error)
        raise NearfarError(
            f"the pipeline could not be compiled: {message.strip().splitlines()[-1]}; "
            "install a C compiler (Debian: apt-get install gcc)",
            ExitCode.MACHINE_LACKS,
        ) from error
    return target
