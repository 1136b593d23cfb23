"""Programs instrumented by hand, run as `nearfar profile` runs them, with their counts."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import patience

sys.path.insert(0, str(Path(__file__).parent))
from by_hand import Build, Result, Run
from counting import Counts

from nearfar.base.errors import NearfarError
from nearfar.native_files import include_folder, native_file, native_folder
from nearfar.profile.objects import make_objects
from nearfar.profile.run_file import read_run
from nearfar.profile.traffic import gather
from nearfar.program.control import RUN_FOLDER_VARIABLE, Control

KERNELS = Path(__file__).parent / "kernels"
ROOT = Path(__file__).parents[3]
CLANG = shutil.which("clang-16") or shutil.which("clang")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a kernel by hand: `build("arrays.c", rate_log2=0)`."""
    try:
        library = native_file("libnearfar_profile.so")
    except NearfarError as error:
        pytest.skip(str(error))
    if CLANG is None:
        pytest.skip("clang is not installed: instrumented code needs its calling convention")
    folder = tmp_path_factory.mktemp("by-hand")

    def compile_(source: str, *options: str, rate_log2: int = 6, name: str | None = None) -> Path:
        target = folder / (name or f"{Path(source).stem}-{rate_log2}")
        if not target.exists():
            include = [f"-I{ROOT / 'native'}", f"-I{include_folder()}", f"-I{KERNELS}"]
            command = [
                str(CLANG),
                "-O1",
                "-g",
                "-fno-optimize-sibling-calls",
                f"-DRATE_LOG2={rate_log2}",
                *include,
                *options,
            ]
            command += [str(KERNELS / source), "-o", str(target), str(library)]
            command += [f"-Wl,-rpath,{native_folder()}", "-lpthread", "-ldl"]
            subprocess.run(command, check=True)
        return target

    return compile_


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program as the verb does: `run(program, "argument", llc=1 << 20)`."""

    def run_(
        program: Path,
        *arguments: str,
        llc: int = 1 << 20,
        ways: int = 16,
        memory: int = 4 << 20,
        during: Callable[[Control, subprocess.Popen[str]], None] | None = None,
        address_space: int | None = None,
    ) -> Result:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        control = Control.create(folder)
        page = control.page
        page.memory_bytes, page.cache_bytes, page.cache_ways = memory, llc, ways
        page.live_interval_us = 100

        def in_child() -> None:
            control.start(os.getpid())
            if address_space is not None:
                resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

        process = subprocess.Popen(
            [str(program), *arguments],
            env={**os.environ, RUN_FOLDER_VARIABLE: str(folder)},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=in_child,  # noqa: PLW1509 (one thread only)
        )
        if during is not None:
            during(control, process)
        output, _ = process.communicate(timeout=patience(60))
        files = read_run(folder)
        objects, object_of = make_objects(files)
        traffic = gather(files, object_of)
        phases = [(row.name.decode(), row.entries, row.operations) for row in control.phases()]
        message = page.message.decode()
        control.close()
        return Result(process.returncode, output, files, objects, traffic, phases, message)

    return run_


@pytest.fixture(scope="session")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a runtime library that counts each site's reports."""
    folder = tmp_path_factory.mktemp("counting")
    subprocess.run(
        [
            *("g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'native'}"),
            str(Path(__file__).parent / "counting_runtime.cpp"),
            str(ROOT / "native/profile/events.cpp"),
            *("-Wl,-soname,libnearfar_profile.so", "-o", str(folder / "libnearfar_profile.so")),
        ],
        check=True,
    )
    return folder


@pytest.fixture
def counts(counting: Path, tmp_path: Path) -> Counts:
    """Return what compiles and runs programs with that library."""
    return Counts(counting, tmp_path)
