"""The guide's sequence: its machine in every state, its errors, and the complete replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.__main__ import main
from nearfar_studies import guide_platform
from nearfar_studies.guide_platform import ReplayedCommand, State, replay
from nearfar_studies.studies import korean_guide
from nearfar_studies.studies.korean_guide import KoreanGuide
from nearfar_studies.study import StudyInputs

SAID: dict[State, str] = {
    "memory-mode": "memory-side cache of 64.0 GiB",
    "region": "sudo ndctl create-namespace --mode=fsdax --region=region0",
    "not mounted": "sudo mkfs.ext4 /dev/pmem0 && sudo mkdir -p /mnt/pmem0",
    "without dax": "mounted without DAX",
    "app-direct": "file:/mnt/pmem0, with DAX",
}


@pytest.mark.parametrize("state", guide_platform.STATES)
def test_each_state_of_its_machine_is_reported_with_the_next_step(
    state: State, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guide_platform.write(tmp_path, state)
    assert main(["machine", "--root", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for other, sentence in SAID.items():
        assert (sentence in printed) == (other == state)


def test_a_doubled_latency_is_reported_as_drift() -> None:
    sentence = korean_guide._unstable()[-1]
    assert "87.8 ns then, 185.7 now" in sentence
    assert "until reboot" in sentence


def test_a_buffer_beyond_memory_is_refused_with_the_size_that_fits(tmp_path: Path) -> None:
    step = korean_guide.STEPS["errors"][0]
    result = replay(step.arguments, tmp_path)
    assert result.exit_code == 3
    assert "2.00 TiB" in result.ended()
    assert "use -b" in result.ended()
    assert "Traceback" not in result.error


def test_lines_are_kept_by_their_prefix_and_otherwise_the_error_is() -> None:
    result = ReplayedCommand("nearfar x", 1, "a  b\nc\n", "first\nnearfar: last\n")
    assert result.lines("a") == "a b"
    assert result.lines("z") == ""
    assert result.ended() == "nearfar: last"
    assert ReplayedCommand("nearfar x", None, "", "").ended().startswith("took more than")


@pytest.mark.long
def test_the_whole_guide_is_replayed() -> None:
    study = KoreanGuide()
    study.name = "korean-guide"
    result = study.run(StudyInputs())
    printed = [row[-1] for text in result.texts for row in text.rows]
    assert all(printed)
    assert not any("Traceback" in cell or "Error:" in cell for cell in printed)
    for row in result.tables[0].rows:
        assert row.ours == pytest.approx(101.5, rel=0.05)  # the library's DRAM, random
