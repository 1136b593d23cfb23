"""The verb `place`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.commands._verb import verb
from nearfar.options.place import ExportOptions, PlaceOptions

if TYPE_CHECKING:
    from nearfar.documents import Plan


@verb(PlaceOptions, ExportOptions)
def place(options: PlaceOptions, delivery: ExportOptions) -> None:
    """Choose which objects must stay in near memory for a budget of it."""
    from nearfar import api
    from nearfar.commands._deliver import check_output, deliver_document
    from nearfar.documents import save
    from nearfar.place.exports import EXPORTS, is_plan
    from nearfar.place.table import print_plan

    check_output(delivery.output)
    if delivery.export is None:
        deliver_document(api.place(options), delivery, print_plan)
        return
    export = EXPORTS.get(delivery.export)
    first = options.profile[0]
    if len(options.profile) == 1 and isinstance(first, Path) and is_plan(first):
        plan = _earlier_plan(first, options)
    else:
        plan = api.place(options)
    text = export(plan)
    if delivery.output is not None:
        save(plan, delivery.output)
    if not delivery.quiet:
        print(text, end="")


def _earlier_plan(path: Path, options: PlaceOptions) -> Plan:
    """Return the saved plan at `path`; refuse all options except --map."""
    from nearfar.commands._ignored import refuse_unused
    from nearfar.documents import Plan, load
    from nearfar.place.exports import mapped

    refuse_unused(
        str(path), options.given(), ["--map"], "is a plan already, and is printed as it is"
    )
    return mapped(load(path, Plan), list(options.map))
