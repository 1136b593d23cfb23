"""Each kind in a pool: content after the run, after reopening, after a drive; damaged pools."""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar_bench.memories import TMPFS, find_memory
from nearfar_bench.native import bench_file, kinds, run

try:
    NEEDS = kinds()["log"].needs
except NearfarError as error:
    NEEDS = str(error)
pytestmark = pytest.mark.skipif(bool(NEEDS), reason=f"pools need {NEEDS}")

RUNS = {
    "list": ("intset", {"structure": "list", "initial": "50", "operations": "500"}),
    "hash": ("intset", {"structure": "hash", "operations": "500", "buckets": "16"}),
    "skip": ("intset", {"structure": "skip", "operations": "500", "removes": "last"}),
    "offsets": ("intset", {"structure": "skip", "operations": "500", "reference": "offset"}),
    "published": ("intset", {"structure": "hash", "operations": "500", "safety": "published"}),
    "unlogged": ("intset", {"structure": "skip", "operations": "500", "safety": "unlogged"}),
    "sets of threads": ("intset", {"structure": "hash", "operations": "300", "threads": "2"}),
    "log": ("log", {"operations": "500", "pool_bytes": "16KiB"}),
    "log by sums": ("log", {"operations": "500", "pool_bytes": "16KiB", "commit": "checksum"}),
    "pages": ("pages", {"operations": "200", "pages": "8", "threads": "2"}),
    "store": ("store", {"operations": "2000", "keys": "16", "log": "8KiB"}),
    "stream": ("stream", {"elements": "4096", "rounds": "3", "stores": "flushed"}),
    "streamed": ("stream", {"elements": "4096", "rounds": "3", "stores": "streamed"}),
    "spmv": ("spmv", {"rows": "500", "rounds": "2", "threads": "2"}),
    "blocks": ("blocks", {"operations": "50", "blocks": "8"}),
    "blocks by calls": ("blocks", {"operations": "50", "blocks": "8", "way": "written"}),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nearfar-test-", dir=TMPFS) as name:
        yield Path(name)


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [bench_file("nearfar-bench"), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**find_memory("tmpfs").environment()},
    )


@pytest.mark.parametrize("name", RUNS)
def test_content_is_verified_before_and_after_reopening(name: str):
    kind, arguments = RUNS[name]
    line = run(kind, arguments, find_memory("tmpfs"), "time")
    assert line.verified == ["after the run", "after reopening"]
    assert line.operations > 0
    assert "tmpfs is not persistent" in line.durability["survives"]


def test_a_set_costs_its_counted_operations(folder: Path):
    del folder
    arguments = {"structure": "hash", "initial": "200", "operations": "4000"}
    flushed = run("intset", arguments, find_memory("tmpfs"), "count")
    synced = run("intset", arguments, find_memory("tmpfs,msync"), "count")
    changes = flushed.operations * (flushed.notes["changes_share"] or 0.0)
    assert flushed.counts["transactions"] == pytest.approx(changes)
    assert flushed.counts["snapshots"] == pytest.approx(changes)
    # The SSD's prediction depends on this: libpmem syncs each range that it would flush.
    assert synced.counts["msyncs"] == pytest.approx(flushed.counts["flush_calls"], rel=0.01)
    # Each change allocates or frees a node, and libpmemobj's own functions are counted once.
    assert flushed.counts["allocations"] + flushed.counts["frees"] == pytest.approx(changes)
    unlogged = run("intset", {**arguments, "safety": "unlogged"}, find_memory("tmpfs"), "count")
    assert unlogged.counts["snapshots"] == 0
    assert unlogged.counts["fences"] < flushed.counts["fences"]


PAGE = 4096
WORD = 8


def _in_record(content: bytearray) -> None:
    # The pool's header, the log's head, then the first record: four words and its content.
    content[2 * PAGE + 4 * WORD] ^= 1


def _in_pages(content: bytearray) -> None:
    # The header, a table, then six slots, of which four are in use.
    for slot in range(6):
        content[(2 + slot) * PAGE + 100] ^= 1


def _unknown_key(content: bytearray) -> None:
    # The header, two pages of log, then slots of two lines that begin with the key.
    free = next(at for at in range(3 * PAGE, len(content), 128) if not any(content[at : at + WORD]))
    content[free] = 100


def _other_key(content: bytearray) -> None:
    # A node of a list is its key and the next node's name: the pool's id and an offset.
    words = array("Q", bytes(content[: len(content) // WORD * WORD]))
    bits = 2**64 - 1  # in the allocator's bitmaps
    identity, _ = Counter(word for word in words if word >> 32 and word != bits).most_common(1)[0]
    for at in range(0, len(words) - 1, 2):
        if 0 < words[at] < 64 and words[at + 1] == identity:
            content[at * WORD] ^= 1


DAMAGE: dict[str, Callable[[bytearray], None]] = {
    "log": _in_record,
    "pages": _in_pages,
    "store": _unknown_key,
    "intset": _other_key,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_driven_pool_passes_its_check_and_a_damaged_one_does_not(kind: str, folder: Path):
    pool = folder / "pool"
    for seed in ("2", "2"):  # created, then opened again
        assert bench("drive", kind, str(pool), "60", seed).returncode == 0
        checked = bench("check", kind, str(pool))
        assert checked.returncode == 0, checked.stderr
    if kind != "log":
        assert bench("dump", kind, str(pool)).stdout
    content = bytearray(pool.read_bytes())
    DAMAGE[kind](content)
    pool.write_bytes(content)
    damaged = bench("check", kind, str(pool))
    assert damaged.returncode == ExitCode.FOUND
    assert damaged.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("run", "log", "memory=pool", "pool={}/a", "record=1MiB", "pool_bytes=4KiB"), 2, "small"),
        (("run", "intset", "memory=pool", "pool={}/a", "pool_bytes=1MiB"), 2, "too small"),
        (("run", "log", "memory=pool", "pool={}"), 2, ""),
        (("run", "log", "memory=volatile", "pool={}/a"), 2, "memory=pool"),
        (("run", "intset", "range=3", "initial=9"), 2, "range=3"),
        (("run", "intset", "buckets=12", "structure=hash"), 2, "power of two"),
        (("run", "intset", "safety=published"), 2, "memory=pool"),
        (("run", "intset", "structure=tree"), 2, "structure"),
        (("run", "intset", "updates=101"), 2, "0 to 100"),
        (("run", "store", "memory=pool", "pool={}/a", "log=4KiB"), 2, "too small"),
        (("run", "stream", "stores=flushed"), 2, "memory=pool"),
        (("run", "blocks", "memory=pool", "pool=/proc/none"), 2, "/proc/none"),
        (("check", "log", "{}/absent"), 2, "absent"),
        (("check", "intset", "{}/absent"), 2, "absent"),
    ],
)
def test_wrong_pools_are_refused_in_one_sentence(
    words: tuple[str, ...], code: int, message: str, folder: Path
):
    answer = bench(*(word.replace("{}", str(folder)) for word in words))
    assert answer.returncode == code, answer.stderr
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not list(folder.iterdir()), "nothing is left behind"


def test_other_layouts_and_pools_in_use_are_distinguished(folder: Path):
    sets, pages = folder / "sets", folder / "pages"
    bench("drive", "intset", str(sets), "3", "1")
    bench("drive", "pages", str(pages), "3", "1")
    assert "layout" in bench("check", "log", str(pages)).stderr
    assert "pool" in bench("check", "intset", str(pages)).stderr
    with sets.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "in use" in bench("check", "intset", str(sets)).stderr
    content = bytearray(sets.read_bytes())
    content[4096 + len("nearfar-intset-")] = ord("9")
    sets.write_bytes(content)
    assert "another version" in bench("check", "intset", str(sets)).stderr
