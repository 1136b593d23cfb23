"""Checkers that stay and read a line for each image."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from crash.crash_programs import compiled, explore

from nearfar.__main__ import main

CHECKERS = Path(__file__).parents[3] / "examples" / "checkers"


def command_of(kind: str, folder: Path) -> str:
    source = CHECKERS / f"log_loop.{kind}"
    if kind != "c":
        return f"{'sh' if kind == 'sh' else sys.executable} {source} {{pool}}"
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    subprocess.run(["cc", "-O1", "-o", folder / "log_loop", source], check=True)
    return f"{folder / 'log_loop'} {{pool}}"


@pytest.mark.parametrize("kind", ["sh", "py", "c"])
def test_a_checker_stays_and_judges_an_image_for_each_line(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    check = command_of(kind, tmp_path)
    (bug,) = explore(tmp_path, check, [str(compiled("log_torn_pair")), "{pool}", "3"]).bugs
    assert bug.said.startswith("head: ")
    assert main(["crash", "replay", bug.replay, "-q"]) == 1
    capfd.readouterr()
    program = [str(compiled("log_right")), "{pool}", "3"]
    assert main(["crash", "--check", check, "--", *program]) == 0
    assert "the checker is kept and reads a line for each state" in capfd.readouterr().err


_ODD = """
[ -n "$NEARFAR_CRASH_LOOP" ] || exit 0
{start}
while read -r pool done begun; do {body}; done
"""


@pytest.mark.parametrize(
    ("start", "body", "mode"),
    [
        ("true", "echo accept", "forked for each state"),  # never says that it is ready
        ("echo ready", "exit 0", "started for each state"),  # refuses what the plain one accepts
    ],
)
def test_a_loop_that_does_not_answer_is_started_for_each_image(
    start: str, body: str, mode: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "odd.sh"
    script.write_text(_ODD.format(start=start + "; exit 0" * (start == "true"), body=body))
    program = [str(compiled("log_right")), "{pool}", "1"]
    assert main(["crash", "--check", f"sh {script} {{pool}}", "--", *program]) == 0
    assert mode in capfd.readouterr().err
