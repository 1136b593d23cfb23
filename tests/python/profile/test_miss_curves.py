"""Miss curves of real programs compared with their access patterns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiling import compiled, nearfar

from nearfar.documents import WorkloadProfile, load
from nearfar.predict.other_machine import with_cache
from nearfar.profile.miss_curves import CURVE_BYTES, NEAR_STACK_LINES, misses_by_size
from nearfar.profile.run_file import CURVE_EDGES_BYTES

pytestmark = pytest.mark.timing

SOURCE = r"""
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static volatile uint64_t sink;
int main(int argc, char** argv) {
  size_t lines = (size_t)atol(argv[1]) * 16384, passes = (size_t)atol(argv[2]);
  char* a = aligned_alloc(4096, lines * 64);
  memset(a, 1, lines * 64);
  uint64_t sum = 0, r = 88172645463325252ull;
  NEARFAR_BEGIN("sweep");
  for (size_t p = 0; p < passes; ++p)
    for (size_t i = 0; i < lines; ++i) sum += (uint64_t)a[i * 64];
  NEARFAR_END("sweep", 0);
  NEARFAR_BEGIN("random");
  for (size_t i = 0; i < passes * lines; ++i) {
    r ^= r << 13; r ^= r >> 7; r ^= r << 17;
    sum += (uint64_t)a[(r % lines) * 64];
  }
  NEARFAR_END("random", 0);
  sink = sum;
  return argc < 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curves")
    (folder / "a.c").write_text(SOURCE)
    include = Path(__file__).parents[3] / "include"
    nearfar("cc", "-O2", f"-I{include}", "a.c", "-o", "a", cwd=folder)
    return folder / "a"


@pytest.mark.parametrize("mebibytes", [8, 160])
def test_a_sweep_is_a_cliff_and_random_touches_are_a_slope(
    program: Path, tmp_path: Path, mebibytes: int
) -> None:
    passes = 6
    words = ["-q", "--repetitions", 1, "--llc", "1MiB", "--ways", 16, "-o", "run.json"]
    nearfar("profile", *words, "--", program, mebibytes, passes, cwd=tmp_path)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    sizes = np.array(profile.curve_bytes)
    touches = passes * mebibytes * 16384
    footprint = mebibytes << 20
    for phase in profile.phases[1:]:
        row = max(phase.objects, key=lambda row: row.traffic.accesses)
        assert row.curve is not None
        curve = np.array(row.curve.read)
        assert np.all(np.diff(curve) <= 0)
        small, large = sizes <= footprint / 2, sizes >= 1.5 * footprint
        if phase.name == "sweep":
            # Everything misses until the whole array fits. At most the first touches remain beyond.
            assert curve[small] == pytest.approx(touches, rel=0.12)
            assert np.all(curve[large] <= 0.15 * touches)
        else:
            expected = touches * (1 - sizes[small] / footprint)
            assert curve[small] == pytest.approx(expected, rel=0.15)
            assert np.all(curve[large] <= 0.15 * touches)


@pytest.mark.parametrize("rate", [1, 64])
def test_a_sweep_at_the_near_stacks_reach_ends_there(rate: int) -> None:
    """The near stack sees beyond its end, the far stack before it: both sample lines."""
    reach = int(np.searchsorted(CURVE_EDGES_BYTES, NEAR_STACK_LINES * rate * 64, side="right")) - 1
    near, far = np.zeros(64), np.zeros(64)
    near[reach - 8] = far[reach - 8] = 500.0  # the other, nearer data
    first, again = 1000.0, 2000.0
    far[reach], far[-1] = again, first
    row = {"near": near, "far": far, "beyond": first + again}
    curve = dict(zip(CURVE_BYTES, misses_by_size(row, rate), strict=True))
    assert curve[CURVE_EDGES_BYTES[reach - 2]] == (first + again) * rate
    assert curve[CURVE_EDGES_BYTES[reach + 2]] == first * rate


def test_atomic_additions_miss_as_often_in_a_cache_of_the_same_size(tmp_path: Path) -> None:
    program = compiled("additions.c", tmp_path, "-O1")
    nearfar(
        "profile", "-o", "run.json", "--llc", "1MiB", "--repetitions", 1, "--", program,
        cwd=tmp_path,
    )  # fmt: skip
    profile = load(tmp_path / "run.json", WorkloadProfile)

    def misses(profile: WorkloadProfile) -> float:
        (phase,) = (phase for phase in profile.phases if phase.name == "add")
        return sum(row.traffic.read_misses.total() for row in phase.objects)

    # 31 in 32 lines are not in the cache.
    assert misses(profile) == pytest.approx(2**20 * 31 / 32, rel=0.05)
    # Where the number of this machine's ways is not a power of two, about 1 MiB is simulated.
    assert misses(with_cache(profile, profile.cache.size_bytes)) == pytest.approx(misses(profile))
    # 2^18 lines fill the larger cache in 2^19 ln 2 additions, then every second one misses.
    filled = 2**19 * np.log(2)
    expected = 2**18 + (2**20 - filled) / 2
    assert misses(with_cache(profile, 16 << 20)) == pytest.approx(expected, rel=0.1)
