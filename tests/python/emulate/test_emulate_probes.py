"""The probes print nothing, because their output would mix with the program's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from samples import device, measured_here

from nearfar.emulate import probes
from nearfar.emulate.mechanism import EmulationTarget
from nearfar.memories.topology import detect
from nearfar.native_files import include_folder
from nearfar.predict.derive import far_memory, near_memory


def test_probes_are_silent(tmp_path: Path) -> None:
    source = Path(probes.__file__).with_name("probes.c")
    program = tmp_path / "probes"
    command = ["cc", "-O2", "-Wall", "-Werror", f"-I{include_folder()}", str(source)]
    subprocess.run([*command, "-o", str(program)], check=True)
    done = subprocess.run([str(program), "65536", "1600"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("setting", "page_bytes"), [("madvise", probes.HUGE_BYTES), ("never", 4096)]
)
def test_probes_use_huge_pages_where_the_machine_grants_them(setting: str, page_bytes: int) -> None:
    measured = measured_here(transparent_huge_pages=setting)
    near = msgspec.structs.replace(device("near"), measured=measured)
    side = near_memory(near)
    target = EmulationTarget(
        side, far_memory(device("far", 300.0, 5.0, 2.0), side), detect(), ahead=True
    )
    assert probes.in_huge_pages(target).near.page_bytes == page_bytes
