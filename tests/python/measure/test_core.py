"""The inference of a core: on simulated cores, on scripted times, and on this machine."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from nearfar.__main__ import main
from nearfar.base.errors import ExitCode
from nearfar.documents import MachineProfile, load, save
from nearfar.documents.core import CoreFigure, CoreFigures
from nearfar.machine.read import read_machine
from nearfar.machine.render import render
from nearfar.machine.render_core import core_lines
from nearfar.measure.core import (
    CoreLacksError,
    NativeCore,
    SimulatedCore,
    disagreements,
    measure,
    measure_core,
    self_test,
    simulated_cores,
    subject,
    within_one_step,
)
from nearfar.measure.core.infer import broken_stick, first_break, knee_of
from nearfar.measure.core.probes import COUNTS, FINE, CoreProbes
from nearfar.measure.native import _measure
from nearfar.memories import topology


@pytest.mark.parametrize("core", simulated_cores(seed=3, count=2))
def test_figures_of_a_simulated_core_are_within_one_step_of_the_truth(core: SimulatedCore) -> None:
    for key, truth, figure in self_test(core):
        assert within_one_step(truth, figure), (key, truth, figure)
        assert figure is not None
        low, high = figure.range
        assert low - 1.0 <= truth <= high + 1.0, (key, truth, figure)


def test_verdicts_of_the_self_test_are_written(tmp_path: Path) -> None:
    output = tmp_path / "verdicts.json"
    words = ["measure", "core", "--self-test", "--seed", "3", "-o", str(output), "--quiet"]
    assert main(words) == 0
    verdicts = json.loads(output.read_text())
    assert {"reorder_window", "store_buffer"} <= {each["figure"] for each in verdicts}
    words[-2] = str(tmp_path / "absent" / "v.json")
    assert main(words) == ExitCode.MACHINE_LACKS


def test_features_that_a_simulated_core_lacks_are_not_seen() -> None:
    result = measure_core(SimulatedCore(window=96, store_buffer=24))
    assert result.not_seen["integer_registers"] == "the window is full first"
    assert result.not_seen["load_buffer"] == "the window is full first"
    assert "no prefetcher" in result.not_seen["prefetch_start_lines"]
    assert "no float add" in result.not_seen["float_add_cycles"]
    assert result.load_buffer is None and not result.page_walks


class SharedCore:
    """A core that another hardware thread leaves half of its buffers in every second round."""

    def __init__(self) -> None:
        self.cores = [
            SimulatedCore(window=240, store_buffer=32),
            SimulatedCore(window=120, store_buffer=16),
        ]
        self.round = 0

    def chains(self, counts: list[int], trials: int) -> np.ndarray:
        """Return misses at once, the last that is probed of a round's sizes."""
        times = self.cores[self.round % 2].chains(counts, trials)
        self.round += 1
        return times

    def __getattr__(self, name: str) -> object:
        return getattr(self.cores[self.round % 2], name)


def test_sizes_that_differ_between_rounds_span_both() -> None:
    result = measure_core(SharedCore(), rounds=3)
    window, stores = result.reorder_window, result.store_buffer
    assert window is not None and stores is not None
    assert window.range[0] <= 121 and window.value >= 239 and stores.range[0] <= 17
    assert stores.value == pytest.approx(32, abs=1.0)
    assert "another hardware thread" in window.note


def test_half_of_a_published_size_may_be_whole_later() -> None:
    published = CoreFigures(name="published", reorder_window=CoreFigure(value=512))
    half = CoreFigures(name="here", reorder_window=CoreFigure(value=283, low=276, high=284))
    wider = measure.with_whole_sizes(half, published).reorder_window
    assert wider is not None and wider.range == (276, 512) and "published 512" in wider.note
    other = CoreFigures(name="here", reorder_window=CoreFigure(value=380, low=370, high=390))
    assert measure.with_whole_sizes(other, published) == other


def noisy(curve: np.ndarray) -> np.ndarray:
    return curve * (1.0 + np.random.default_rng(5).normal(0.0, 0.01, len(curve)))


def test_the_first_break_is_where_a_round_takes_one_more_miss() -> None:
    counts = np.asarray(COUNTS, dtype=float)
    flat = noisy(150.0 + 0.05 * counts)
    assert first_break(COUNTS, flat) is None
    risen = noisy(150.0 + 0.05 * counts + 140.0 * (counts > 200) + 150.0 * (counts > 600))
    index = first_break(COUNTS, risen)
    assert index is not None and COUNTS[index - 1] <= 200 < COUNTS[index]
    slight = noisy(150.0 + 0.05 * counts + 50.0 * (counts > 200))
    assert first_break(COUNTS, slight) is None


def test_a_knee_is_the_last_count_that_overlaps() -> None:
    near = list(range(176, 225))
    curve = np.array([150.0] * 20 + [190.0, 220.0, 255.0] + [300.0] * 26)
    knee = knee_of(near, curve, 150.0)
    assert knee is not None and (knee.always, knee.ever) == (195.0, 198.0)
    assert knee_of(near, np.full(49, 150.0), 150.0) is None


def test_a_full_buffer_turns_a_flat_line_into_a_rising_line() -> None:
    counts = list(range(1, 65))
    full = np.maximum(150.0, np.array(counts) * 150.0 / 22.0)
    knee = broken_stick(counts, noisy(full))
    assert knee == pytest.approx(22.0, abs=1.0)
    assert broken_stick(counts, noisy(np.full(64, 150.0))) is None


class Prefetching(SimulatedCore):
    """Simulates a prefetcher that starts after 3 reads, runs 20 lines ahead, strides to 512 B."""

    def after_stream(self, length, stride_bytes, ahead, trials, *, at_page_end=False):
        follows = length >= 3 and 0 < ahead <= 20 and stride_bytes <= 512 and not at_page_end
        hit = follows or ahead == 0
        return np.full(trials, 10.0 if hit else 120.0)


def test_a_prefetcher_shows_its_start_distance_stride_and_page_end() -> None:
    probes = CoreProbes(Prefetching(window=96))
    probes.prefetchers()
    figures = {key: figure.value for key, figure in probes.figures.items()}
    assert figures == {
        "prefetch_start_lines": 3,
        "prefetch_distance_lines": 20,
        "prefetch_stride_bytes": 512,
        "prefetch_next_page": 0,
    }


def test_a_system_that_forbids_generated_code_is_reported(monkeypatch) -> None:
    def forbidden() -> None:
        raise OSError(errno.EACCES, "make generated code executable")

    monkeypatch.setattr(subject, "_measure", Native(forbidden, ""))
    with pytest.raises(CoreLacksError, match="this system forbids generated code"):
        subject.check_code()
    monkeypatch.setattr(subject, "_measure", Native(lambda: None, "code is for x86-64 only"))
    with pytest.raises(CoreLacksError, match=r"^code is for x86-64 only$"):
        subject.check_code()


class Native:
    def __init__(self, check_code, missing: str) -> None:
        self.check_code, self.missing_code = check_code, lambda: missing


CORE = CoreFigures(
    name="here",
    reorder_window=CoreFigure(value=320, low=317, high=321, how="measured", note="two agree"),
    mispredict_cycles=CoreFigure(value=15.7, low=15.5, high=16.0, how="measured"),
    private_bytes=CoreFigure(value=1 << 20, how="measured"),
    not_seen={
        "load_buffer": "the window is full first",
        "store_buffer": "the window is full first",
    },
)


def test_a_core_is_printed_line_by_line() -> None:
    assert list(core_lines(CORE)) == [
        "reorder window: 320 [317, 321] (two agree)",
        "mispredict: 15.7 [15.5, 16] cycles",
        "private: 1.00 MiB",
        "not seen: load buffer, store buffer: the window is full first",
    ]
    machine = read_machine()
    machine.core = CORE
    assert "reorder window: 320 [317, 321]" in render(machine)


def test_measure_core_updates_the_profile_of_this_machine(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(measure, "measure_this_core", lambda _machine, _progress: CORE)
    path = tmp_path / "machine.json"
    before = read_machine()
    before.transparent_huge_pages = "kept"
    save(before, path)
    assert main(["measure", "core", "-o", str(path)]) == ExitCode.DONE
    printed = capsys.readouterr()
    assert "about 40 s" in printed.err and "reorder window: 320" in printed.out
    after = load(path, MachineProfile)
    assert (after.core, after.transparent_huge_pages) == (CORE, "kept")
    before.cpu_model = "another"
    save(before, path)
    assert main(["measure", "core", "-q", "-o", str(path)]) == ExitCode.DONE
    assert load(path, MachineProfile).transparent_huge_pages != "kept"


def test_measure_core_refuses_options_of_a_memory(capsys) -> None:
    assert main(["measure", "core", "--quick"]) == ExitCode.WRONG_USE
    assert "core measures this processor's core: leave out --quick" in capsys.readouterr().err


def test_two_runs_disagree_where_intervals_and_values_differ() -> None:
    other = CoreFigures(name="there", reorder_window=CoreFigure(value=250, low=240, high=260))
    assert disagreements(CORE, CORE) == []
    assert disagreements(CORE, other) == [
        "reorder_window is 320 in one run, 250 in the other",
    ]


@pytest.mark.skipif(bool(_measure.missing_code()), reason="no code is generated here")
def test_window_and_store_buffer_of_this_core_have_a_size_or_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other programs influence agreement of two runs: `benchmarks/rows/core.py` counts it."""
    for trials in ("COARSE_TRIALS", "TRIALS"):  # enough for a size, if not for an exact one
        monkeypatch.setattr(f"nearfar.measure.core.probes.{trials}", 10)
    probes = CoreProbes(NativeCore(topology.detect()))
    probes.window()
    probes.store_buffer()
    for key in ("reorder_window", "store_buffer"):
        assert (key in probes.figures) != (key in probes.not_seen)
    for key, figure in probes.figures.items():
        low, high = figure.range
        assert 0.0 <= low <= figure.value <= high <= COUNTS[-1] + FINE + 2.0, key
