"""The API function `validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.validate import ValidateOptions

if TYPE_CHECKING:
    from nearfar.documents import ValidationReport


@api_function(ValidateOptions)
def validate(options: ValidateOptions) -> ValidationReport:
    """Predict kernels and programs for a slower memory of this machine, then measure them there."""
    from nearfar.validate.api import validate as run

    return run(options)[0]
