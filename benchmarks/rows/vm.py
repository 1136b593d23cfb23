"""Time and result of all checks that need far memory, in the virtual machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from benchmarks import Row, make_row, wall_seconds

SECONDS = 400
LONG = True

BOOT = Path(__file__).parents[2] / "vm/boot.py"
CANNOT = 77


def rows() -> list[Row]:
    """Boot the guest once from an existing image; yield no rows where that is impossible."""
    done: list[subprocess.CompletedProcess[str]] = []

    def boot(*words: str) -> None:
        done.append(
            subprocess.run(
                [sys.executable, BOOT, *words], check=False, capture_output=True, text=True
            )
        )

    subprocess.run([sys.executable, BOOT.with_name("real_programs.py"), "--missing"], check=True)
    boot("10_machine")
    if done[0].returncode == CANNOT:
        print(done[0].stdout)
        return []
    seconds = wall_seconds(boot)
    text = done[-1].stdout
    wrong = re.findall(r"^not ok .*", text, re.MULTILINE)
    print("\n".join(wrong))
    command = "make vm-test"
    return [
        make_row(
            "the virtual machine's checks, booting included",
            seconds,
            "s",
            bar=180.0,
            peer="none: nothing else runs these checks",
            command=command,
        ),
        make_row(
            f"of its {len(re.findall(r'^(?:not )?ok ', text, re.MULTILINE))} checks, those that "
            "do not hold",
            float(len(wrong)) if "1.." in text else float("nan"),
            "checks",
            bar=0.0,
            peer="none",
            command=command,
        ),
    ]
