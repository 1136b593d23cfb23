"""Which workers a sweep starts with, and how long it waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import distributed
import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.sweep import cluster
from nearfar.sweep.batch import versions_here

DASK: Any = distributed


@pytest.fixture
def workers() -> Iterator[Any]:
    """Yield a cluster in this process, without workers."""
    with DASK.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None,
        resources={cluster.MACHINE: 1},
    ) as made:  # fmt: skip
        yield made


@pytest.mark.parametrize("measured", [False, True])
def test_a_worker_that_starts_late_is_waited_for(workers: Any, measured: bool) -> None:
    with DASK.Client(workers) as client:
        workers.loop.call_later(0.5, workers.scale, 1)
        cluster.check_workers(client, versions_here(), measured=measured)
        assert len(client.scheduler_info()["workers"]) == 1


def test_a_scheduler_without_workers_is_refused(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WORKERS_S", 0.3)
    with DASK.Client(workers) as client, pytest.raises(NearfarError) as refused:
        cluster.check_workers(client, versions_here(), measured=False)
    assert str(refused.value).startswith("the scheduler has no workers: start some")
    assert refused.value.exit_code is ExitCode.MACHINE_LACKS


def test_workers_none_of_which_measures_are_refused_for_measured_points(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MACHINE", "another resource")
    monkeypatch.setattr(cluster, "WORKERS_S", 0.3)
    workers.scale(1)
    with DASK.Client(workers) as client:
        client.wait_for_workers(1)
        cluster.check_workers(client, versions_here(), measured=False)
        with pytest.raises(NearfarError, match="no worker may measure: start one on every host"):
            cluster.check_workers(client, versions_here(), measured=True)
