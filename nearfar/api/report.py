"""The API functions `report` and `report_page`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.options.report import ReportOptions

if TYPE_CHECKING:
    from nearfar.report.data import ReportData


@api_function(ReportOptions)
def report(options: ReportOptions) -> ReportData:
    """Compute what the report shows: slowdowns, budgets, objects, source lines."""
    from nearfar.report.api import report as run

    return run(options)


def report_page(data: ReportData) -> str:
    """Return a report as one HTML page that opens offline."""
    from nearfar.report.render import render

    return render(data)
