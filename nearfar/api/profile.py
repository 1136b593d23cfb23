"""The API function `profile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.profile import ProfileOptions

if TYPE_CHECKING:
    from nearfar.documents import WorkloadProfile


@api_function(ProfileOptions)
def profile(options: ProfileOptions) -> WorkloadProfile:
    """Run a program and return where it touches memory; the profile is also saved to `output`.

    Raise NearfarError if the program failed: what was gathered until then is in `output`.
    """
    from nearfar.profile.api import profile as run
    from nearfar.profile.api import refuse_failure

    result, failure = run(options)
    refuse_failure(options, failure)
    return result
