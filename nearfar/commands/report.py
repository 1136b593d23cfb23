"""The verb `report`."""

from __future__ import annotations

from nearfar.commands._verb import verb
from nearfar.options.report import PageOptions, ReportOptions


@verb(ReportOptions, PageOptions)
def report(options: ReportOptions, delivery: PageOptions) -> None:
    """Show what a profiled program needs near, as one HTML page that opens offline.

    Slowdown on each far memory, which objects must stay near for each budget and what that
    saves, the source lines that cost most. With --json the same numbers go to standard output.
    """
    from nearfar import api
    from nearfar.base.files import write_atomically
    from nearfar.commands._deliver import check_output
    from nearfar.report.answer import opening_sentences
    from nearfar.report.render import to_json

    check_output(delivery.output)
    data = api.report(options)
    if delivery.output is not None:
        write_atomically(delivery.output, api.report_page(data))
    if delivery.quiet:
        return
    if delivery.json:
        print(to_json(data).decode())
        return
    print("\n".join(opening_sentences(data)))
    print(f"wrote {delivery.output}: open it in a browser")
