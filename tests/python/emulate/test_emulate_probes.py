"""The probes print nothing: their output would be among the program's."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nearfar.emulate import probes
from nearfar.native_files import include_folder


def test_probes_are_silent(tmp_path: Path) -> None:
    source = Path(probes.__file__).with_name("probes.c")
    program = tmp_path / "probes"
    command = ["cc", "-O2", "-Wall", "-Werror", f"-I{include_folder()}", str(source)]
    subprocess.run([*command, "-o", str(program)], check=True)
    done = subprocess.run([str(program), "65536", "1600"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
