"""`nearfar try`: one command from an unmodified program to an answer and a page."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import msgspec
import pytest

from nearfar.api import predict
from nearfar.base.errors import ExitCode, NearfarError
from nearfar.devices.curves import idle_read_latency_ns
from nearfar.devices.library import load_device
from nearfar.devices.quality import quality_of
from nearfar.documents.header import to_json
from nearfar.measure import kept
from nearfar.options.measure import MeasureOptions
from nearfar.options.try_program import SIX_MEMORIES

from .first_answers import (
    CACHE_BYTES,
    Refused,
    attempt,
    attempt_in_short,
    build,
    keep_near_memory,
    left_running,
    near_memory,
    needs_qemu,
)

pytestmark = pytest.mark.timing

REDIS = Path(__file__).parents[1] / "golden/inputs/redis.json"
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { lines = 1 << 19 };
int main(void) {
  uint64_t* table = calloc(lines, 64), state = 1, sum = 0;
  char* cold = malloc(2 * 64 * (size_t)lines);
  for (size_t i = 0; i < 2 * 64 * (size_t)lines; i += 4096) cold[i] = 1;
  for (int i = 0; i < 1 << 21; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sum += table[8 * ((state >> 33) % lines)]++;
  }
  printf("sum %lu\\n", sum);
  return 0;
}
"""


@needs_qemu
def test_an_unmodified_program_gets_an_answer_and_a_page(cache: Path, tmp_path: Path) -> None:
    build(tmp_path, "table", PROGRAM)
    keep_near_memory(cache)
    done = attempt(cache, tmp_path, "--", "./table")
    assert done.returncode == ExitCode.DONE, done.stderr
    assert done.stdout.startswith("sum ")
    for name in SIX_MEMORIES:
        assert f"  {name} " in done.stderr
    for name in ("near.json", "run.json", "report.html"):
        assert (tmp_path / "nearfar-try" / name).stat().st_size > 0
    done = attempt(cache, tmp_path, "try", "--json", "-q", "--far", "optane-200", "--", "./table")
    answers = json.loads(done.stdout)["answers"]
    (optane,) = answers[0]["memories"]
    # Every lookup misses the cache, and Optane is several times as slow.
    assert optane["slowdown"]["value"] > 1.3
    assert any("table.c" in name for row in optane["savings"] for name in row["names"])


FAILS_UNDER_QEMU = """
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  char name[16] = "";
  if (read(open("/proc/self/comm", O_RDONLY), name, 15) > 0 && !strncmp(name, "qemu", 4)) abort();
  volatile char* table = malloc(1 << 24);
  for (int round = 0; round < 50; round++)
    for (int at = 0; at < 1 << 24; at += 64) table[at]++;
  return 0;
}
"""


@needs_qemu
@pytest.mark.parametrize("installed", [True, False])
def test_a_program_that_qemu_cannot_run_gets_all_that_is_possible(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    build(tmp_path, "fails", FAILS_UNDER_QEMU)
    reason = "was killed by SIGABRT under qemu"
    if not installed:
        monkeypatch.setenv("PATH", str(tmp_path))
        reason = "apt-get install qemu-user"
    done = attempt(cache, tmp_path, "try", "--", "./fails")
    assert done.returncode == ExitCode.DONE, done.stderr
    assert reason in done.stderr and "Traceback" not in done.stderr
    assert "fails takes between 1.00 and " in done.stderr
    profile = json.loads((tmp_path / "nearfar-try/run.json").read_text())
    assert profile["phases"][0]["near_cpu_time_ns"]["value"] > 0
    assert profile["objects"][0]["size_bytes"] > 1 << 24
    assert "all that is possible" in (tmp_path / "nearfar-try/report.html").read_text()


def test_an_instrumented_program_reports_its_accesses_itself(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "table.c").write_text(PROGRAM)
    command = ["cc", "-O1", "-g", "table.c", "-o", "table"]
    done = attempt(cache, tmp_path, *command)
    if "install" in done.stderr:
        pytest.skip(done.stderr)
    done = attempt(cache, tmp_path, "try", "--", "./table")
    assert done.returncode == ExitCode.DONE, done.stderr
    assert "instrumented" in done.stderr and "table.c" in done.stderr


@needs_qemu
def test_a_program_that_does_not_end_is_refused(
    cache: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = attempt_in_short(monkeypatch, cache, tmp_path, "--", "sleep", "1000")
    stderr = capfd.readouterr().err
    assert code == ExitCode.MACHINE_LACKS, stderr
    assert "sleep had not ended after" in stderr and "--driver" in stderr
    assert not (tmp_path / "nearfar-try" / "report.html").exists()
    assert not left_running(tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name the program: nearfar try -- PROGRAM ARGS"),
        (("--", "./none"), "cannot run ./none: there is no such file"),
        (("--time", "5s", "--", "true"), "--time must be at least 25s"),
        (("--far", "optane-20", "--", "true"), "optane-200"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    refusal: Refused, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(*words)


@pytest.mark.parametrize(
    "text",
    [to_json(near_memory(0.0)).decode(), "", '{"latency": []}'],
    ids=["zero", "empty", "bare"],
)
def test_a_kept_memory_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "near.json"
    path.write_text(text)
    with pytest.raises(NearfarError, match=r"near\.json"):
        kept.unchanged_memory(path)


def test_a_kept_memory_is_used_while_the_machine_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    near = near_memory(100.0)
    (tmp_path / f"{boot}.json").write_bytes(to_json(near))
    (tmp_path / "cpu").write_text("some avg10=97.50 avg60=90.00 avg300=80.00 total=1\n")
    monkeypatch.setattr(kept, "PRESSURE", tmp_path / "cpu")
    monkeypatch.setattr(kept, "_latency_ns", lambda _figure: 200.0)
    words: list[str] = []
    result = kept.near_memory(words.append, folder=tmp_path)
    assert result.drift == 2.0 and result.device.latency == near.latency
    # Predictions from it know how much it changed.
    quality = quality_of(result.device)
    assert (quality.latency_floor, quality.bandwidth_error(1)) == (1.0, 1.0)
    assert result.device.measured is not None
    assert "takes 2.00 times the 100 ns kept" in result.device.measured.warnings[-1]
    assert near.measured is not None and not near.measured.warnings
    far = [load_device("optane-100-6dimm")]
    noisy, quiet = (
        predict(profile=REDIS, near=device, far=far) for device in (result.device, near)
    )
    assert noisy.noise is not None and "noise floor of 100%" in noisy.noise.sentence
    widths = [made.devices[0].total.slowdown for made in (noisy, quiet)]
    assert widths[0].high - widths[0].low > widths[1].high - widths[1].low
    assert "takes 2.00 times" in words[0] and "the kept one is used" in words[0]


def test_the_smallest_region_that_no_cache_holds_is_looked_at_again() -> None:
    near = near_memory(100.0)
    template = idle_read_latency_ns(near)
    near.latency = [
        msgspec.structs.replace(template, region_bytes=size, page_bytes=page, value_ns=ns)
        for size, page, ns in (
            (CACHE_BYTES, 2 << 20, 20.0),
            (2 * CACHE_BYTES, 4096, 110.0),
            (4 * CACHE_BYTES, 2 << 20, 90.0),
            (16 * CACHE_BYTES, 2 << 20, 100.0),
            (None, 2 << 20, 100.0),
        )
    ]
    assert kept.checked_figure(near).value_ns == 90.0
    near.latency = near.latency[:1]
    assert kept.checked_figure(near).value_ns == 20.0


def test_a_memory_that_cannot_be_kept_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = near_memory(100.0)
    monkeypatch.setattr(kept, "measure", lambda _options, _progress: near)
    (tmp_path / "file").touch()
    words: list[str] = []
    result = kept.near_memory(words.append, folder=tmp_path / "file" / "near")
    assert result == (near, None)
    assert "near memory was measured but could not be saved" in words[0]


@pytest.mark.long
def test_a_memory_that_has_changed_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    # No memory takes 1 ms an access.
    (tmp_path / f"{boot}.json").write_bytes(to_json(near_memory(1e6)))
    monkeypatch.setattr(kept, "PRESSURE", tmp_path / "nothing")  # however busy it is
    monkeypatch.setattr(kept, "MeasureOptions", partial(MeasureOptions, seconds=1.0, only="idle"))
    words: list[str] = []
    result = kept.near_memory(words.append, folder=tmp_path)
    assert result.drift is None and result.device.name != "ddr4-2666-local"
    assert "is measured again" in words[0]
    again = kept.near_memory(folder=tmp_path)
    assert again.device.name == result.device.name
