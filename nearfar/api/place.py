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
    from nearfar.place.api import place as run

    return run(options)
