"""Process whose pages go to swap, in a control group of its own; it answers lines of JSON.

It is a separate process, so that the memory limit applies to nothing else.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import numpy as np

from nearfar import _measure

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
_MCL_CURRENT, _MCL_ONFAULT = 1, 4
"""Flags of mlockall(2)."""


class RegionServer:
    """The region, and the requests that it answers."""

    def __init__(self) -> None:
        self._region: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request and return the result."""
        action = request.pop("do")
        if action == "make":
            self._region = None  # first, so that there are never two
            self._region = _measure.PagedRegion(request["size_bytes"], request["huge"])
            self._region.fill(request["data"], request["seed"])
            return {"work": self._region.compression_work()}
        if action == "resident":
            return {"pages": self._region.resident()}
        if action == "evict":
            return _spent(self._region.evict())
        if action == "touch again":
            spent, major = self._region.touch_again(
                request["cpu"], request["count"], request["seed"]
            )
            return _spent(spent) | {"major": major}
        spent, each_ns, major = self._region.touch(
            request["cpus"], request["write"], request["in_order"], request["seed"]
        )
        whole = each_ns[~np.isnan(each_ns)]
        tails = np.percentile(whole, PERCENTILES).tolist() if whole.size else []
        return _spent(spent) | {"major": major, "tails_ns": tails}


def _spent(spent: Any) -> dict[str, Any]:
    return {"wall_ns": spent.wall_ns, "cpu_ns": spent.cpu_ns, "pages": spent.pages}


def main() -> None:
    """Answer until the other side closes the pipe.

    The process's own pages are locked, so that they take no room of the region's: at a limit of a
    few MiB the kernel kills a process whose own pages come and go. Where that is not permitted,
    they are not.
    """
    server = RegionServer()
    ctypes.CDLL(None).mlockall(_MCL_CURRENT | _MCL_ONFAULT)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(server.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
