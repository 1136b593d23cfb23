"""Options that several verbs share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

JsonOption = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON on standard output.")
]
QuietOption = Annotated[
    bool, Parameter(name=["--quiet", "-q"], negative="", help="Print nothing but errors.")
]
OutputOption = Annotated[
    Path | None, Parameter(name=["--output", "-o"], help="File to write the document to.")
]
HostOption = Annotated[
    Literal["added", "published", "ratio"],
    Parameter(
        help="How a latency published on another machine is taken to this one. added: near "
        "latency here and what the memory adds to local DRAM there; that is the memory's and its "
        "link's, the rest is this machine's. ratio: near latency here times far over local DRAM "
        "there. published: as it is. The interval spans all three; what was measured here stays "
        "as it is."
    ),
]
ProfileArgument = Annotated[Path, Parameter(help="What `nearfar profile` wrote.")]
NearOption = Annotated[
    str,
    Parameter(
        help="The memory the program was profiled in: a file of `nearfar measure`, or a library "
        "device."
    ),
]
FarsOption = Annotated[
    list[str],
    Parameter(
        negative="",
        help="A library device (`nearfar device list`) or a device file; repeat for several, "
        "``all`` for the whole library.",
    ),
]
PagesOption = Annotated[
    str | None,
    Parameter(
        help="Size of the program's pages: 4KiB, 2MiB. Default: what programs get where near was "
        "measured, 2 MiB only where transparent huge pages are given to all."
    ),
]
