"""A sweep file becomes points: each once, named by its inputs, checked before the run."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import polars
import pyarrow.dataset
import pytest
import samples

from nearfar.base.errors import NearfarError
from nearfar.documents import save
from nearfar.documents.sweep import Sweep
from nearfar.points.row import PointRow
from nearfar.sweep.api import SweepExecution, sweep
from nearfar.sweep.batch import BatchOrder, BatchResult, run_batch
from nearfar.sweep.dataset import Dataset, part_path, write_part
from nearfar.sweep.dispatch import Queue, batch_id
from nearfar.sweep.expand import SweepPoint
from nearfar.sweep.planning import PlannedSweep, plan

SIMULATE = """
[[simulate]]
far = ["optane-100-6dimm", "cxl-e3s-x8"]
region = ["1MiB", "2MiB"]
lines = 1000
seed = [1, 2, 3]
"""


def planned(folder: Path, text: str) -> PlannedSweep:
    path = folder / "sweep.toml"
    path.write_text(text)
    return plan(path)


def order(what: PlannedSweep, dataset: Dataset, token: str, **changes: str) -> bytes:
    points = list(what.matrix.points.values())
    names = {name for point in points for name in point.needs}
    return msgspec.msgpack.encode(
        BatchOrder(
            batch=batch_id(points),
            points=[(point.id, point.kind, point.parameters) for point in points],
            measured=False,
            versions=what.matrix.versions | changes,
            digests={name: what.inputs.digest(name) for name in names},
            folder=str(dataset.folder),
            token=token,
        )
    )


def answer_of(what: PlannedSweep, ordered: bytes) -> BatchResult:
    names = {name for point in what.matrix.points.values() for name in point.needs}
    contents = {name: what.inputs.text(name) for name in names}
    return msgspec.msgpack.decode(run_batch(ordered, contents), type=BatchResult)


def test_lists_multiply_and_equal_points_are_merged(tmp_path: Path) -> None:
    single = planned(tmp_path, SIMULATE).matrix.points
    assert len(single) == 2 * 2 * 3
    # Repeated values and explicit defaults give the same point.
    twice = planned(tmp_path, SIMULATE + SIMULATE.replace("[1, 2, 3]", '1\npattern = "chase"'))
    assert set(twice.matrix.points) == set(single)
    assert set(planned(tmp_path, SIMULATE.replace("1000", "1001")).matrix.points).isdisjoint(single)


def test_a_program_that_is_run_brings_its_profile(tmp_path: Path) -> None:
    save(samples.device("near"), tmp_path / "near.json")
    save(samples.workload(4), tmp_path / "old.json")
    text = """
near = "near.json"
[programs.run]
command = "sh {n} {seed} x"
size = { n = [10, 1e6] }
seed = [1, 2]
[programs.old]
profile = "old.json"
[[predict]]
program = ["run", "old"]
near = "./near.json"
far = ["optane-100-6dimm", "cxl-e3s-x8"]
model = ["best", "misses"]
[[place]]
program = "old"
far = "cxl-e3s-x8"
near = "./near.json"
budget = ["25%", "1MiB"]
"""
    points = planned(tmp_path, text).matrix.points.values()
    kinds = [point.kind for point in points]
    assert (kinds.count("profile"), kinds.count("predict"), kinds.count("place")) == (4, 20, 2)
    commands = {tuple(msgspec.json.decode(p.parameters).get("command", [])) for p in points}
    assert ("sh", "1000000", "2", "x") in commands
    queue = Queue(points, set(), threads=2)
    first = {queue.next(measured=True)[0].id for _ in range(4)}
    assert queue.next(measured=True) == []
    free = 0
    while batch := queue.next(measured=False):
        free += len(batch)
    assert free == 4 + 2
    profile = first.pop()
    queue.finish([profile])
    assert len(queue.never(first.pop())) == 4
    assert queue.next(measured=False)[0].needs[0] == f"point:{profile}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no points"),
        ("[[simulat]]\nfar = 'x'", "did you mean 'simulate'"),
        ("[[simulate]]\nfra = 'x'", "did you mean 'far'"),
        ("[[simulate]]\nfar = 'optane-100-6dim'", "did you mean 'optane-100-6dimm'"),
        ("[[simulate]]\nfar = 'cxl-e3s-x8'\nseed = []", "empty list"),
        ("[[simulate]]\nfar = 'cxl-e3s-x8'\nstride = '4KiB'", "--stride needs"),
        ("[[simulate]]\nfar = 'cxl-e3s-x8'\nseed = [1, -1]", "the seed of a simulation must be 0"),
        (f"[[simulate]]\nfar = 'cxl-e3s-x8'\nseed = {2**63}", "a number of 64 bits"),
        ("[[simulate]]\nfar = 'cxl-e3s-x8'\nlines = [1, 0]", "lines, the number to simulate"),
        ("[[simulate]]\nfar = 'cxl-e3s-x8'\nin_flight = nan", "in_flight must be 1"),
        (
            f"[programs.a]\ncommand = 'sh {{seed}}'\nseed = {2**64}\n[[measure]]\nprogram = 'a'",
            "a number of 64 bits",
        ),
        ("[[measure]]\nprogram = 'a'", "there is no program 'a'"),
        ("[programs.a]\ncommand = 'sh {n}'\n[[measure]]\nprogram = 'a'", "no size of that name"),
        (
            "[programs.a]\ncommand = 'sh'\nprofile = 'x'\n[[measure]]\nprogram = 'a'",
            "exactly one of",
        ),
        (
            "[programs.a]\nformulas = 'thesis-hashmap'\n[[predict]]\nprogram = 'a'\n"
            "near = 'thesis-dram'\nfar = 'thesis-pmem'\nsize = { q = 1 }",
            "no size 'q'",
        ),
        (
            "[programs.a]\nformulas = 'thesis-hashmap'\n[[predict]]\nprogram = 'a'\n"
            "near = 'thesis-dram'\nfar = 'zram-lz4'",
            "needs near_budget",
        ),
        (
            "[programs.a]\nformulas = 'thesis-hashmap'\n[[predict]]\nprogram = 'a'\n"
            "near = 'thesis-dram'\nfar = 'thesis-pmem'\nnear_budget = '50%'",
            "near_budget is for memory that is moved in pages",
        ),
    ],
)
def test_impossible_points_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(NearfarError, match=said):
        planned(tmp_path, text)


def test_a_batch_is_computed_once_and_readable_by_common_tools(tmp_path: Path) -> None:
    what, dataset = planned(tmp_path, SIMULATE), Dataset(tmp_path / "out")
    dataset.open()
    ordered = order(what, dataset, dataset.token)
    first = answer_of(what, ordered)
    assert (first.computed, len(first.finished), first.rows) == (12, 12, [])
    assert answer_of(what, ordered).computed == 0
    assert dataset.finished() == set(what.matrix.points)
    table = pyarrow.dataset.dataset(dataset.folder / "results").to_table()
    assert polars.from_arrow(table).select("far", "seed").unique().height == 6  # type: ignore[union-attr]
    # Where the folder is not shared, rows are sent; they are equal except for their times.
    elsewhere = answer_of(what, order(what, dataset, "another token"))
    assert {row.point: row.ns_per_access for row in elsewhere.rows} == dict(
        zip(table["point"].to_pylist(), table["ns_per_access"].to_pylist(), strict=True)
    )
    write_part(part_path(dataset.folder, "again"), elsewhere.rows)
    dataset.close()


def test_another_version_of_nearfar_is_refused_in_one_sentence(tmp_path: Path) -> None:
    what, dataset = planned(tmp_path, SIMULATE), Dataset(tmp_path / "out")
    dataset.open()
    result = answer_of(what, order(what, dataset, dataset.token, simulate="0.0.1+0"))
    assert "install the same nearfar there" in result.refused
    assert not result.finished
    dataset.close()


def test_a_dataset_of_an_older_version_and_one_in_use_are_refused(tmp_path: Path) -> None:
    what, folder = planned(tmp_path, SIMULATE), tmp_path / "out"
    single = Dataset(folder)
    single.open()
    with pytest.raises(NearfarError, match="another sweep writes"):
        Dataset(folder).open()
    single.close()
    record = Sweep(
        producer=samples.producer(["x"]),
        file="",
        text="",
        dataset="",
        versions={},
        points={},
        finished_before=0,
        finished_now=0,
        failed=[],
    )
    record.version = 0
    save(record, folder / "sweep.json")
    with pytest.raises(NearfarError, match="sweep of version 0"):
        sweep(what, folder, SweepExecution(say=lambda _: None))


def test_forty_thousand_points_are_planned_in_seconds(tmp_path: Path) -> None:
    seeds = ", ".join(map(str, range(10_000)))
    begun = time.process_time()
    assert len(planned(tmp_path, SIMULATE.replace("1, 2, 3", seeds)).matrix.points) == 40_000
    # 4 % of a million points get 4 % of fifteen seconds of CPU time, with a fourfold reserve.
    assert time.process_time() - begun < 2.4


def test_batches_shrink_towards_the_end() -> None:
    points = [SweepPoint(str(i), "simulate", b"", (), measured=False) for i in range(100)]
    queue = Queue(points, set(), threads=2)
    assert len(queue.next(measured=False)) == 1
    queue.learn("simulate", 0.01, 1)
    sizes = []
    while batch := queue.next(measured=False):
        sizes.append(len(batch))
    assert sizes[0] == 13
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_columns_are_declared_once() -> None:
    row = PointRow(
        point="a", kind="k", parameters="{}", nearfar="1", host="h", started_utc="", seconds=0.0
    )
    assert set(msgspec.structs.asdict(row)) == set(PointRow.__struct_fields__)
