"""Closed output streams and readers that end early lose no documents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import samples

from nearfar.documents import save

NEARFAR = Path(sys.executable).parent / "nearfar"


def test_unread_output_is_dropped_and_the_document_is_written(tmp_path: Path) -> None:
    run, near, out = (tmp_path / name for name in ("run.json", "near.json", "out.json"))
    save(samples.workload(), run)
    save(samples.device(), near)
    command = f"{NEARFAR} predict {run} --near {near} --far optane-200 -o {out}"
    for shell in (f"{command} | true", f"{command} >&-", f"{command} 2>&1 | true"):
        out.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (shell, done.stderr)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        assert out.exists()


def test_a_full_disk_behind_standard_output_is_one_sentence() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{NEARFAR} device list > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr == "nearfar: cannot write to standard output: No space left on device\n"
