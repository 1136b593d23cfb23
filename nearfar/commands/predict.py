"""The verb `predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nearfar.commands._options import (
    FarsOption,
    HostOption,
    JsonOption,
    NearOption,
    OutputOption,
    PagesOption,
    ProfileArgument,
    QuietOption,
)


def predict(
    profile: ProfileArgument,
    *more: Path,
    near: NearOption,
    far: FarsOption,
    model: str | None = None,
    models: Annotated[list[str] | None, Parameter(negative="")] = None,
    phase: Annotated[list[str] | None, Parameter(negative="")] = None,
    host: HostOption = "added",
    pages: PagesOption = None,
    llc: str | None = None,
    near_time: Annotated[list[str] | None, Parameter(negative="")] = None,
    here: str | None = None,
    frequency: float = 1.0,
    size: Annotated[list[str] | None, Parameter(negative="")] = None,
    near_size: str | None = None,
    pipeline: str | None = None,
    sets: int | None = None,
    set_size: str | None = None,
    threads: int | None = None,
    machine: Path | None = None,
    calibrated: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict how long a profiled program takes with its data in far memory.

    PROFILE may also be a TOML file of formulas, the counts of one operation as functions of sizes,
    such as nearfar/predict/codes/thesis-hashmap.toml (named without folder: thesis-hashmap); then
    near time is predicted too. Or what `nearfar counters import` wrote of a program's counters; of
    several such files, each imported with its --size, curves are fitted for the --size asked for.

    Parameters
    ----------
    more
        More files of counters, of the same program at other sizes.
    model
        best; inversion (the same, its interval without what other models add); chains (the same
        without classes); traffic (bytes over bandwidth); xmem (effective latency of each pattern);
        counters (totals alone); window (bursts); persist (flushes and fences); interleave (pages
        dealt out); memory-mode (near memory as a cache of the far one); or misses, latency-ratio,
        null, which are shown beside any other. Default: best; of a file of formulas: code (counts
        times costs); of counters: counters.
    models
        More models to show beside, ``all`` for every one; one that lacks what it needs says so.
    phase
        Only this phase of the profile; repeat for several. Default: all.
    llc
        For a machine with another last-level cache: its size, such as 32MiB. Misses follow from
        the profile's miss curves.
    near_time
        For another machine, or another build: CPU time with everything near as measured there,
        such as 3.5s or, of one phase, get=2.1s; repeat for several.
    here
        For another machine whose near time nobody measured: the memory the profile was taken in;
        --near is then the other machine's, and near times are predicted.
    frequency
        Of --here: the other machine's clock over this one's.
    size
        Of a file of formulas, such as n=1e7; repeat for several. Default: what the file says. Of
        several files of counters, a size between theirs.
    near_size
        For memory-mode: how much near memory caches the far one, such as 16GiB. Default: what the
        near memory's file says.
    pipeline
        GENERATE,ANALYSE: two phases as the stages of a pipeline with two locks, the first in near
        memory, the second after a transfer in the far one: times and idle times of both, for every
        split of the threads. With --set-size.
    sets
        Of --pipeline: into how many sets both phases' whole work is parted. Default: 1000.
    set_size
        Of --pipeline: what is transferred of each set, such as 128MB.
    threads
        Of --pipeline: of both stages together. Default: as many as the profiled program had, at
        least 2.
    machine
        What `nearfar machine --measure` wrote: memories that hold each other back there do so here.
    calibrated
        What `nearfar validate -o` wrote: intervals are calibrated where it validated this model on
        this kind of far memory, else widened to hold what the other models shown say.
    """
    from msgspec.structs import replace

    from nearfar.base.errors import CommandError
    from nearfar.base.files import check_writable
    from nearfar.base.units import parse_size_bytes
    from nearfar.commands._deliver import deliver
    from nearfar.devices.library import device_names, load_device, load_near
    from nearfar.documents import CounterProfile, MachineProfile, WorkloadProfile, load
    from nearfar.predict.api import predict as run
    from nearfar.predict.calibration import load_calibrations, with_calibrations
    from nearfar.predict.code_file import (
        LLC_BYTES,
        find_code,
        load_code,
        parse_sizes,
        profile_of_code,
    )
    from nearfar.predict.elsewhere import elsewhere, parse_near_times
    from nearfar.predict.fitted_counters import profile_of_fit
    from nearfar.predict.from_counters import is_counters, profile_of_counters
    from nearfar.predict.model import DEFAULT_MODEL, MODELS
    from nearfar.predict.pages import parse_page_bytes
    from nearfar.predict.table import print_prediction

    if near_size is not None and not {"memory-mode", "all"} & {model, *(models or [])}:
        raise CommandError(
            "--near-size is how much near memory caches the far one, for the model memory-mode: "
            "add --model memory-mode or --models memory-mode"
        )
    if output is not None:
        check_writable(output)
    near_device = load_near(near)
    if near_size is not None:
        near_device = replace(near_device, capacity_bytes=parse_size_bytes(near_size))
    code = find_code(profile) if not more else None
    if more:
        if stray := [path for path in (profile, *more) if not is_counters(path)]:
            raise CommandError(
                f"{stray[0]} holds no counters: several files go together only if `nearfar "
                "counters import` wrote them all; to extrapolate profiles there is `nearfar scale`"
            )
        if not size:
            raise CommandError("several files of counters: say the size to predict, --size n=1e6")
        workload = profile_of_fit(
            [load(path, CounterProfile) for path in (profile, *more)], parse_sizes(size)
        )
        model = model or "counters"
    elif code is not None:
        workload = profile_of_code(
            load_code(code),
            near_device,
            parse_sizes(size or []),
            LLC_BYTES if llc is None else parse_size_bytes(llc),
        )
        llc, model = None, model or "code"
    else:
        if is_counters(profile):
            workload = profile_of_counters(load(profile, CounterProfile))
            model = model or "counters"
        else:
            workload = load(profile, WorkloadProfile)
        if size:
            raise CommandError(
                "--size goes with a file of formulas: a profile has the size it was run at"
            )
    if (pipeline is None) != (set_size is None):
        raise CommandError("--pipeline and --set-size go together: what is transferred of each set")
    if pipeline is None and (sets is not None or threads is not None):
        raise CommandError("--sets and --threads go with --pipeline")
    stages = None
    if pipeline is not None and set_size is not None:
        from nearfar.predict.in_situ import DEFAULT_SETS, parse_stages

        stages = parse_stages(
            pipeline,
            DEFAULT_SETS if sets is None else sets,
            set_size,
            max(2, workload.program.threads_seen) if threads is None else threads,
        )
    if here is None and frequency != 1.0:
        raise CommandError("--frequency goes with --here: near times measured there hold its clock")
    if llc is not None or near_time or here is not None:
        workload = elsewhere(
            workload,
            near_device,
            llc_bytes=None if llc is None else parse_size_bytes(llc),
            here=None if here is None else load_near(here),
            frequency_ratio=frequency,
            near_times_ns=parse_near_times(near_time or [], [p.name for p in workload.phases]),
        )
    specs = device_names() if far == ["all"] else list(dict.fromkeys(far))
    fars = [load_device(spec) for spec in specs]
    calibrations = None if calibrated is None else load_calibrations(calibrated)
    joint = None if machine is None else load(machine, MachineProfile)
    page_bytes = None if pages is None else parse_page_bytes(pages)
    prediction = run(
        workload,
        near_device,
        fars,
        model or DEFAULT_MODEL,
        phases=phase,
        host=host,
        page_bytes=page_bytes,
        profile_path=str(profile),
        beside=MODELS.names() if models == ["all"] else models or [],
        machine=joint,
    )
    if stages is not None:
        from nearfar.predict.in_situ import with_pipeline

        prediction = with_pipeline(
            prediction,
            stages,
            workload,
            near_device,
            fars,
            host=host,
            page_bytes=page_bytes,
            machine=joint,
        )
    if calibrations is not None:
        prediction = with_calibrations(prediction, fars, calibrations)
    deliver(
        prediction,
        output,
        json=json,
        quiet=quiet,
        show=lambda console: print_prediction(prediction, console),
    )
