"""LLVM IR, code that only gcc compiles, Fortran, and variables as objects."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiling import (
    LANGUAGES,
    both_run,
    compiled,
    nearfar,
    needs_pass,
    traced,
    two_sources,
)

from nearfar.documents import WorkloadProfile
from nearfar.native_files import native_folder
from nearfar.profile.compiler.twin import compiler_text

pytestmark = pytest.mark.timing

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.a"
PREFIXED = "libje.a"


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


def shares_of(profile: WorkloadProfile) -> dict[str, float]:
    """Return each object's share of the misses."""
    misses: dict[str, float] = {}
    for phase in profile.phases:
        for row in phase.objects:
            name = profile.objects[row.object].name
            misses[name] = misses.get(name, 0.0) + row.traffic.misses()
    return {name: count / sum(misses.values()) for name, count in misses.items()}


def test_large_variables_are_objects(tmp_path: Path) -> None:
    profile = traced(compiled("grids.c", tmp_path), tmp_path, options=["--llc", "1MiB"])
    shares = shares_of(profile)
    assert shares["grid grids.c:5"] > 0.5
    assert shares["grid grids.c:5"] + shares["other_grid grids.c:6"] > 0.95
    sizes = {memory.name: memory.size_bytes for memory in profile.objects}
    assert sizes["grid grids.c:5"] == 8 << 20
    assert sizes["other_grid grids.c:6"] == 4 << 20
    assert sizes["globals"] < 1 << 20


@pytest.mark.parametrize("major", ["16", "19"])
def test_fortran_allocatables_and_common_blocks_are_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, major: str
) -> None:
    needs_pass()
    built = (native_folder() / f"nearfar_pass-{major}.so").exists()
    if not built or shutil.which(f"flang-new-{major}") is None:
        pytest.skip(f"needs flang-{major}, clang-{major} and llvm-{major}-dev")
    monkeypatch.setenv("NEARFAR_FLANG", f"flang-new-{major}")
    shutil.copy(LANGUAGES / "cg.f90", tmp_path)
    nearfar("fc", "-O2", "-c", "cg.f90", cwd=tmp_path)
    nearfar("fc", "cg.o", "-o", "cg", cwd=tmp_path)
    assert compiler_text(tmp_path / "cg") == f"flang {major} -O2"
    both_run(tmp_path / "cg", " 1.99609375\n")
    profile = traced(tmp_path / "cg", tmp_path, options=["--llc", "2MiB"])
    shares = shares_of(profile)
    matrix = [f"sparse::make_matrix, sparse::{name}" for name in ("values", "columns", "rows")]
    assert {*matrix, "/vectors/"} <= set(shares)
    assert sum(shares[name] for name in (*matrix, "/vectors/", "main, work")) > 0.95
    assert any("flang's run-time library" in warning for warning in profile.warnings)


ALLOCATORS = {
    "jemalloc, shared": ["-ljemalloc"],
    "jemalloc, static": [JEMALLOC, "-lm", "-lpthread", "-ldl"],
    "jemalloc, its own interface": ["-DMALLOCX", JEMALLOC, "-lm", "-lpthread", "-ldl"],
    "under a prefix": ["-DPREFIXED", PREFIXED],
}


@pytest.mark.skipif(not Path(JEMALLOC).exists(), reason="libjemalloc-dev is not installed")
@pytest.mark.parametrize("which", ALLOCATORS)
def test_blocks_of_linked_allocators_are_objects(tmp_path: Path, which: str) -> None:
    needs_pass()
    _prefixed_jemalloc(tmp_path)
    source, program = LANGUAGES / "blocks.cpp", tmp_path / "blocks"
    nearfar("c++", "-g", "-O2", source, *ALLOCATORS[which], "-o", program, cwd=tmp_path)
    profile = traced(program, tmp_path, options=["--llc", "2MiB"])
    shares = shares_of(profile)
    named = sum(share for name, share in shares.items() if "blocks.cpp:" in name)
    assert named >= 0.95, shares
    assert len([name for name, share in shares.items() if share > 0.02]) >= 4, shares
    assert not any("hides its allocations" in text for text in profile.warnings)


def _prefixed_jemalloc(folder: Path) -> None:
    """Make an archive whose entry points have the prefix je_, as programs bundle it."""
    names = subprocess.run(
        ["nm", "--defined-only", JEMALLOC], capture_output=True, text=True, check=True
    ).stdout
    public = "malloc calloc realloc free posix_memalign aligned_alloc memalign valloc "
    public += "malloc_usable_size mallocx rallocx sdallocx dallocx nallocx"
    renamed = [name for name in public.split() if f" T {name}\n" in names]
    words = [f"--redefine-sym={name}=je_{name}" for name in renamed]
    subprocess.run(["objcopy", *words, JEMALLOC, folder / PREFIXED], check=True)
    members = ["jemalloc_cpp.o"]  # the operators stay the C++ library's
    subprocess.run(["ar", "d", folder / PREFIXED, *members], check=True)
