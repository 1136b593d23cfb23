"""`nearfar cc` and `nearfar c++`: clang with the nearfar pass, twice.

Each compile makes an instrumented object that holds its *plain twin*, the object the same command
makes without nearfar, in a section that linkers leave out. Each link makes the instrumented
program and, from the twins, the plain one, and puts the second inside the first. So one build
gives both programs, wherever `make install`, archives or libtool carry the files; `nearfar profile`
takes near time from the plain one.

A build calls this hundreds of times: nothing but the standard library's lightest modules is
imported here (no subprocess, no pathlib, no re).
"""

from __future__ import annotations

import os
import sys

from nearfar.profile.compiler.commandline import UsageError, parse
from nearfar.profile.compiler.driver import drive
from nearfar.profile.compiler.toolchain import MissingError, find_toolchain


def main(driver: str, arguments: list[str]) -> int:
    """Run `driver`, "cc", "c++", "fc", "cargo" or a rustc; return its exit code."""
    where = f"nearfar {driver.rpartition('/')[2]}"
    try:
        if driver == "fc":
            from nearfar.profile.compiler.fortran import fc  # noqa: PLC0415 (as below)

            return fc(arguments)
        if driver not in ("cc", "c++"):
            from nearfar.profile.compiler import rust  # noqa: PLC0415 (subprocess is slow)

            return rust.cargo(arguments) if driver == "cargo" else rust.rustc(driver, arguments)
        command = parse(arguments, os.environ)
        toolchain = find_toolchain(driver, os.environ)
        return drive(command, toolchain)
    except UsageError as error:
        print(f"{where}: {error}", file=sys.stderr)
        return 2
    except MissingError as error:
        print(f"{where}: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        what = f"cannot use {error.filename}" if error.filename else "a system call failed"
        print(f"{where}: {what}: {error.strerror}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130


def cc() -> int:
    """Run as the program `nearfar-cc`, for build systems that want one executable."""
    return main("cc", sys.argv[1:])


def cxx() -> int:
    """Run as the program `nearfar-c++`."""
    return main("c++", sys.argv[1:])
