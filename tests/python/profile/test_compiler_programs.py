"""Instrumented kernels and difficult programs behave like the plain ones, traced or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiling import KERNELS, PROGRAMS, driver_of, nearfar, run

from nearfar.native_files import include_folder
from nearfar.profile.compiler.twin import extract_plain, is_instrumented
from nearfar.profile.session import prepare_folder
from nearfar.program.control import RUN_FOLDER_VARIABLE

pytestmark = pytest.mark.timing

# Small enough for -O0, large enough that every loop runs twice.
SIZES = {
    "btree": "2000",
    "chase": "5000",
    "column": "2",
    "gather": "20000",
    "gups": "20000",
    "hash": "20000",
    "join": "2000",
    "matmul": "48",
    "sort": "20000",
    "spmv": "2000",
    "triad": "20000",
    "unordered_map": "5000",
}
KERNEL_FILES = sorted(path for path in KERNELS.iterdir() if path.suffix in (".c", ".cpp"))
PROGRAM_FILES = sorted(PROGRAMS.iterdir())


def some_long(quick: set[Any], of: list[Any]) -> list[object]:
    """Return parameters and mark those not in `quick` as long, because they are many."""
    return [
        pytest.param(
            *(each if isinstance(each, tuple) else (each,)),
            marks=[] if each in quick else pytest.mark.long,
        )
        for each in of
    ]


def both_outputs(
    source: Path, folder: Path, *options: str, arguments: tuple[str, ...] = ()
) -> None:
    program = folder / source.stem
    includes = f"-I{include_folder()}"
    nearfar(driver_of(source), *options, includes, source, "-o", program, "-lpthread", cwd=folder)
    assert is_instrumented(program)
    (folder / "plain").mkdir()
    plain = extract_plain(program, folder / "plain")
    assert plain is not None
    assert not is_instrumented(plain)
    code, output = run(program, *arguments)
    assert (code, output) == run(plain, *arguments)
    assert code == 0
    assert output
    (folder / "run").mkdir()
    control = prepare_folder(
        folder / "run", cache_bytes=1 << 20, cache_ways=16, memory_bytes=64 << 20
    )
    traced = run(program, *arguments, env={RUN_FOLDER_VARIABLE: str(folder / "run")})
    control.close()
    assert traced == (code, output)


def test_every_kernel_has_a_size() -> None:
    assert {path.stem for path in KERNEL_FILES} == set(SIZES)


# Programs are compiled at -O0 too, and at -O2, as are the rates below.
@pytest.mark.parametrize(
    ("name", "level"),
    some_long(
        {*((name, "-O3") for name in SIZES), ("triad", "-O0"), ("join", "-O0")},
        [(name, level) for name in SIZES for level in ("-O0", "-O1", "-O2", "-O3")],
    ),
)
def test_kernel_gives_the_plain_answer(name: str, level: str, tmp_path: Path) -> None:
    (kernel,) = (path for path in KERNEL_FILES if path.stem == name)
    both_outputs(kernel, tmp_path, level, arguments=(SIZES[name], "2"))


@pytest.mark.parametrize("rate", some_long({64}, [1, 4, 64, 4096]))
@pytest.mark.parametrize("kernel", ["btree.c", "matmul.c", "spmv.c", "join.cpp"])
def test_kernel_gives_the_plain_answer_at_every_rate(
    kernel: str, rate: int, tmp_path: Path
) -> None:
    source = KERNELS / kernel
    both_outputs(
        source, tmp_path, "-O2", f"--nearfar-rate={rate}", arguments=(SIZES[source.stem], "1")
    )


# The loops of "stages" are long: at -O0 each of its accesses is tested.
@pytest.mark.parametrize(
    ("name", "level"),
    some_long(
        {
            *((path.name, "-O2") for path in PROGRAM_FILES),
            *((path.name, "-O0") for path in PROGRAM_FILES if path.stem != "stages"),
        },
        [(path.name, level) for path in PROGRAM_FILES for level in ("-O0", "-O2", "-O3")],
    ),
)
def test_program_behaves_like_the_plain_program(name: str, level: str, tmp_path: Path) -> None:
    both_outputs(PROGRAMS / name, tmp_path, level)


@pytest.mark.parametrize("program", ["jumps.c", "exceptions.cpp", "vectors.c", "strings.c"])
def test_program_behaves_like_the_plain_program_when_every_access_calls(
    program: str, tmp_path: Path
) -> None:
    both_outputs(PROGRAMS / program, tmp_path, "-O2", "--nearfar-rate=1")


def test_vectors_of_this_processor(tmp_path: Path) -> None:
    """Tests gathers, scatters and masks of this machine's vector width."""
    both_outputs(PROGRAMS / "vectors.c", tmp_path, "-O3", "-march=native")
