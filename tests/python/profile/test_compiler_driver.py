"""The drivers compile and link objects, archives, libraries and unusual inputs."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import MAIN, F, both_run, nearfar, run, two_sources

from nearfar.profile.compiler.twin import (
    compiler_text,
    extract_plain,
    is_instrumented,
    notes,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return two_sources(tmp_path)


def undefined(program: Path) -> str:
    return subprocess.run(
        ["nm", "-D", "-u", program], capture_output=True, text=True, check=True
    ).stdout


def test_objects_then_link(tree: Path) -> None:
    nearfar("cc", "-O2", "-c", "main.c", cwd=tree)
    nearfar("cc", "-O2", "-c", "f.c", "-o", "other.o", cwd=tree)
    nearfar("cc", "main.o", "other.o", "-o", "p", cwd=tree)
    plain = both_run(tree / "p")
    assert "__nf_access" in undefined(tree / "p")
    assert "__nf_" not in undefined(plain)
    assert compiler_text(tree / "p").startswith("clang ")
    assert compiler_text(tree / "p").endswith("-O2")
    assert notes(tree / "p") == []


def test_plain_twin_knows_lines_and_full_names_of_inlined_functions(tree: Path) -> None:
    (tree / "v.cpp").write_text(
        "#include <vector>\nstd::vector<int> *kept;\nint main(int n, char **) {\n"
        "  kept = new std::vector<int>(n + 100);\n  return 0;\n}\n"
    )
    nearfar("c++", "-O2", "-Werror", "-c", "v.cpp", cwd=tree)
    nearfar("c++", "-Werror", "v.o", "-o", "v", cwd=tree)
    plain = both_run(tree / "v", "")
    told = subprocess.run(
        ["llvm-dwarfdump-16", "--debug-info", plain], capture_output=True, text=True, check=True
    ).stdout
    assert "v.cpp" in told
    assert "DW_TAG_inlined_subroutine" in told
    assert "_ZNSt6vectorIiSaIiEE" in told


def test_several_sources_in_one_command(tree: Path) -> None:
    nearfar("cc", "-O1", "main.c", "f.c", cwd=tree)
    both_run(tree / "a.out")
    nearfar("cc", "-c", "main.c", "f.c", cwd=tree)
    nearfar("cc", "main.o", "f.o", "-o", "p", cwd=tree)
    both_run(tree / "p")


def test_library_precedes_libc_and_is_kept(tree: Path) -> None:
    nearfar("cc", "main.c", "f.c", "-Wl,--as-needed", "-lm", "-o", "p", cwd=tree)
    listed = subprocess.run(
        ["readelf", "-d", "p"], cwd=tree, capture_output=True, text=True, check=True
    ).stdout
    needed = [line for line in listed.splitlines() if "NEEDED" in line]
    assert "libnearfar_profile.so" in needed[0]
    assert not any("libm.so" in line for line in needed)


@pytest.mark.parametrize("flags", ["rcs", "rcsT"], ids=["ordinary", "thin"])
@pytest.mark.parametrize("how", ["file", "-l", "-Wl"])
def test_static_archive(tree: Path, flags: str, how: str) -> None:
    nearfar("cc", "-O2", "-c", "f.c", cwd=tree)
    subprocess.run(["ar", flags, "libf.a", "f.o"], cwd=tree, check=True)
    words = {
        "file": ["libf.a"],
        "-l": ["-L", ".", "-lf"],
        "-Wl": ["-Wl,--whole-archive,libf.a,--no-whole-archive"],
    }[how]
    nearfar("cc", "main.c", *words, "-o", "p", cwd=tree)
    assert "__nf_" not in undefined(both_run(tree / "p"))


def test_relocatable_link(tree: Path) -> None:
    nearfar("cc", "-O2", "-c", "f.c", "main.c", cwd=tree)
    nearfar("cc", "-r", "f.o", "main.o", "-o", "both.o", cwd=tree)
    nearfar("cc", "both.o", "-o", "p", cwd=tree)
    assert "__nf_" not in undefined(both_run(tree / "p"))


def test_shared_library(tree: Path) -> None:
    nearfar(
        "cc", "-O2", "-fPIC", "-shared", "f.c", "-o", "libf.so", "-Wl,-soname,libf.so", cwd=tree
    )
    nearfar("cc", "main.c", "-L.", "-lf", f"-Wl,-rpath,{tree}", "-o", "p", cwd=tree)
    both_run(tree / "p")
    twin = tree / "plain-p" / "libf.so"
    assert "__nf_" in undefined(tree / "libf.so")
    assert "__nf_" not in undefined(twin)


def test_plugin_opened_at_run_time(tree: Path) -> None:
    (tree / "host.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        'int main(void) { for (int i = 0; i < 3; i++) { void* l = dlopen("./plugin.so", RTLD_LAZY);'
        ' int (*f)(int) = (int (*)(int))dlsym(l, "f"); printf("%d\\n", f(20)); dlclose(l); }'
        " return 0; }\n"
    )
    nearfar("cc", "-O2", "-fPIC", "-shared", "f.c", "-o", "plugin.so", cwd=tree)
    nearfar("cc", "host.c", "-o", "p", "-ldl", cwd=tree)
    done = subprocess.run(["./p"], cwd=tree, capture_output=True, text=True, check=True)
    assert done.stdout == "20\n20\n20\n"


def test_assembly_is_passed_through_and_named(tree: Path) -> None:
    (tree / "f.s").write_text(
        ".globl f\n.text\nf:\nmov %edi, %eax\nret\n.section .note.GNU-stack\n"
    )
    nearfar("cc", "-c", "f.s", "-o", "f.o", cwd=tree)
    nearfar("cc", "main.c", "f.o", "-o", "p", cwd=tree)
    both_run(tree / "p")
    assert notes(tree / "p") == [f"{tree}/f.s is assembly and was not instrumented"]


def test_missing_openmp_of_clang_is_named(tree: Path) -> None:
    (tree / "g.c").write_text("#include <omp.h>\n#error stop here\n")
    done = nearfar("cc", "-fopenmp", "-c", "g.c", "-o", "g.o", cwd=tree, code=1)
    assert ("install libomp-" in done.stderr) == ("'omp.h' file not found" in done.stderr)
    done = nearfar("cc", "-c", "g.c", "-o", "g.o", cwd=tree, code=1)
    assert "libomp" not in done.stderr


def test_object_of_another_compiler_is_named(tree: Path) -> None:
    subprocess.run(["cc", "-c", "f.c"], cwd=tree, check=True)
    subprocess.run(["ar", "rcs", "libf.a", "f.o"], cwd=tree, check=True)
    nearfar("cc", "main.c", "f.o", "-o", "p", cwd=tree)
    both_run(tree / "p")
    assert notes(tree / "p") == ["f.o was not compiled by nearfar (the whole file)"]
    nearfar("cc", "main.c", "libf.a", "-o", "q", cwd=tree)
    assert notes(tree / "q") == ["libf.a was not compiled by nearfar (1 of 1 objects in it)"]


def test_inline_assembly_is_named(tree: Path) -> None:
    (tree / "f.c").write_text(
        'int f(int n) { int r; __asm__ volatile("movl %1, %0" : "=r"(r) : "m"(n)); return r; }\n'
    )
    nearfar("cc", "-O1", "main.c", "f.c", "-o", "p", cwd=tree)
    assert notes(tree / "p") == ["f in f.c its inline assembly was left out"]


def test_static_program_is_plain_and_reported(tree: Path) -> None:
    nearfar("cc", "-O2", "-c", "f.c", "main.c", cwd=tree)
    done = nearfar("cc", "-static", "f.o", "main.o", "-o", "p", cwd=tree)
    assert done.stderr.count("\n") == 1
    assert "-static" in done.stderr
    assert "cannot profile it" in done.stderr
    assert run(tree / "p") == (0, "20\n")
    assert not is_instrumented(tree / "p")
    assert extract_plain(tree / "p", tree) is None


def test_link_time_optimisation_is_disabled_in_the_instrumented_program(tree: Path) -> None:
    nearfar("cc", "-O2", "-flto", "-c", "f.c", "main.c", cwd=tree)
    nearfar("cc", "-O2", "-flto", "f.o", "main.o", "-o", "p", cwd=tree)
    assert is_instrumented(tree / "p")
    assert run(tree / "p") == (0, "20\n")
    assert "link-time optimisation is in the plain program only" in notes(tree / "p")


def test_standard_input_dependencies_and_unusual_names(tree: Path) -> None:
    words = ["-m", "nearfar", "cc", "-x", "c", "-", "-c", "-o", "f.o"]
    subprocess.run([sys.executable, *words], cwd=tree, input=F, text=True, check=True)
    (tree / "a b.c").write_text(MAIN)
    nearfar("cc", "-MMD", "-MF", "deps", "-c", "a b.c", "-o", "a b.o", cwd=tree)
    assert "a b.c" in (tree / "deps").read_text().replace("\\ ", " ")
    (tree / "all").write_text('"a b.o"\nf.o -o\n"the program"\n')
    nearfar("cc", "@all", cwd=tree)
    both_run(tree / "the program")


def test_without_twin(tree: Path) -> None:
    nearfar("cc", "main.c", "f.c", "-o", "p", cwd=tree, env={"NEARFAR_PLAIN": "0"})
    assert is_instrumented(tree / "p")
    assert extract_plain(tree / "p", tree) is None
    assert notes(tree / "p") == ["built with NEARFAR_PLAIN=0 or --nearfar-no-plain"]


def test_twin_survives_copy_and_strip(tree: Path) -> None:
    nearfar("cc", "-O2", "main.c", "f.c", "-o", "p", cwd=tree)
    subprocess.run(["install", "-s", "p", "q"], cwd=tree, check=True)
    both_run(tree / "q")


def test_same_input_gives_the_same_object(tree: Path) -> None:
    nearfar("cc", "-O2", "-c", "f.c", "-o", "f.o", cwd=tree)
    first = (tree / "f.o").read_bytes()
    nearfar("cc", "-O2", "-c", "f.c", "-o", "f.o", cwd=tree)
    assert (tree / "f.o").read_bytes() == first


def test_temporary_files_are_removed(tree: Path) -> None:
    scratch = tree / "scratch"
    scratch.mkdir()
    nearfar("cc", "-O2", "-c", "f.c", "main.c", cwd=tree, env={"TMPDIR": scratch})
    nearfar("cc", "f.o", "main.o", cwd=tree, env={"TMPDIR": scratch})
    nearfar("cc", "missing.c", cwd=tree, code=1, env={"TMPDIR": scratch})
    assert list(scratch.iterdir()) == []


def test_compile_error_is_printed_once_and_leaves_no_file(tree: Path) -> None:
    (tree / "bad.c").write_text("int f(void) { return x; }\n")
    done = nearfar("cc", "-c", "bad.c", cwd=tree, code=1)
    assert done.stderr.count("error:") == 1  # the messages of the plain compile are not repeated
    assert "Traceback" not in done.stderr
    assert not (tree / "bad.o").exists()
    done = nearfar("cc", "main.c", "-o", "p", cwd=tree, code=1)
    assert "undefined reference" in done.stderr
    assert not (tree / "p").exists()


@pytest.mark.parametrize(
    "content", [b"!<arch>\nbroken" * 20, b"\x7fELF\x02\x01" + b"\xff" * 99, b""]
)
def test_damaged_input_is_refused_by_the_linker(tree: Path, content: bytes) -> None:
    (tree / "bad.o").write_bytes(content)
    done = nearfar("cc", "main.c", "f.c", "bad.o", "-o", "p", cwd=tree, code=None)
    assert "Traceback" not in done.stderr
    assert "bad.o" in done.stderr or done.returncode == 0


def test_full_disk_leaves_no_object(tree: Path) -> None:
    """The limit on file sizes fits the instrumented object but not its twin."""
    nearfar("cc", "-O2", "-c", "f.c", "--nearfar-no-plain", cwd=tree)
    size = (tree / "f.o").stat().st_size
    (tree / "f.o").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", "cc", "-O2", "-c", "f.c"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100)),
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "a system call failed: File too large" in done.stderr
    assert not (tree / "f.o").exists()


def test_warnings_are_printed_once(tree: Path) -> None:
    (tree / "warn.c").write_text("int f(int n) { int unused; return n; }\n")
    done = nearfar("cc", "-Wall", "-c", "warn.c", cwd=tree)
    assert done.stderr.count("unused variable") == 1


@pytest.mark.parametrize(
    ("environment", "arguments", "code", "words"),
    [
        ({"NEARFAR_CLANG": "no-such-clang"}, ["-c", "f.c"], 3, "NEARFAR_CLANG=no-such-clang"),
        ({"NEARFAR_NATIVE": "/nowhere"}, ["-c", "f.c"], 3, "run `make setup`"),
        ({"NEARFAR_RATE": "60"}, ["-c", "f.c"], 2, "NEARFAR_RATE=60 is not a sampling rate"),
        ({}, ["--nearfar-rat=64", "-c", "f.c"], 2, "there is no option '--nearfar-rat=64'"),
        ({"TMPDIR": "/nowhere"}, ["-c", "f.c"], 3, "/nowhere"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(
    tree: Path, environment: dict[str, str], arguments: list[str], code: int, words: str
) -> None:
    done = nearfar("cc", *arguments, cwd=tree, code=code, env=environment)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("nearfar cc: ")
    assert not (tree / "f.o").exists()


def test_queries_are_answered_by_the_compiler(tree: Path) -> None:
    assert "clang version" in nearfar("cc", "--version", cwd=tree).stdout
    assert "int f(int n)" in nearfar("cc", "-E", "f.c", cwd=tree).stdout
    assert "__nf_" not in nearfar("cc", "-S", "f.c", "-o", "-", cwd=tree).stdout
    assert "no input files" in nearfar("cc", cwd=tree, code=1).stderr
