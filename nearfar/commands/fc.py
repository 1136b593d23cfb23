"""The verb `fc`: only its help; `nearfar.__main__` runs it without loading the rest."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def fc(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Compile Fortran as flang does, instrumented, with the plain build kept inside.

    ``FC="nearfar fc" ./configure && make``. Options as `nearfar cc --help` says;
    NEARFAR_FLANG=PATH is the flang to use. Allocatables and common blocks are objects by name.

    Parameters
    ----------
    arguments
        The compiler's arguments.
    """
    from nearfar.profile.compiler import main

    return int(main("fc", list(arguments)))
