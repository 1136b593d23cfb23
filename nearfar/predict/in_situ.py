"""Two of a program's phases as a pipeline: one generates sets near, the other analyses them far.

The NVDIMM thesis built this by hand: threads of the first stage generate set after set in near
memory; threads of the second transfer each set to far memory and analyse it there; two locks
synchronise them (`pipeline`). A part's work is its CPU time, from the profile or, in far memory,
from the model, divided among its threads. All parts together draw at most each memory's bandwidth.
If the machine's joint limits show that both memories share channels, all parts wait equally for
them (`shared_channels`). If these limits are not known, the interval spans both cases.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from nearfar.base.errors import NearfarError
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES, parse_size_bytes
from nearfar.documents import MachineProfile, Prediction, WorkloadProfile
from nearfar.documents.prediction import Pipeline, PipelineSplit
from nearfar.options.predict import PredictOptions
from nearfar.predict.derive import far_memory
from nearfar.predict.memory import MemoryCosts
from nearfar.predict.model import MODELS
from nearfar.predict.phases import phases_of
from nearfar.predict.pipeline import PipelinePart, PipelineTimes, Rates, run_pipeline
from nearfar.predict.shared_channels import Scaling, ThreadGroup, joint_limit, shared_bandwidth
from nearfar.predict.task import PredictionTask
from nearfar.predict.traffic import PhaseTraffic, misses, write_backs

SHARPNESS = 2.5
"""Sharpness of the knee where threads reach a memory's bandwidth: the fit to STREAM's columns
starts there (`nearfar reproduce nvdimm-stream`); within 4 % of published scaling curves."""

DEFAULT_SETS = 1000
"""Enough that filling and draining the pipeline does not matter."""

MAX_SETS, MAX_THREADS = 100_000, 1024

TRANSFERRED_LINES = 3
"""Lines moved for each line of a set: read near, read for ownership far, written back far."""


@dataclass(frozen=True)
class Stages:
    """The stages and the size of a pipeline."""

    generate: str
    analyse: str
    """Phases of the profile; their total work is that of all sets."""
    sets: int
    set_bytes: int
    threads: int


def stages_of(options: PredictOptions, workload: WorkloadProfile) -> Stages | None:
    """Return the stages that --pipeline names, None without it; refuse invalid values."""
    if options.pipeline is None or options.set_size is None:
        return None
    names = [name.strip() for name in options.pipeline.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise NearfarError(
            "--pipeline names two phases of the profile, such as generate,analyse, not "
            f"{options.pipeline!r}"
        )
    sets = DEFAULT_SETS if options.sets is None else options.sets
    if not 1 <= sets <= MAX_SETS:
        raise NearfarError(f"--sets is from 1 to {MAX_SETS:,}, not {sets}")
    threads = options.threads
    if threads is None:
        threads = max(2, workload.program.threads_seen)
    if not 2 <= threads <= MAX_THREADS:
        raise NearfarError(
            f"a pipeline needs a thread for each stage: --threads is from 2 to {MAX_THREADS:,}, "
            f"not {threads}"
        )
    return Stages(names[0], names[1], sets, parse_size_bytes(options.set_size), threads)


def with_pipeline(
    prediction: Prediction,
    stages: Stages,
    task: PredictionTask,
    near: MemoryCosts,
    machine: MachineProfile | None,
) -> Prediction:
    """Return the prediction made from `task` with the pipeline on each of its devices."""
    generate, analyse = (
        phases_of(task.workload, [name])[0] for name in (stages.generate, stages.analyse)
    )
    for phase in (generate, analyse):
        if phase.near_time_ns.value <= 0.0:
            raise NearfarError(
                f"near time of phase {phase.name!r} is 0: a stage needs a time above 0"
            )
    devices = []
    for device, far in zip(prediction.devices, task.fars, strict=True):
        far_side = far_memory(far, near, prediction.host)
        model = MODELS.get(prediction.model)(analyse, near, far_side)
        far_ns = float(model.times_ns(analyse.total))
        parts = _parts(stages, generate, analyse, near, far_side, analyse_far_ns=far_ns)
        limit = joint_limit(machine, task.near, far)
        near_only_ns = sum(_alone_ns(phase, near, stages) for phase in (generate, analyse))
        pipeline = Pipeline(
            generate=stages.generate,
            analyse=stages.analyse,
            sets=stages.sets,
            set_bytes=stages.set_bytes,
            near_only_ns=near_only_ns,
            channels="unknown" if limit is None else "shared" if limit.shared else "apart",
            splits=[
                _split(stages, parts, consumers, None if limit is None else limit.shared)
                for consumers in range(1, stages.threads)
            ],
        )
        devices.append(msgspec.structs.replace(device, pipeline=pipeline))
    return msgspec.structs.replace(prediction, devices=devices)


@dataclass(frozen=True)
class _Work:
    """Bytes of one part per set, and how its bandwidth scales with its threads."""

    set_bytes: float
    scaling: Scaling


def _parts(
    stages: Stages,
    generate: PhaseTraffic,
    analyse: PhaseTraffic,
    near: MemoryCosts,
    far: MemoryCosts,
    *,
    analyse_far_ns: float,
) -> dict[PipelinePart, _Work]:
    lines = stages.set_bytes / LINE_BYTES
    # For each line, a copying thread reads near in sequence, and reads and writes far in sequence.
    line_ns = near.core_stream_ns + far.core_stream_ns + far.copied_to_ns
    moved = TRANSFERRED_LINES * lines * LINE_BYTES
    slowest_ns = max(near.read_ns[1], far.read_ns[1] + far.copied_to_ns)
    transfer = Scaling(
        one_thread=moved / (lines * line_ns),
        capacity=moved / (lines * slowest_ns),
        sharpness=SHARPNESS,
    )
    return {
        "generate": _work(generate, generate.near_time_ns.value, near, stages.sets),
        "transfer": _Work(moved, transfer),
        "analyse": _work(analyse, analyse_far_ns, far, stages.sets),
    }


def _work(phase: PhaseTraffic, cpu_ns: float, memory: MemoryCosts, sets: int) -> _Work:
    read, written = float(misses(phase.total)), float(write_backs(phase.total))
    # A stage without traffic has no bandwidth limit: it counts as one line, so that it has a rate.
    moved = max((read + written) * LINE_BYTES, LINE_BYTES)
    memory_ns = max(read * memory.read_ns[1] + written * memory.write_ns[1], 1e-6 * cpu_ns)
    # No thread alone is faster than the memory.
    one_thread = moved / max(cpu_ns, memory_ns)
    return _Work(moved / sets, Scaling(one_thread, moved / memory_ns, SHARPNESS))


def _alone_ns(phase: PhaseTraffic, memory: MemoryCosts, stages: Stages) -> float:
    """Return the time of a phase with all threads on one memory."""
    work = _work(phase, phase.near_time_ns.value, memory, stages.sets)
    return stages.sets * work.set_bytes / float(work.scaling.at(stages.threads))


def _split(
    stages: Stages, parts: dict[PipelinePart, _Work], consumers: int, shared: bool | None
) -> PipelineSplit:
    """Return the times of one split of the threads; `shared`: whether memories share channels."""
    apart = run_pipeline(stages.sets, _rates(stages, parts, consumers, shared=False))
    joint = run_pipeline(stages.sets, _rates(stages, parts, consumers, shared=True))
    times: PipelineTimes = joint if shared else apart
    ends = (times.total,) if shared is not None else (apart.total, joint.total)
    return PipelineSplit(
        generate_threads=stages.threads - consumers,
        analyse_threads=consumers,
        total_ns=Estimate(times.total, min(ends), max(ends)),
        generate_ns=times.generate,
        generate_idle_ns=times.generate_idle,
        transfer_ns=times.transfer,
        analyse_ns=times.analyse,
        analyse_idle_ns=times.transfer_idle,
    )


def _rates(
    stages: Stages, parts: dict[PipelinePart, _Work], consumers: int, *, shared: bool
) -> Rates:
    threads = {
        "generate": stages.threads - consumers,
        "transfer": consumers,
        "analyse": consumers,
    }

    def rates(running: frozenset[PipelinePart]) -> dict[PipelinePart, float]:
        order = sorted(running)
        if shared:
            drawn = shared_bandwidth(
                [ThreadGroup(threads[part], parts[part].scaling) for part in order]
            )
        else:
            drawn = [float(parts[part].scaling.at(threads[part])) for part in order]
        # GB/s are bytes per ns.
        return {
            part: gb_per_s / parts[part].set_bytes
            for part, gb_per_s in zip(order, drawn, strict=True)
        }

    return rates
