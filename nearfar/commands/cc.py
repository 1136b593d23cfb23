"""The verb `cc`: only its help; `nearfar.__main__` runs the compiler without loading the rest."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def cc(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Compile C as clang does, instrumented, with the plain build kept inside.

    Drop-in: ``CC="nearfar cc" ./configure && make``; ``nearfar-cc`` is the same as one word, for
    CMake. All of clang's options pass through; these are nearfar's own:

    ``--nearfar-rate=N`` (or NEARFAR_RATE=N): trace one cache line in N, a power of two; 64 by
    default, 1 traces all.

    ``--nearfar-no-plain`` (or NEARFAR_PLAIN=0): do not build the plain twin; `nearfar profile`
    then needs --plain.

    NEARFAR_CLANG=PATH: the clang to use, of a version the pass was built for.

    Parameters
    ----------
    arguments
        The compiler's arguments.
    """
    from nearfar.profile.compiler import main

    return int(main("cc", list(arguments)))
