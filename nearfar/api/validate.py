"""The API function `validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.validate import ValidateOptions

if TYPE_CHECKING:
    from nearfar.documents import ValidationReport
    from nearfar.measure.settings import Progress


@api_function(ValidateOptions)
def validate(options: ValidateOptions) -> ValidationReport:
    """Predict kernels and programs for a slower memory of this machine, then measure them there."""
    return run_validation(options)[0]


def run_validation(
    options: ValidateOptions, progress: Progress | None = None
) -> tuple[ValidationReport, list[str]]:
    """Return the report, and slower memories of this machine that were not used."""
    from nearfar.base.units import parse_size_bytes
    from nearfar.measure.settings import no_progress
    from nearfar.validate import api
    from nearfar.validate.store import default_store

    if options.pool:
        return api.pool(list(options.pool), again=options.again), []
    return api.validate(
        options.near,
        options.far,
        kernels=[word.strip() for word in options.only.split(",")] if options.only else (),
        programs=options.programs(),
        quick=options.quick,
        region_bytes=parse_size_bytes(options.size) if options.size else 0,
        rounds=options.rounds or 0,
        cores=options.cores,
        keep_in=(options.store or default_store()) if options.learn else None,
        progress=progress or no_progress,
    )
