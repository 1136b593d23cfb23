"""The API functions `measure` and `measure_kernel`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.api._call import api_function
from nearfar.base.errors import CommandError
from nearfar.options.measure import KernelOptions, MeasureOptions

if TYPE_CHECKING:
    from nearfar.documents import DeviceProfile
    from nearfar.measure.measure import Measurement
    from nearfar.measure.settings import Progress
    from nearfar.samples.point import Sample, SamplePoint

    Watching = Callable[
        [float | None],
        AbstractContextManager[tuple[Progress, Callable[[SamplePoint, Sample], None]]],
    ]
    """Shows progress and samples; called with the seconds that the work may take."""


@api_function(MeasureOptions)
def measure(options: MeasureOptions) -> DeviceProfile:
    """Measure how a memory behaves; write profile, samples and pictures where options name them."""
    return run_measurement(options)


@api_function(KernelOptions)
def measure_kernel(options: KernelOptions) -> dict[str, Any]:
    """Measure one kernel alone: ns per access or GB/s with an interval, by page size."""
    from nearfar.measure.one_kernel import measure_kernel as run

    return run(options)


def run_measurement(options: MeasureOptions, watching: Watching | None = None) -> DeviceProfile:
    """Run a whole measurement and write the named files; `watching` shows progress."""
    from nearfar.base.files import check_writable
    from nearfar.documents import save
    from nearfar.measure.measure import run, seconds_given
    from nearfar.measure.settings import ignore, no_progress, samples_path

    if options.resume and (options.output is None or not options.samples):
        raise CommandError(
            "--resume continues with the samples stored next to the profile: give -o, and leave "
            "out --no-samples"
        )
    samples = samples_path(options)
    for path in (options.output, samples):
        if path is not None:
            check_writable(path)
    _check_plot(options.plot)
    silent = nullcontext((no_progress, ignore))
    shown = silent if watching is None else watching(seconds_given(options))
    with shown as (progress, seen):
        measured = run(options, progress, seen)
        progress("writing", 1.0)
        # A measurement takes minutes, so it is saved before drawing, which may fail.
        if samples is not None:
            _write_samples(measured, samples)
        if options.output is not None:
            save(measured.device, options.output)
        if options.plot is not None:
            _draw(measured, options.plot)
        measured.discard_store()
    return measured.device


def _write_samples(measured: Measurement, path: Path) -> None:
    """Write the samples as Parquet, and record the file's name in the profile."""
    import msgspec

    from nearfar.samples.parquet import write_parquet

    store, figures = measured.store, measured.device.measured
    if store is None or figures is None:
        return
    write_parquet(path, store.header, store.records(), measured.evidence)
    measured.device.measured = msgspec.structs.replace(figures, samples_file=path.name)


def _check_plot(path: Path | None) -> None:
    """Refuse a path of a picture that cannot be written, before the measurement."""
    if path is None:
        return
    from nearfar.base.files import check_writable
    from nearfar.plots import check_ending

    if path.suffix and not path.is_dir():
        check_ending(path)
    # A missing folder is created when pictures are drawn, so its parent must exist.
    check_writable(path / "latency.png" if path.is_dir() else path)


def _draw(measured: Measurement, path: Path) -> None:
    """Draw all data to a file or, if `path` is a folder, one picture for each kind of data."""
    from nearfar.plots import PICTURES, Drawing, panels_of, plot_drawing

    records = list(measured.store.records()) if measured.store is not None else []
    drawing = Drawing(measured.device, records, measured.evidence)
    if path.suffix and not path.is_dir():
        plot_drawing(drawing, path)
        return
    path.mkdir(exist_ok=True)
    for kind in PICTURES.names():
        if panels_of(drawing, [kind]):
            plot_drawing(drawing, path / f"{kind}.png", [kind])
