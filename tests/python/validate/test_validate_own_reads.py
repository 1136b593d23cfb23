"""Reads of the kernels' data tell how far the pages of a program lie apart."""

from __future__ import annotations

import msgspec
import samples
import validation_results as made

from nearfar.documents.validation import Inputs, KernelResult
from nearfar.validate.timing import kernels_read_ns


def read(name: str, near_ns: float | None, far_ns: float | None) -> KernelResult:
    inputs = Inputs(
        workload=samples.workload(),
        near=samples.device("near"),
        far=samples.device("far"),
        page_bytes=2 << 20,
        phases=["kernel"],
        near_own_ns=near_ns,
        far_own_ns=far_ns,
        far_own_independent_ns=None if far_ns is None else far_ns / 10.0,
    )
    return msgspec.structs.replace(made.result(name, 1.2, {}), inputs=inputs)


def test_a_program_takes_the_median_of_the_kernels_reads() -> None:
    program = msgspec.structs.replace(read("program", 1.0, 900.0), what="program")
    kernels = [read(str(far_ns), 150.0, far_ns) for far_ns in (190.0, 400.0, 180.0)]
    results = [*kernels, read("not measured", None, None), made.result("kept before", 1.1, {})]
    assert kernels_read_ns([*results, program], "far_own_ns") == 190.0
    assert kernels_read_ns([*results, program], "near_own_ns") == 150.0
    assert kernels_read_ns([*results, program], "far_own_independent_ns") == 19.0
    assert kernels_read_ns([*results, program], "near_own_independent_ns") is None


def test_without_kernels_nothing_is_known_of_its_pages() -> None:
    assert kernels_read_ns([], "far_own_ns") is None
