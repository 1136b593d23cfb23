"""The verb `c++`: only its help; `nearfar.__main__` runs the compiler without loading the rest."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def cxx(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Compile C++ as clang++ does; options as `nearfar cc --help` says. Also: nearfar-c++.

    Parameters
    ----------
    arguments
        The compiler's arguments.
    """
    from nearfar.profile.compiler import main

    return int(main("c++", list(arguments)))
