"""The API function `validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.validate import ValidateOptions

if TYPE_CHECKING:
    from nearfar.documents import PagedValidation, ValidationReport


@api_function(ValidateOptions)
def validate(options: ValidateOptions) -> ValidationReport | PagedValidation:
    """Predict kernels and programs for a slower memory of this machine, then measure them there."""
    from nearfar.validate.api import validate as run

    if options.paged:
        from nearfar.base.errors import CommandError
        from nearfar.measure.settings import no_progress
        from nearfar.validate.paged import validate_paged

        if not options.yes:
            raise CommandError(f"--far {options.far} changes this machine's swap: set yes")
        return validate_paged(options, no_progress)
    return run(options)[0]
