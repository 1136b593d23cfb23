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
  if (ftruncate(file, 8 * 4096) != 0) return 1;
  char* pool = mmap(0, 8 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (char* page = pool; page < pool + 8 * 4096; page += 4096) {
    *page = 1;
    if (msync(page, 4096, MS_SYNC) != 0) return 2;
  }
  return 0;
}
"""


def maps_program(folder: Path, *flags: str) -> Path:
    """Return a program that stores to the pool and syncs it."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    (folder / "maps.c").write_text(_MAPS)
    subprocess.run(["cc", *flags, "-o", folder / "maps", folder / "maps.c"], check=True)
    return folder / "maps"


def notes_of(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return the notes that a run printed."""
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("note: ")]


def test_a_static_program_of_a_pool_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = maps_program(tmp_path, "-static")
    words = ["crash", "--check", "true {pool}", "--", str(program), "{pool}"]
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
    notes = notes_of(capfd)
    assert any("never made anything durable" in note for note in notes)
    assert any(f"also wrote {elsewhere}, outside --files" in note for note in notes)


def test_data_on_a_second_file_system_is_noted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base, other = tmp_path / "base", tmp_path / "other"
    base.mkdir()
    other.mkdir()
    (base / "wal").symlink_to(other)
    script = "echo 1 > $0/wal/log; echo 1 > $0/db; sync $0/wal/log $0/db $0"
    words = ["crash", "--files", str(base), "--check", "test -L {files}/wal", "--"]
    assert main([*words, "/bin/sh", "-c", script, "{files}"]) == 0
    (note,) = notes_of(capfd)
    assert f"also wrote {other}/log, outside --files" in note


@pytest.mark.parametrize("ends", ["rm -r $0", "rm -r $0; ln -s / $0", "rm -r $0; echo > $0"])
def test_what_a_checker_does_to_its_files_is_undone(ends: str, tmp_path: Path) -> None:
    check = tmp_path / "check.sh"
    check.write_text(f'[ "$(cat $1/x)" = 1 ] || exit 1; {ends.replace("$0", "$1")}')
    words = ["crash", "--files", str(tmp_path / "none"), "--check", f"sh {check} {{files}}", "--"]
    script = "echo 1 > $0/x; sync $0/x $0; echo printed"
    assert main([*words, "/bin/sh", "-c", script, "{files}"]) == 1


def on_small_disk(tmp_path: Path, size: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `nearfar crash` with nothing but a small file system for temporary files."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount a small file system")
    (tmp_path / "small").mkdir()
    mount = f'mount -t tmpfs -o size={size} none {tmp_path}/small && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=1m none /dev/shm; {mount}", "sh",
         sys.executable, "-m", "nearfar", "crash", *words],
        env={**os.environ, "TMPDIR": str(tmp_path / "small")},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if "mount:" in done.stderr:
        pytest.skip("this system allows no mount")
    return done


def test_a_disk_that_is_full_is_no_bug(tmp_path: Path) -> None:
    program = "import os, sys; open(sys.argv[1] + '/x', 'wb').write(os.urandom(700_000))"
    words = ["--files", str(tmp_path / "none"), "--check", "true {files}", "--"]
    words += [sys.executable, "-I", "-S", "-c", program, "{files}"]
    done = on_small_disk(tmp_path, "1m", *words)
    assert done.returncode == 4
    assert "has room for" in done.stderr.splitlines()[-1]


def test_a_disk_that_fills_while_a_pool_is_explored_is_no_bug(tmp_path: Path) -> None:
    check = tmp_path / "check.sh"
    check.write_text(f"rm $1; cat /dev/zero > {tmp_path}/small/rest 2>&-; exit 0")
    program = maps_program(tmp_path)
    words = ["--check", f"sh {check} {{pool}}", "--", str(program), "{pool}"]
    done = on_small_disk(tmp_path, "2m", *words)
    assert done.returncode == 4
    assert "no space is left for an image of the pool" in done.stderr.splitlines()[-1]


def test_a_program_of_a_pool_with_other_rights_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a program of another user")
    program = maps_program(tmp_path)
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    assert main(["crash", "--check", "true {pool}", "--", str(program), "{pool}"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "is set-user-id" in line
