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
