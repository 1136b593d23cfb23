"""Rust: rustc alone, cargo with crates that run in the build, and a rustc that is too new."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from compiling import LANGUAGES, both_run, nearfar, needs_pass, traced

from nearfar.profile.compiler.rust import RustCompiler
from nearfar.profile.compiler.twin import compiler_text, notes

pytestmark = pytest.mark.timing


@pytest.fixture(scope="module")
def rustc() -> str:
    """Return a rustc whose bitcode the clang here reads."""
    needs_pass()
    home = Path(os.environ.get("RUSTUP_HOME", Path.home() / ".rustup"))
    candidates = [*map(str, sorted(home.glob("toolchains/*/bin/rustc"))), "/usr/bin/rustc"]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and not RustCompiler([candidate]).why_not():
            return candidate
    pytest.skip("no rustc is installed whose LLVM is as old as the pass (Debian: rustc)")


def misses_of(program: Path, folder: Path, *words: object) -> dict[str, float]:
    """Return each object's share of the misses."""
    profile = traced(program, folder, *words, options=["--llc", "4MiB"])
    misses: dict[str, float] = {}
    for phase in profile.phases:
        for row in phase.objects:
            name = profile.objects[row.object].name
            misses[name] = misses.get(name, 0.0) + row.traffic.misses()
    return {name: count / sum(misses.values()) for name, count in misses.items()}


def test_objects_are_lines_of_the_program(rustc: str, tmp_path: Path) -> None:
    program = tmp_path / "structures"
    nearfar(rustc, "-O", LANGUAGES / "structures.rs", "-o", program, cwd=tmp_path)
    assert compiler_text(program).startswith("rustc 1.")
    assert [note for note in notes(program) if "standard library" not in note] == []
    shares = misses_of(program, tmp_path, 200000)
    owners = ("build_table", "build_tree", "build_list", "main")
    mine = {
        owner: sum(share for name, share in shares.items() if f"structures::{owner} " in name)
        for owner in owners
    }
    assert sum(mine.values()) >= 0.95, shares
    assert min(mine.values()) > 0.01, shares
    assert shares.get("unknown memory", 0.0) < 0.01


STORE = """
pub fn squares(n: u64) -> Vec<u64> { (0..n).map(|i| i * i).collect() }
pub fn sum<T: Copy + Into<u64>>(all: &[T]) -> u64 { all.iter().map(|&x| x.into()).sum() }
"""
WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["app", "store", "made"]\nresolver = "2"\n',
    "store/Cargo.toml": '[package]\nname = "store"\nversion = "0.1.0"\n',
    "store/src/lib.rs": STORE,
    "made/Cargo.toml": '[package]\nname = "made"\nversion = "0.1.0"\n[lib]\nproc-macro = true\n'
    '[dependencies]\nstore = { path = "../store" }\n',
    "made/src/lib.rs": "extern crate proc_macro;\n#[proc_macro]\n"
    "pub fn count(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n"
    '    format!("{}u64", store::squares(3).len()).parse().unwrap()\n}\n',
    "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2018"\n'
    '[dependencies]\nstore = { path = "../store" }\nmade = { path = "../made" }\n'
    '[build-dependencies]\nstore = { path = "../store" }\n',
    "app/build.rs": "fn main() { println!("
    '"cargo:rustc-env=SUM={}", store::sum(&store::squares(4))); }\n',
    "app/src/main.rs": "fn main() { println!("
    '"{} {}", store::sum(&store::squares(made::count!())), env!("SUM")); }\n',
}


def test_cargo_builds_crates_and_what_runs_in_the_build(rustc: str, tmp_path: Path) -> None:
    cargo = Path(rustc).with_name("cargo")
    if not cargo.exists():
        pytest.skip(f"there is no cargo beside {rustc}")
    for name, text in WORKSPACE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {"PATH": f"{cargo.parent}:{os.environ['PATH']}", "RUSTC": rustc}
    done = nearfar("cargo", "build", "--release", "--offline", cwd=tmp_path, env=environment)
    assert "target/nearfar" in done.stderr
    program = tmp_path / "target/nearfar/release/app"
    both_run(program, "5 14\n")
    script = next((tmp_path / "target/nearfar/release/build").glob("app-*/build-script-build"))
    assert (
        "__nf_"
        not in subprocess.run(
            ["nm", "-D", script], capture_output=True, text=True, check=True
        ).stdout
    )


def test_a_rustc_of_a_newer_llvm_builds_as_always(tmp_path: Path) -> None:
    needs_pass()
    for name, text in {
        "rustc": 'echo "release: 9.9.0"; echo "LLVM version: 99.1"',
        "cargo": "env",
    }.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUSTC": "rustc"}
    done = nearfar("cargo", "build", cwd=tmp_path, env=environment)
    assert "rustc 9.9.0 writes for LLVM 99" in done.stderr
    assert "rustup toolchain install" in done.stderr
    assert "nearfar try" in done.stderr
    assert "CARGO_PROFILE_RELEASE_DEBUG=1" in done.stdout
    assert "RUSTC_WRAPPER" not in done.stdout
