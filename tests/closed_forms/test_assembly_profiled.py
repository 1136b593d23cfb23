"""A program whose loads are in inline assembly, profiled as users do, on every library device."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from form_grid import fars, near_device
from judge_forms import judge_prediction
from paper_memory import near_paper
from paper_programs import Data, Program
from patience import patience

from nearfar.api import predict
from nearfar.base.estimate import Estimate
from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder
from nearfar.predict.device_figures import program_page_bytes

SOURCE = Path(__file__).with_name("assembly_chase.c")
STEPS = 1 << 18

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(shutil.which("clang-16") is None, reason="clang-16 is not installed"),
    pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="no qemu-x86_64"),
]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> WorkloadProfile:
    """The chase's profile, with the near time that it has on paper in the made-up memory."""
    folder = tmp_path_factory.mktemp("assembly")
    build = ("cc", "-O2", f"-I{include_folder()}", str(SOURCE), "-o", "program")
    words = ("--quiet", "--llc", "256KiB", "--repetitions", "1", "-o", "run.json")
    for arguments in (build, ("profile", *words, "--", "./program")):
        subprocess.run(
            [sys.executable, "-m", "nearfar", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=patience(100),
        )
    made = load(folder / "run.json", WorkloadProfile)
    ns = near_ns()
    phases = [
        msgspec.structs.replace(phase, near_cpu_time_ns=Estimate(ns, ns, ns), near_wall_time_ns=ns)
        for phase in made.phases
    ]
    return msgspec.structs.replace(made, phases=phases)


def near_ns() -> float:
    """Return the chase's near time on paper."""
    near = near_device("made up")
    return chase(checked=True).near_ns(near_paper(near, program_page_bytes(near)), "bus")


def chase(*, checked: bool) -> Program:
    """Return the program on paper; the compiler pass saw none of it."""
    return Program("chase", (Data(chase=float(STEPS)),), seen=0.0, checked=checked)


@pytest.mark.parametrize("checked", [True, False], ids=["counted by QEMU", "counted by nothing"])
def test_its_time_or_its_interval_is_what_figures_allow(profile: WorkloadProfile, checked: bool):
    kept = profile if checked else msgspec.structs.replace(profile, checks=[])
    near, memories = near_device("made up"), fars()
    prediction = predict(profile=kept, near=near, far=memories, phase=["chase"])
    wrong = judge_prediction(prediction, [(chase(checked=checked), near_ns())], near, memories)
    assert not wrong, "\n".join(map(str, wrong))
