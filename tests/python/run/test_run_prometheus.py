"""Prometheus' own parser reads the metrics of a run and gets the record's figures."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from nearfar.documents import RunRecord, producer
from nearfar.documents.run_record import Migration, ObjectLanding, RunMemory
from nearfar.run.prometheus import MAX_OBJECTS, write_metrics


def landing(number: int) -> ObjectLanding:
    return ObjectLanding(
        object=number, name=f'table "{number}"', planned={"far": 1.0}, planned_bytes=4096,
        recognised_bytes=4096 * (number + 1), bytes_by_memory={"far": 4096 * (number + 1)},
        fallback_bytes=0, on_plan=1.0,
    )  # fmt: skip


def record(objects: int) -> RunRecord:
    return RunRecord(
        producer=producer(), plan="plan.json", policy="plan", command=["./server"],
        executable="/opt/server", exit_status="exited 0", wall_time_ns=2e9, cpu_time_ns=1.5e9,
        allocator="jemalloc", memories=[RunMemory(name="far", device="cxl", spec="node:1")],
        objects=[landing(number) for number in range(objects)],
        pages_by_memory={"near": 1 << 20, "far": 3 << 20}, recognised_share_of_profile=0.995,
        recognised_share_of_heap=None, heap_bytes=4 << 20, out_of_sight_bytes=0, fallback_bytes=0,
        pictures=1, processes=1,
        migrations=[
            Migration(
                time_ns=1e9, why="phase get", object=0, name="table", memory="far",
                moved_bytes=4096, failed_bytes=0, cost_ns=1e5,
            )
        ],
    )  # fmt: skip


def read(path: Path) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(path.read_text())
    return {
        (sample.name, *(str(value) for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_figures_equal_the_records(tmp_path: Path) -> None:
    path = tmp_path / "run.prom"
    write_metrics(record(2), path)
    result = read(path)
    assert result["nearfar_run_cpu_seconds", "/opt/server"] == 1.5
    assert result["nearfar_run_succeeded", "/opt/server"] == 1
    assert result["nearfar_run_memory_bytes", "far", "/opt/server"] == 3 << 20
    assert result["nearfar_run_migrated_bytes", "/opt/server"] == 4096
    assert result["nearfar_run_object_on_plan_ratio", "1", 'table "1"', "/opt/server"] == 1.0
    assert ("nearfar_run_recognised_ratio", "/opt/server") in result


def test_only_the_largest_objects_have_series(tmp_path: Path) -> None:
    path = tmp_path / "run.prom"
    write_metrics(record(MAX_OBJECTS + 30), path)
    named = [key for key in read(path) if key[0] == "nearfar_run_object_on_plan_ratio"]
    assert {int(key[1]) for key in named} == set(range(30, MAX_OBJECTS + 30))


def test_under_a_policy_no_blocks_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "run.prom"
    of_policy = record(0)
    of_policy.processes = 0
    write_metrics(of_policy, path)
    assert "heap" not in path.read_text()
