"""The runtime's arithmetic equals the model's: equal inputs give equal far times."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from property_examples import examples
from samples import device

from nearfar.emulate import cost_file
from nearfar.predict.core_time import TrafficTime, core_time_ns
from nearfar.predict.derive import far_memory, near_memory
from nearfar.predict.traffic import HITS, INDEPENDENT, STREAM

ROOT = Path(__file__).resolve().parents[3]
SHIM = """
#include "profile/runtime/core_time.cpp"
using namespace nearfar::profile;
extern "C" double far_time(double near_ns, const double* lines, const double* moved,
                           const double* near, const double* far, unsigned factors) {
  double all[charges], some[charges];
  for (unsigned i = 0; i < charges; ++i) { all[i] = lines[i]; some[i] = moved[i]; }
  return far_time_ns(near_ns, all, some, reinterpret_cast<const LineCost*>(near),
                     reinterpret_cast<const LineCost*>(far), factors);
}
extern "C" unsigned long file_size() { return sizeof(EmulationFile); }
extern "C" void settled(EmulationFile* file, unsigned phase, unsigned long waited_ns,
                        unsigned long unpaid_ns) {
  file->waited_ns[phase] = waited_ns;
  file->unpaid_ns[phase] = unpaid_ns;
}
extern "C" unsigned long min_ns_of(const EmulationFile* file) { return file->min_ns; }
extern "C" double slow_motion_of(const EmulationFile* file) {
  return file->version == emulation_version ? file->slow_motion : 0.0;
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.cpp").write_text(SHIM)
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT}/native"]
    subprocess.run([*command, folder / "shim.cpp", "-o", folder / "shim.so"], check=True)
    library = ctypes.CDLL(str(folder / "shim.so"))
    library.far_time.restype = ctypes.c_double
    library.far_time.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 4, ctypes.c_uint]
    return library


def by_the_model(
    near_ns: float, lines: np.ndarray, moved: np.ndarray, near: np.ndarray, far: np.ndarray
) -> float:
    """Return the far time by the model, on the same grid of overlaps."""

    def part(count: np.ndarray, costs: np.ndarray) -> TrafficTime:
        return TrafficTime(*(count @ costs).tolist(), float(count.sum()))

    spent = [core_time_ns(0.0, [part(lines, costs)], [1.0]) for costs in near]
    explains = [i for i, ns in enumerate(spent) if ns >= near_ns]
    at = explains[-1] if explains else 0
    scale, other, way = 1.0, 0.0, 0.0
    then = min(at + 1, len(near) - 1)
    if spent[at] > near_ns and then == at:
        scale = near_ns / spent[at]
    elif spent[at] > near_ns:
        low, high = 0.0, 1.0
        for _ in range(40):
            way = (low + high) / 2
            mixed = part(lines, near[at] + way * (near[then] - near[at]))
            if core_time_ns(0.0, [mixed], [1.0]) > near_ns:
                low = way
            else:
                high = way
    elif spent[at] < near_ns:
        low, high = 0.0, near_ns
        for _ in range(40):
            middle = (low + high) / 2
            if core_time_ns(middle, [part(lines, near[at])], [1.0]) > near_ns:
                high = middle
            else:
                low = middle
        other = low
    costs = [table[at] + way * (table[then] - table[at]) for table in (near, far)]
    both = [part(lines - moved, costs[0]), part(moved, costs[1])]
    return float(scale * core_time_ns(other, both, [1.0, 1.0]))


@examples(60)
@given(
    counts=st.lists(st.integers(0, 20_000), min_size=HITS, max_size=HITS),
    share=st.floats(0.0, 1.0),
    ns_per_line=st.floats(0.5, 400.0),
)
def test_far_time_equals_the_models(
    shim: ctypes.CDLL, counts: list[int], share: float, ns_per_line: float
) -> None:
    near = near_memory(device("near"))
    far = far_memory(device("far", 300.0, 5.0, 2.0), near)
    tables = [np.ascontiguousarray(cost_file.costs(each, True)) for each in (near, far)]
    lines = np.array(counts, dtype=float)
    moved = lines * share
    near_ns = ns_per_line * (float(lines.sum()) + 1.0)
    pointers = [a.ctypes.data for a in (lines, moved, *tables)]
    ours = shim.far_time(near_ns, *pointers, cost_file.FACTORS)
    assert ours == pytest.approx(by_the_model(near_ns, lines, moved, *tables), rel=1e-4)


@pytest.mark.parametrize("ns_per_line", [8.0, 11.0, 16.0, 23.0, 31.0, 47.0, 64.0, 77.0])
def test_between_two_overlaps_the_far_time_is_that_of_a_fine_grid(
    shim: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, ns_per_line: float
) -> None:
    """Far memory may be bound by bandwidth too: more overlap makes that no faster."""
    near = near_memory(device("near"))
    far = far_memory(device("far", 300.0, 1.0, 0.5), near)
    lines = np.zeros(HITS)
    lines[INDEPENDENT] = 20_000.0
    results = []
    for factors in (cost_file.FACTORS, 16 * cost_file.FACTORS):
        monkeypatch.setattr(cost_file, "FACTORS", factors)
        tables = [np.ascontiguousarray(cost_file.costs(each, True)) for each in (near, far)]
        pointers = [a.ctypes.data for a in (lines, lines, *tables)]
        results.append(shim.far_time(ns_per_line * lines.sum(), *pointers, factors))
    assert results[0] == pytest.approx(results[1], rel=0.01)


def test_the_file_has_the_layout_that_the_runtime_reads(shim: ctypes.CDLL, tmp_path: Path) -> None:
    near = near_memory(device("near"))
    path = tmp_path / cost_file.FILE_NAME
    cost_file.write(path, near, near, {-1: 0.5}, [7, 3], ahead=True, slow_motion=2.5)
    content = path.read_bytes()
    shim.file_size.restype = ctypes.c_ulong
    shim.slow_motion_of.restype = ctypes.c_double
    shim.min_ns_of.restype = ctypes.c_ulong
    assert shim.slow_motion_of(content) == 2.5
    assert shim.min_ns_of(content) == cost_file.MIN_BATCH_NS
    costs = 2 * cost_file.FACTORS * 7 * cost_file.TERMS * 8
    assert len(content) == shim.file_size() + costs + 2 * 8
    assert cost_file.read_settlement(path) == cost_file.Settlement(0, 0)
    written = ctypes.create_string_buffer(content, len(content))
    shim.settled.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_ulong, ctypes.c_ulong]
    shim.settled(written, 2, 7, 9)
    shim.settled(written, cost_file.PHASES - 1, 0, 1)
    path.write_bytes(written.raw)
    settled = cost_file.read_settlement(path)
    assert settled.waited_by_phase[:4] == (0, 0, 7, 0)
    assert settled.unpaid_by_phase[:4] == (0, 0, 9, 0)
    assert settled.unpaid_ns == 10


def test_streams_are_fetched_as_profiled_at_any_near_time() -> None:
    near = near_memory(device("near"))
    busy = replace(near, core_stream_ns=2.0 * near.cost_ns(32.0))
    # By terms: loads, stream.
    assert (cost_file.costs(busy, True)[:, STREAM, :2] == [0.0, busy.core_stream_ns]).all()
    on_demand = cost_file.costs(near, False)[:, STREAM]
    assert (on_demand[:, 0] > 0.0).all() and (on_demand[:, 1] == 0.0).all()
