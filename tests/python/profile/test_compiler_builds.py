"""The compiler drivers in build systems: make, cmake, ccache, configure; every clang."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import ROOT, both_run, nearfar, run, two_sources

from nearfar.native_files import native_folder
from nearfar.profile.compiler.twin import compiler_text, is_instrumented


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return two_sources(tmp_path)


@pytest.fixture
def drivers(tmp_path: Path) -> dict[str, str]:
    """Write `nearfar-cc` and `nearfar-c++` as installed; return their paths."""
    folder = tmp_path / "installed"
    folder.mkdir()
    for name, function in (("nearfar-cc", "cc"), ("nearfar-c++", "cxx")):
        script = folder / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            f"from nearfar.profile.compiler import {function}\nsys.exit({function}())\n"
        )
        script.chmod(0o755)
    return {"cc": str(folder / "nearfar-cc"), "c++": str(folder / "nearfar-c++")}


def test_make(tree: Path, drivers: dict[str, str]) -> None:
    (tree / "Makefile").write_text(
        "CFLAGS = -O2 -g\np: main.o libf.a\n\t$(CC) $(LDFLAGS) main.o -L. -lf -o $@\n"
        "libf.a: f.o\n\t$(AR) rcs $@ $^\n%.o: %.c\n\t$(CC) $(CFLAGS) -MMD -c $< -o $@\n"
        "install: p\n\tinstall -D p $(DESTDIR)/bin/p\n-include *.d\n"
    )
    for compiler in (drivers["cc"], f"{sys.executable} -m nearfar cc"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            ["make", "-s", "-j2", f"CC={compiler}", "install", "DESTDIR=out"],
            cwd=tree,
            check=True,
            env=environment,
        )
        both_run(tree / "out/bin/p")
        shutil.rmtree(tree / "out")
        for name in ("p", "main.o", "f.o", "libf.a"):
            (tree / name).unlink()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake(tree: Path, drivers: dict[str, str]) -> None:
    (tree / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C CXX)\n"
        "find_package(Threads REQUIRED)\nadd_library(f STATIC f.c)\nadd_library(g SHARED g.cpp)\n"
        "add_executable(p main.c)\ntarget_link_libraries(p f g Threads::Threads)\n"
    )
    (tree / "g.cpp").write_text(
        '#include <vector>\nextern "C" int g(int n) { return std::vector<int>(n, 1).back(); }\n'
    )
    subprocess.run(
        [
            *("cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DCMAKE_C_COMPILER={drivers['cc']}", f"-DCMAKE_CXX_COMPILER={drivers['c++']}"),
        ],
        cwd=tree,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(["cmake", "--build", "build"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    both_run(tree / "build/p")
    assert is_instrumented(tree / "build/libg.so")


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_ccache(tree: Path, drivers: dict[str, str]) -> None:
    environment = {**os.environ, "CCACHE_DIR": str(tree / "cache")}
    objects = []
    for _ in range(2):
        subprocess.run(
            ["ccache", drivers["cc"], "-O2", "-c", "f.c", "-o", "f.o"],
            cwd=tree,
            check=True,
            env=environment,
        )
        objects.append((tree / "f.o").read_bytes())
        (tree / "f.o").unlink()
    assert objects[0] == objects[1]
    statistics = subprocess.run(
        ["ccache", "--print-stats"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    hits = [line.split()[1] for line in statistics.splitlines() if line.endswith("_hit\t1")]
    assert hits or "direct_cache_hit\t1" in statistics, statistics
    (tree / "f.o").write_bytes(objects[1])
    nearfar("cc", "main.c", "f.o", "-o", "p", cwd=tree)
    both_run(tree / "p")


def test_probes_of_configure_scripts(tree: Path) -> None:
    """Configure scripts probe compiling, linking, running, and missing functions."""
    (tree / "conftest.c").write_text("int main(void) { return 0; }\n")
    nearfar("cc", "-o", "conftest", "-g", "-O2", "conftest.c", cwd=tree)
    assert run(tree / "conftest") == (0, "")
    (tree / "conftest.c").write_text(
        "char no_such_function();\nint main() { return no_such_function(); }"
    )
    nearfar("cc", "-o", "conftest2", "conftest.c", cwd=tree, code=1)
    (tree / "conftest.c").write_text("#include <no_such_header.h>\n")
    nearfar("cc", "-E", "conftest.c", cwd=tree, code=1)
    (tree / "conftest.c").write_text("int main(void) { return 0; }\n")
    nearfar("cc", "-Werror", "-Wall", "-Wextra", "-c", "conftest.c", cwd=tree)
    nearfar("cc", "-c", "conftest.c", "-o", "/dev/null", cwd=tree)


@pytest.mark.parametrize("major", ["16", "19"])
def test_every_clang_that_the_pass_was_built_for(tree: Path, major: str) -> None:
    clang = shutil.which(f"clang-{major}")
    if clang is None or not (native_folder() / f"nearfar_pass-{major}.so").exists():
        pytest.skip(f"clang {major} or its pass is not here")
    nearfar("cc", "-O2", "main.c", "f.c", "-o", "p", cwd=tree, env={"NEARFAR_CLANG": clang})
    both_run(tree / "p")
    assert f"clang {major}" in compiler_text(tree / "p")
