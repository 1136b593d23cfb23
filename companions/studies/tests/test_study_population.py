"""The population: its list, its inputs, the saved parts of a run, and the judgement."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.base.estimate import Estimate
from nearfar.devices.library import load_device
from nearfar.documents import save
from nearfar.documents.prediction import DevicePrediction, ModelTime, PhasePrediction
from nearfar_studies.population_list import SlowBytes, read_list, write_input
from nearfar_studies.population_runs import FinishedProgram, minutes
from nearfar_studies.run import draw
from nearfar_studies.studies.population import SHARES, Population, share_table, verdict
from nearfar_studies.study import StudyInputs

LISTED = read_list()

TINY = """
machine = "cxl-dmsim"
near = "ddr5-4800-local"
llc_bytes = 262144
memories = { CXL-D = "cxl-asic-eurosys24" }
inputs = { "words.txt" = [[2000, "%w% %r9%"]] }
[[programs]]
name = "gzip"
package = "gzip"
kind = "compression"
duration = "short"
command = ["gzip", "-c", "{words.txt}"]
[[programs]]
name = "absent"
package = "no-such-package"
kind = "text"
duration = "short"
command = ["nearfar-has-no-such-program"]
[[programs]]
name = "failing"
package = "coreutils"
kind = "text"
duration = "short"
command = ["sort", "{scratch}/absent"]
[[programs]]
name = "sort"
package = "coreutils"
kind = "text"
duration = "short"
command = ["sort", "{words.txt}"]
"""


def test_the_list_is_complete() -> None:
    assert len({program.name for program in LISTED.programs}) == len(LISTED.programs) >= 40
    assert len({program.kind for program in LISTED.programs}) >= 6
    used = {name for program in LISTED.programs for name in LISTED.inputs_of(program)}
    assert used == set(LISTED.inputs)
    assert set(LISTED.memories) == set(SHARES) - {"below_percent"}
    assert not any(load_device(device).unverified for device in LISTED.memories.values())


def test_inputs_are_the_same_on_every_machine(tmp_path: Path) -> None:
    path = write_input("a", [(2, "%i% %w% %r7% %f%"), (1, "%s%1 %g% 100% of %x%")], tmp_path)
    first, second, third = path.read_text().splitlines()
    assert (first[:2], second[:2]) == ("1 ", "2 ")
    assert third.endswith(" 100% of %x%")
    image = write_input("b", SlowBytes("P6\n", 1000), tmp_path).read_bytes()
    assert image.startswith(b"P6\n") and len(image) == 1003
    digest = hashlib.sha256(path.read_bytes() + image).hexdigest()[:16]
    assert digest == "81805d433dda4d5d"


def test_a_programs_command_gets_its_paths() -> None:
    (redis,) = [program for program in LISTED.programs if program.name == "redis"]
    command, driver = redis.words({"scratch": Path("/s"), "commands.txt": Path("/c")})
    assert command[4] == "/s/s"
    assert driver.endswith("--pipe < /c")


def test_remaining_time_follows_the_pace_of_finished_runs() -> None:
    waiting = [each for each in LISTED.programs if each.duration == "medium"][:10]
    assert minutes(waiting, []) == 20  # 3e10 instructions, 25e6 a second
    done = [FinishedProgram("a", 1e9, 100.0, ""), FinishedProgram("b", 9e9, 1.0, "it failed")]
    assert minutes(waiting, done) == 50


def predicted(slowdown: float, alone: float) -> DevicePrediction:
    time = Estimate(1.0, 1.0, 1.0)
    total = PhasePrediction(
        phase="total",
        near_time_ns=time,
        far_time_ns=time,
        slowdown=Estimate(slowdown, slowdown * 0.9, slowdown * 1.1),
        bound="latency",
        models=[ModelTime(model="misses", time_ns=1.0, slowdown=alone)],
        objects=[],
    )
    return DevicePrediction(far="d", title="", latency_ns=250.0, phases=[], total=total)


def judge(slowdowns: Sequence[float]) -> tuple[list[float | None], list[str]]:
    runs = {
        str(number): {device: predicted(value, 3.0) for device in LISTED.memories.values()}
        for number, value in enumerate(slowdowns)
    }
    shares = share_table(LISTED, runs)
    return [each.ours for each in shares.rows], verdict(shares, len(slowdowns))


def test_shares_and_verdict_follow_from_the_slowdowns() -> None:
    ours, sentences = judge([1.0, 1.04, 1.07, 1.2, 2.0])
    assert ours == pytest.approx([40.0, 60.0, 80.0] * 3)
    assert sentences[0] == ("CXL-D below 5 %: 40 % of 5 programs, published 43 % of 265 workloads")
    # 3, 0, 14; 5, 6, 7; 18, 28, 0: shares without slowdown are 57, 40, 6; 65, 46, 13; 78, 68, 20.
    assert ": 9 points (ours), 44 points (no slowdown), 56 points (every" in sentences[9]
    assert "too high" in judge([1.0])[1][9]
    assert "too low" in judge([9.0])[1][9]


def test_intervals_of_shares_contain_those_of_programs() -> None:
    runs = {"a": {device: predicted(1.04, 1.0) for device in LISTED.memories.values()}}
    row = share_table(LISTED, runs).rows[0]
    assert (row.low, row.ours, row.high) == (0.0, 100.0, 100.0)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-user is not installed")
def test_a_list_is_profiled_once_and_predicted(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    save(load_device("ddr5-4800-local"), profiles / "here.json")
    sentences: list[str] = []

    def interrupt(sentence: str) -> None:
        sentences.append(sentence.split(";", 1)[0])
        if sentences[-1] == "3 of 3: sort":
            raise KeyboardInterrupt

    study = Population()
    study.programs = tmp_path / "tiny.toml"  # type: ignore[misc]
    with pytest.raises(KeyboardInterrupt):
        study.run(StudyInputs(profiles=profiles, say=interrupt))
    assert sentences[0].endswith("left out: apt-get install no-such-package")
    assert sentences[1:3] == ["1 of 3: gzip", "2 of 3: failing"]
    assert sentences[3:] == ["failing: the program exited 2", "3 of 3: sort"]
    result = study.run(StudyInputs(profiles=profiles, say=sentences.append))
    assert sentences[6].startswith("1 of 2: failing; at most ")
    slowdowns, _, left_out = result.texts[:3]
    assert [cells[0] for cells in slowdowns.rows] == ["gzip", "sort"]
    assert dict(left_out.rows).keys() == {"absent", "failing"}
    assert all(0.9 < float(cells[2].split()[0]) < 10.0 for cells in slowdowns.rows)
    assert [row.published for row in result.tables[0].rows] == [43.0, 60.0, 94.0]
    assert draw(study, result, tmp_path / "p.png")
    kept = (profiles / "gzip.json").stat().st_mtime_ns
    sentences.clear()
    again = study.run(StudyInputs(profiles=profiles, say=sentences.append))
    assert [text.split(";")[0] for text in sentences if " of " in text] == ["1 of 1: failing"]
    assert (profiles / "gzip.json").stat().st_mtime_ns == kept
    assert again.tables == result.tables
