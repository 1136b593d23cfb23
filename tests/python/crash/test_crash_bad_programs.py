"""Programs and machines that `crash` cannot use are refused, or noted, in one sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.__main__ import main

_MAPS = """
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char** words) {
  const int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 4096) != 0) return 1;
  char* pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  *pool = 1;
  return msync(pool, 4096, MS_SYNC);
}
"""


def test_a_static_program_of_a_pool_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    source = tmp_path / "maps.c"
    source.write_text(_MAPS)
    subprocess.run(["cc", "-static", "-o", tmp_path / "maps", source], check=True)
    words = ["crash", "--check", "true {pool}", "--", str(tmp_path / "maps"), "{pool}"]
    assert main(words) == 4
    (line,) = capfd.readouterr().err.splitlines()
    assert "be linked dynamically" in line


def test_a_program_that_never_syncs_and_writes_elsewhere_is_noted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    script = f"echo 1 > $0/x; echo 2 > {elsewhere}"
    words = ["crash", "--files", str(tmp_path / "none"), "--check", "true {files}", "--"]
    assert main([*words, "/bin/sh", "-c", script, "{files}"]) == 0
    notes = [line for line in capfd.readouterr().out.splitlines() if line.startswith("note: ")]
    assert any("never made anything durable" in note for note in notes)
    assert any(f"also wrote {elsewhere}, outside --files" in note for note in notes)


def test_a_disk_that_is_full_is_no_bug(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a small file system")
    (tmp_path / "small").mkdir()
    program = "import os, sys; open(sys.argv[1] + '/x', 'wb').write(os.urandom(700_000))"
    command = [sys.executable, "-m", "nearfar", "crash", "--files", str(tmp_path / "none")]
    command += ["--check", "true {files}", "--", sys.executable, "-I", "-S", "-c", program]
    mount = f'mount -t tmpfs -o size=1m none {tmp_path}/small && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none /dev/shm; {mount}", "sh",
         *command, "{files}"],
        env={**os.environ, "TMPDIR": str(tmp_path / "small")},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if "mount:" in done.stderr:
        pytest.skip("this system allows no mount")
    assert done.returncode == 4
    assert "has room for" in done.stderr.splitlines()[-1]
