"""`_measure` as other parts use it: parallel workers, two memories, core to core."""

from __future__ import annotations

import pytest

from nearfar import _measure
from nearfar.memories.topology import detect

CPUS = detect().cpus[:2]


def memory(size_bytes: int = 1 << 20) -> _measure.Memory:
    return _measure.Memory.anonymous(size_bytes, "4k")


def test_parallel_workers_report_their_traffic() -> None:
    near, far = memory(), memory()
    workers = [
        _measure.Worker(CPUS[0], "copy", near, far),
        _measure.Worker(CPUS[-1], "mixed", near, shape=_measure.Shape(read_share=0.25)),
        _measure.Worker(CPUS[-1]),
    ]
    copied, mixed, spun = _measure.together(workers, 20e6, 1e6).each
    assert copied.read_gb_per_s == pytest.approx(copied.written_gb_per_s)
    assert mixed.read_gb_per_s == pytest.approx(mixed.gb_per_s * 0.25)
    assert spun.gb_per_s == 0


def test_a_copy_between_memories_needs_a_kernel_that_copies() -> None:
    worker = _measure.Worker(CPUS[0], "read", memory(), memory())
    with pytest.raises(ValueError, match="does not copy to a second memory"):
        _measure.together([worker], 1e6, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"access_bytes": 100}, "whole lines"),
        ({"access_bytes": 0}, "whole lines"),
        ({"access_bytes": 256, "stride_bytes": 128}, "stride"),
        ({"window_bytes": 32}, "window"),
        ({"read_share": 1.01}, "between 0 and 1"),
        ({"read_share": float("nan")}, "between 0 and 1"),
        ({"fence_every": 0}, "fence"),
    ],
)
def test_shapes_that_no_kernel_supports(arguments: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _measure.Shape(**arguments)


def test_an_unknown_instruction_set_and_kernel() -> None:
    with pytest.raises(ValueError, match="no instruction set 'mmx'"):
        _measure.Worker(CPUS[0], "read", memory(), isa="mmx")
    with pytest.raises(IndexError, match="unknown kernel chasse"):
        _measure.Worker(CPUS[0], "chasse", memory())


@pytest.mark.skipif(len(CPUS) < 2, reason="a line passes between two CPUs")
def test_a_line_passes_from_core_to_core() -> None:
    taken = _measure.core_to_core(CPUS[0], CPUS[1], memory(64 << 10))
    assert taken.line_ns > 0
    assert taken.modified_ns > 0


def test_kernels_declare_their_traffic_by_shape() -> None:
    kernels = {each.name: each for each in _measure.kernels()}
    shape = _measure.Shape(access_bytes=256, fence_every=2)
    traffic = kernels["persist-clwb"].traffic(shape)
    assert (traffic.written_bytes, traffic.flushed_bytes, traffic.fences) == (256, 256, 0.5)
    assert kernels["copy"].traffic().read_share == pytest.approx(2 / 3)
    assert kernels["copy-nt"].traffic().read_share == 0.5
