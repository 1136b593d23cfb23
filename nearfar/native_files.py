"""Where the built native parts are: the compiler pass, the run-time libraries, the headers."""

from __future__ import annotations

import os
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from nearfar.base.errors import ExitCode, NearfarError


def native_folder(package: str = "nearfar") -> Path:
    """Return the folder that holds the built libraries of `package`, nearfar or a companion.

    `NEARFAR_NATIVE` overrides nearfar's, for a build tree that is not installed.
    """
    if package == "nearfar" and (override := os.environ.get("NEARFAR_NATIVE")):
        return Path(override)
    spec = find_spec(package)
    beside = Path(spec.origin).parent / "lib" if spec and spec.origin else Path(package) / "lib"
    # An editable install keeps sources in the tree and libraries in site-packages.
    installed = Path(sysconfig.get_path("platlib")) / package / "lib"
    return beside if beside.is_dir() else installed


def include_folder() -> Path:
    """Return the folder that holds `nearfar/mark.h`."""
    installed = native_folder().parent / "include"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "include"


def native_file(name: str, package: str = "nearfar") -> Path:
    """Return the built file `name` of `package`, or say how to build it."""
    path = native_folder(package) / name
    if not path.exists():
        raise NearfarError(
            f"{name} is not built (expected in {path.parent}): run `make setup`; `make demo` "
            "builds less, and the compiler pass needs clang and LLVM's development files",
            ExitCode.MACHINE_LACKS,
        )
    return path
