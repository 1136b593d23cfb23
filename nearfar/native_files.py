"""Where the built native parts are: the compiler pass, the run-time libraries, the headers."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError


def native_folder() -> Path:
    """Return the folder the build installed its libraries into.

    `NEARFAR_NATIVE` overrides it, for a build tree that is not installed.
    """
    if override := os.environ.get("NEARFAR_NATIVE"):
        return Path(override)
    beside = Path(__file__).parent / "lib"
    # An editable install keeps sources in the tree and libraries in site-packages.
    installed = Path(sysconfig.get_path("platlib")) / "nearfar" / "lib"
    return beside if beside.is_dir() else installed


def include_folder() -> Path:
    """Return the folder that holds `nearfar/mark.h`."""
    installed = native_folder().parent / "include"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "include"


def native_file(name: str) -> Path:
    """Return the built file `name`, or say how to build it."""
    path = native_folder() / name
    if not path.exists():
        raise NearfarError(
            f"{name} was not built (looked in {path.parent}); the compiler pass needs clang and "
            "llvm development files when nearfar is installed: run `make setup`",
            ExitCode.MACHINE_LACKS,
        )
    return path
