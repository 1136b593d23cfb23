"""The API functions `report` and `report_page`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.api._documents import devices, loaded, near_device
from nearfar.options.report import ReportOptions

if TYPE_CHECKING:
    from nearfar.report.data import ReportData


@api_function(ReportOptions)
def report(options: ReportOptions) -> ReportData:
    """Compute what the report shows: slowdowns, budgets, objects, source lines."""
    from nearfar.documents import Plan, Prediction, WorkloadProfile
    from nearfar.predict.inputs import load_inputs
    from nearfar.report.api import report as run

    against = None
    if options.against is not None:
        other = loaded(options.against, Prediction)
        path = options.against if isinstance(options.against, Path) else Path()
        against = (other, load_inputs(other, path.parent))
    return run(
        loaded(options.profile, WorkloadProfile),
        near_device(options.near),
        devices(options.far),
        beside=devices(options.device),
        plans=[
            (plan.name if isinstance(plan, Path) else f"plan {number}", loaded(plan, Plan))
            for number, plan in enumerate(options.plan, 1)
        ],
        budget=options.budget,
        phase=options.phase,
        host=options.host,
        source_folders=list(options.sources),
        against=against,
    )


def report_page(data: ReportData) -> str:
    """Return a report as one HTML page that opens offline."""
    from nearfar.report.render import render

    return render(data)
