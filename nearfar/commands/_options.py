"""Options that several verbs share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
