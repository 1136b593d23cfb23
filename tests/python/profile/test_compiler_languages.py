"""Languages other than C and C++ source: LLVM IR, and code that only gcc compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiling import both_run, nearfar, needs_pass, two_sources

from nearfar.profile.compiler.twin import compiler_text


@pytest.mark.parametrize("extension", [".ll", ".bc"])
def test_llvm_ir_is_instrumented(tmp_path: Path, extension: str) -> None:
    needs_pass()
    tree = two_sources(tmp_path)
    form = ["-S"] if extension == ".ll" else ["-c"]
    for name in ("main", "f"):
        words = ["clang-16", "-O1", "-emit-llvm", *form, f"{name}.c", "-o", name + extension]
        subprocess.run(words, cwd=tree, check=True)
    nearfar("cc", "-O2", "-Werror", "-c", f"f{extension}", cwd=tree)
    nearfar("cc", "-O2", f"main{extension}", "f.o", "-o", "p", cwd=tree)
    both_run(tree / "p")
    assert compiler_text(tree / "p") == "clang 16 -O2"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_code_that_only_gcc_compiles_is_told_at_once(tmp_path: Path) -> None:
    needs_pass()
    (tmp_path / "nested.c").write_text(
        "int main(void) { int g(int x) { return x - 1; } return g(1); }\n"
    )
    (tmp_path / "wrong.c").write_text("int main(void) { retun 1; }\n")
    done = nearfar("cc", "-c", "nested.c", cwd=tmp_path, code=1)
    assert "refuses what gcc compiles" in done.stderr
    assert "nearfar try" in done.stderr
    assert "nearfar cc:" not in nearfar("cc", "-c", "wrong.c", cwd=tmp_path, code=1).stderr
