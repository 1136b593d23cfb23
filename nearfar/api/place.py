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

    from nearfar.documents import WorkloadProfile, loaded
    from nearfar.place.api import place as choose
    from nearfar.run.own_cost import run_cost

    plan = choose(options)
    if not options.details:
        return plan
    times = {bar.name: bar.time_ns.value for bar in plan.alternatives}
    # A plan without a bar of its own is the best of those that place objects.
    named = ("per-phase", "plan") if plan.phases else ("plan",)
    own = next((times[name] for name in named if name in times), None)
    if own is None:
        own = min(
            (times[name] for name in ("optimal", "greedy", "hot-first") if name in times),
            default=None,
        )
    if own is None or "all-far" not in times or "kernel" in times:
        return plan
    profiles = [loaded(profile, WorkloadProfile) for profile in options.profile]
    return replace(plan, run_cost=run_cost(plan, profiles, times["all-far"] - own))
