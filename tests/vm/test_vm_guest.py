"""Everything that needs far memory, in one boot of the virtual machine (vm/README.md).

The boot is one, of the checks that were selected; each check of vm/checks is a test of its own
here, failed, passed or skipped as the guest said. The boot alone takes about a minute.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
CHECKS = sorted(path.stem for path in (REPOSITORY / "vm/checks").glob("[0-9]*.py"))
CANNOT = 77
TIMEOUT_S = 2400.0
"""Time-out on a quiet machine: the first test waits until the programs are built (300 s at most)
and for two boots of at most 560 s each."""
REAL_PROGRAMS = "74_run_real_programs"

FIRST = "30_convert_fsdax"
"""The check that divides the NVDIMM into the namespaces of later checks."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(TIMEOUT_S)]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> dict[str, tuple[str, str]]:
    """Check to its line of TAP and what it printed."""
    selected = [
        name
        for name in CHECKS
        if name == FIRST or any(f"[{name}]" in i.name for i in request.session.items)
    ]
    began = time.monotonic()
    if REAL_PROGRAMS in selected:
        subprocess.run(
            [sys.executable, REPOSITORY / "vm/real_programs.py", "--missing"], check=True
        )
    programs_s = time.monotonic() - began
    done = subprocess.run(
        [sys.executable, REPOSITORY / "vm/boot.py", *selected],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == CANNOT:
        pytest.skip(done.stdout.strip().removeprefix("1..0 # SKIP "))
    blocks = re.split(r"^(?=(?:not )?ok )", done.stdout, flags=re.MULTILINE)
    result: dict[str, tuple[str, str]] = {}
    for block in blocks:
        match = re.match(r"(not )?ok \d+ - (\S+)", block)
        # Some go on after a reboot: both parts are to hold.
        if match and result.get(match[2], ("ok ", ""))[0].startswith("ok "):
            result[match[2]] = (block.splitlines()[0], block)
    times = re.findall(
        r"^# (?:seconds of|made ready|the first boot| +[\d.]+ \d\d_).*", done.stdout, re.M
    )
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if reporter is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"programs made in {programs_s:.1f} s, the first time")
            for line in times:
                reporter.write_line(line.removeprefix("# "))
    if not result:
        pytest.fail(f"the guest reported nothing:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return result


@pytest.mark.parametrize("name", CHECKS)
def test_in_the_guest(name: str, results: dict[str, tuple[str, str]]) -> None:
    assert name in results, "the guest ended before this check"
    line, block = results[name]
    if "# SKIP" in line:
        pytest.skip(line.partition("# SKIP ")[2])
    assert line.startswith("ok "), block
    if "def check_after_reboot" in (REPOSITORY / f"vm/checks/{name}.py").read_text():
        assert "after the reboot" in line, "the guest did not boot once more"
