"""The clang to use, and the paths of the pass and the run-time libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

PREFERRED = ("16", "19", "15")
"""LLVM versions that the pass is tested with, the preferred one first."""

RUST_OF_LLVM = {"15": "1.69.0", "16": "1.72.1", "19": "1.86.0"}
"""The last Rust release with each of these versions."""


class MissingError(Exception):
    """A missing tool or built part; its text tells how to get it."""


class Toolchain:
    """The files one compile or link needs."""

    def __init__(self, driver: str, clang: str, major: str, native: str) -> None:
        self.driver = driver
        self.clang = clang
        self.major = major
        self.native = native
        """Folder of the pass and the run-time libraries."""

    @property
    def plugin(self) -> str:
        """Return the path of the pass."""
        return os.path.join(self.native, f"nearfar_pass-{self.major}.so")

    @property
    def runtime(self) -> str:
        """Return the path of the run-time library of instrumented programs."""
        return self._library("libnearfar_profile.so")

    @property
    def marks(self) -> str:
        """Return the path of the library of plain programs, which only has the marks."""
        return self._library("libnearfar_mark.so")

    @property
    def allocators(self) -> str:
        """Return the path of the archive of wrapped entry points of allocators."""
        return os.path.join(self.native, "libnearfar_allocators.a")

    @property
    def archiver(self) -> str:
        """Return the path of an `ar` that indexes all output of this clang, bitcode too."""
        neighbour = os.path.join(os.path.dirname(os.path.realpath(self.clang)), "llvm-ar")
        return neighbour if os.access(neighbour, os.X_OK) else which("ar") or "ar"

    def _library(self, name: str) -> str:
        path = os.path.join(self.native, name)
        if not os.path.exists(path):
            raise MissingError(f"{name} was not built (looked in {self.native}); run `make setup`")
        return path


def find_toolchain(driver: str, environment: Mapping[str, str]) -> Toolchain:
    """Find clang and the pass for it; `NEARFAR_CLANG` and `NEARFAR_NATIVE` override."""
    native = native_folder(environment)
    chosen = environment.get("NEARFAR_CLANG")
    if chosen:
        clang = which(chosen)
        if clang is None:
            raise MissingError(f"NEARFAR_CLANG={chosen} is not a program that can be run")
        major = _major_of(clang)
        if not os.path.exists(os.path.join(native, f"nearfar_pass-{major}.so")):
            raise MissingError(
                f"NEARFAR_CLANG={chosen} is clang {major}, and the pass was not built for it "
                f"(in {native}); install llvm-{major}-dev and run `make setup`, or use clang "
                f"{' or '.join(PREFERRED)}"
            )
        return Toolchain(driver, _for_language(clang, driver), major, native)
    for major in PREFERRED:
        if os.path.exists(os.path.join(native, f"nearfar_pass-{major}.so")):
            clang = which(f"clang-{major}")
            if clang is not None:
                return Toolchain(driver, _for_language(clang, driver), major, native)
    raise MissingError(
        f"no clang with its pass was found (passes are looked for in {native}): install "
        f"clang-{PREFERRED[0]} and llvm-{PREFERRED[0]}-dev, then run `make setup`"
    )


def find_reader(llvm: str, environment: Mapping[str, str]) -> Toolchain:
    """Find the oldest clang with its pass that reads the bitcode of LLVM version `llvm`."""
    native = native_folder(environment)
    for major in sorted(PREFERRED, key=int):
        plugin = os.path.join(native, f"nearfar_pass-{major}.so")
        clang = which(f"clang-{major}")
        if int(major) >= int(llvm) and clang is not None and os.path.exists(plugin):
            return Toolchain("cc", clang, major, native)
    tested = [major for major in PREFERRED if int(major) >= int(llvm)]
    raise MissingError(
        f"the pass was not built for LLVM {llvm} or newer: "
        + (
            f"install clang-{tested[0]} and llvm-{tested[0]}-dev, then run `make setup`"
            if tested
            else f"nearfar knows LLVM up to {max(PREFERRED, key=int)}, so take an older toolchain "
            f"(`rustup toolchain install {RUST_OF_LLVM[PREFERRED[0]]}`, then `nearfar cargo "
            f"+{RUST_OF_LLVM[PREFERRED[0]]} build`)"
        )
    )


def native_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of the built parts: `nearfar.native_files` without its imports."""
    if override := environment.get("NEARFAR_NATIVE"):
        return override
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # An editable install has its libraries in site-packages.
    folders = [os.path.join(root, "lib") for root in (package, *_installed_packages())]
    return next((folder for folder in folders if os.path.isdir(folder)), folders[0])


def _installed_packages() -> list[str]:
    return [os.path.join(folder, "nearfar") for folder in sys.path]


def which(name: str) -> str | None:
    """Return the program's path, as the shell would find it."""
    if os.sep in name:
        return name if os.access(name, os.X_OK) else None
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


def _for_language(clang: str, driver: str) -> str:
    """Return the C++ driver next to `clang`, if `driver` is "c++"."""
    if driver != "c++":
        return clang
    folder, name = os.path.split(clang)
    if "++" in name:
        return clang
    neighbour = os.path.join(folder, name.replace("clang", "clang++", 1))
    if os.access(neighbour, os.X_OK):
        return neighbour
    raise MissingError(
        f"{clang} has no C++ driver next to it ({neighbour}); install clang's C++ driver"
    )


def _major_of(clang: str) -> str:
    """Return clang's major version, from its name or from `clang --version`."""
    for path in (clang, os.path.realpath(clang)):
        for part in path.split(os.sep)[::-1]:
            digits = part.rpartition("-")[2]
            if part.startswith(("clang", "llvm")) and digits.isdigit():
                return digits
    with os.popen(f"'{clang}' --version") as answer:
        words = answer.read().split()
    version = words[words.index("version") + 1] if "version" in words else ""
    return version.partition(".")[0]
