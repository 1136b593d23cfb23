"""A profiled run ends the processes that the program left, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.profile.session import prepare_folder
from nearfar.program.launch import Job, run_job

pytestmark = pytest.mark.timing


def test_earlier_children_survive_and_leftover_processes_do_not(tmp_path: Path) -> None:
    # A process of its own, because run() becomes the parent of all orphans below it.
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "other True, left False\n", done.stderr


def main(folder: Path) -> None:
    """Run a program that leaves a process, next to a child of this process."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        prepare_folder(folder, 1 << 20, 16, 1 << 20, counting=True).close()
        left = folder / "left"
        command = ("sh", "-c", f"sleep 60 & echo $! > {left}")
        run_job(
            Job(command=command), executable=Path("/bin/sh"), environment=os.environ, folder=folder
        )
        alive = Path(f"/proc/{left.read_text().strip()}").exists()
        print(f"other {other.poll() is None}, left {alive}")
    finally:
        other.kill()
        other.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
