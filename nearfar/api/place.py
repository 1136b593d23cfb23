"""The API function `place`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.place import PlaceOptions

if TYPE_CHECKING:
    from nearfar.documents import Plan


@api_function(PlaceOptions)
def place(options: PlaceOptions) -> Plan:
    """Choose which objects must stay in near memory for a budget of it."""
    from msgspec.structs import replace

    from nearfar.base.errors import CommandError
    from nearfar.place.api import placed
    from nearfar.predict.total import TOTAL
    from nearfar.run.own_cost import run_cost

    plan, workload, saved_ns = placed(options)
    unknown = workload is not None and workload.uncounted_share >= 1.0
    if workload is not None and unknown and not any(phase.objects for phase in workload.phases):
        raise CommandError(
            "no access of the program was observed, so it is unknown which of its data should "
            "stay near: profile a build by nearfar cc, or a shorter run"
        )
    # Blocks are counted over the whole run: their cost is not comparable to a phase's saving.
    if not options.details or options.phase != TOTAL or workload is None:
        return plan
    return replace(plan, run_cost=run_cost(plan, workload, len(options.profile), saved_ns))
