"""The verb `cargo`: only its help; `nearfar.__main__` runs it without loading the rest."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter


def cargo(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Build Rust as cargo does, instrumented, with the plain build kept inside.

    ``nearfar cargo build --release``: the programs are then in target/nearfar. C and C++ in crates
    is built by `nearfar cc`. Also: RUSTC_WRAPPER=nearfar, with a CARGO_TARGET_DIR of its own.

    rustc must use the LLVM version of a clang that the pass was built for; otherwise cargo builds
    as usual, without instrumentation, which is enough for `nearfar try`.

    Parameters
    ----------
    arguments
        cargo's arguments, such as ``+1.72.1 build --release``.
    """
    from nearfar.profile.compiler import main

    return int(main("cargo", list(arguments)))
