"""Page curves of a real program compared with its access patterns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from forked import nearfar

from nearfar.documents import WorkloadProfile, load
from nearfar.documents.workload import PageCurve

pytestmark = pytest.mark.timing

PAGES = 64 << 8
SOURCE = r"""
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdlib.h>
static volatile uint64_t sink;
static uint64_t a[PAGES * 512];
int main(void) {
  uint64_t sum = 0, r = 88172645463325252ull;
  NEARFAR_BEGIN("fill");
  for (uint64_t i = 0; i < PAGES * 512; ++i) a[i] = i / 64;
  NEARFAR_END("fill", 0);
  NEARFAR_BEGIN("sweep");
  for (int pass = 0; pass < 6; ++pass)
    for (uint64_t i = 0; i < PAGES * 512; ++i) sum += a[i];
  NEARFAR_END("sweep", 0);
  NEARFAR_BEGIN("random");
  for (uint64_t i = 0; i < 40 * PAGES; ++i) {
    r ^= r << 13; r ^= r >> 7; r ^= r << 17;
    sum += a[r % (PAGES * 512)];
  }
  NEARFAR_END("random", 0);
  sink = sum;
}
"""


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[float], PageCurve]]:
    """Return each phase's sizes of near memory and curve of the array, 64 MiB."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "a.c").write_text(SOURCE)
    include = Path(__file__).parents[3] / "include"
    options = ["-O2", f"-I{include}", f"-DPAGES={PAGES}ull", "a.c", "-o", "a"]
    nearfar("cc", *options, cwd=folder, check=True)
    run = ["profile", "-q", "--repetitions", "1", "-o", "run.json", "--", "./a"]
    nearfar(*run, cwd=folder, check=True)
    profile = load(folder / "run.json", WorkloadProfile)
    by_phase = {}
    for phase in profile.phases:
        row = max(phase.objects, key=lambda row: row.traffic.accesses, default=None)
        if row is not None and row.page_curve is not None:
            by_phase[phase.name] = (profile.page_curve_bytes, row.page_curve)
    return by_phase


def faults(curves: dict[str, tuple[list[float], PageCurve]], phase: str, share: float) -> float:
    """Return faults per page with a share of the array near."""
    sizes, curve = curves[phase]
    assert np.all(np.diff(curve.faults) <= 0)
    return float(np.interp(share * PAGES * 4096, sizes, curve.faults)) / PAGES


def test_every_page_of_a_sweep_faults_unless_all_fit(
    curves: dict[str, tuple[list[float], PageCurve]],
) -> None:
    assert curves["fill"][1].first == pytest.approx(PAGES, rel=0.08)
    assert faults(curves, "sweep", 0.9) == pytest.approx(6, rel=0.1)
    assert faults(curves, "sweep", 1.1) == 0.0


def test_a_random_touch_faults_as_often_as_its_page_is_not_near(
    curves: dict[str, tuple[list[float], PageCurve]],
) -> None:
    for share in (0.75, 0.5, 0.25):
        assert faults(curves, "random", share) == pytest.approx(40 * (1 - share), rel=0.25)
    _, curve = curves["random"]
    assert sum(curve.times) == pytest.approx(40 * PAGES, rel=0.15)


def test_pages_that_nobody_stores_to_again_are_written_once(
    curves: dict[str, tuple[list[float], PageCurve]],
) -> None:
    written = sum(max(curves[phase][1].written) for phase in ("sweep", "random"))
    assert written == pytest.approx(PAGES, rel=0.1)
    share = curves["random"][1].compressed_share
    assert share is not None
    assert share < 0.2  # 64 equal words in a row
    work = curves["random"][1].compression_work
    assert work is not None
    assert 8 * 8 < work < 512  # 8 matches, and the places around them


LIST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node* next; char text[240]; };
int main(void) {
  memset(sbrk(1 << 20), 1, 1 << 20);  // unknown memory
  struct node* head = NULL;
  for (int i = 0; i < 120000; ++i) {
    struct node* made = malloc(sizeof *made);
    memset(made->text, i, sizeof made->text);
    made->next = head;
    head = made;
  }
  long sum = 0;
  for (struct node* at = head; at != NULL; at = at->next) sum += at->text[3];
  printf("%ld\\n", sum);
}
"""


def test_pages_of_a_heap_are_those_of_its_small_blocks(tmp_path: Path) -> None:
    """A heap's page is touched before the block on its sampled line is allocated."""
    (tmp_path / "list.c").write_text(LIST)
    nearfar("cc", "-O2", "list.c", "-o", "list", cwd=tmp_path, check=True)
    run = ["profile", "-q", "--repetitions", "1", "-o", "run.json", "--", "./list"]
    nearfar(*run, cwd=tmp_path, check=True)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    first = {
        profile.objects[row.object].kind: row.page_curve.first * 4096
        for phase in profile.phases
        for row in phase.objects
        if row.page_curve is not None
    }
    assert first["heap"] == pytest.approx(120_000 * 256, rel=0.2)
    assert first.get("unknown", 0.0) < 4 << 20
