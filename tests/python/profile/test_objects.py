"""Names of memory for every kind of allocation, through wrappers and libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
from by_hand import Build, Result, Run

BYTES = 64 << 10
LINES = BYTES // 64


@pytest.fixture
def result(build: Build, run: Run, tmp_path: Path):  # type: ignore[no-untyped-def]
    data = tmp_path / "mapped.data"
    data.write_bytes(b"\0" * BYTES)
    return run(build("allocations.c"), str(data))


@pytest.mark.parametrize(
    "function",
    [
        "by_malloc",
        "by_calloc",
        "by_wrapper",
        "by_posix_memalign",
        "by_aligned_alloc",
        "by_memalign",
        "by_reallocarray",
    ],
)
def test_a_block_is_named_after_the_function_that_requested_it(result, function) -> None:  # type: ignore[no-untyped-def]
    item = result.named(function)
    assert item.kind == "heap"
    assert item.allocations == 1
    assert BYTES <= item.size_bytes <= BYTES + 4096
    assert item.frames[0].function == function
    assert Path(item.frames[0].file).name == "allocations.c"
    assert result.of(function).write_misses.stream == pytest.approx(LINES, rel=0.07)


def test_the_copy_of_strdup_belongs_to_its_caller(result) -> None:  # type: ignore[no-untyped-def]
    # The text and its copy are allocated in two lines of one function.
    copies = [each for each in result.objects if each.frames and "by_strdup" in each.name]
    assert len(copies) == 2
    assert all(each.frames[0].function == "by_strdup" for each in copies)


def test_realloc_that_moves_keeps_its_bytes(result) -> None:  # type: ignore[no-untyped-def]
    things = [each for each in result.objects if "by_realloc " in each.name]
    assert len(things) == 2  # two lines call xrealloc
    assert max(each.size_bytes for each in things) == pytest.approx(2 * BYTES, rel=0.1)
    assert sum(each.live_bytes_at_peak for each in things) == pytest.approx(2 * BYTES, rel=0.1)


def test_frames_of_varying_size_do_not_mislead_the_stack_walk(result) -> None:  # type: ignore[no-untyped-def]
    item = result.named("by_alloca_frame")
    assert item.allocations == 4
    assert [frame.function for frame in item.frames] == ["by_alloca_frame", "main"]


def test_small_blocks_are_estimated(result) -> None:  # type: ignore[no-untyped-def]
    blocks = [item for item in result.objects if "small_blocks" in item.name]
    small = max(blocks, key=lambda item: item.allocations)
    # 104 usable bytes each; 1/64 of the lines of 20,000 x 112 bytes is sampled.
    assert small.allocations == pytest.approx(20_000, rel=0.2)
    assert small.allocated_bytes == pytest.approx(20_000 * 104, rel=0.12)
    assert small.peak_live_bytes == pytest.approx(20_000 * 104, rel=0.12)


def test_mappings_files_stack_and_globals(result) -> None:  # type: ignore[no-untyped-def]
    mapped = result.named("by_mmap")
    assert mapped.kind == "mmap"
    assert mapped.size_bytes == 4 << 20  # 2 MiB, of which 1 MiB was unmapped and 1 MiB grew to 4
    file = result.named("mapped.data")
    assert (file.kind, file.size_bytes) == ("file", BYTES)
    assert result.of("mapped.data").write_misses.total() == LINES
    assert result.named("stacks").kind == "stack"
    assert result.of("stacks").write_misses.total() == pytest.approx(LINES, rel=0.1)
    main_globals = [each for each in result.objects if each.name == "globals"]
    assert main_globals[0].kind == "globals"
    assert BYTES <= main_globals[0].size_bytes < 2 * BYTES


def test_reserved_address_space_counts_once_it_is_accessible(result) -> None:  # type: ignore[no-untyped-def]
    reserved = [t for t in result.objects if t.kind == "mmap" and t.name.startswith("main")]
    assert [each.size_bytes for each in reserved] == [1 << 20]


def test_no_memory_is_unknown(result) -> None:  # type: ignore[no-untyped-def]
    unknown = [t for t in result.objects if t.kind == "unknown"]
    assert all(result.of(t.name).write_misses.total() == 0 for t in unknown)


def test_names_are_unique(result) -> None:  # type: ignore[no-untyped-def]
    names = [each.name for each in result.objects]
    assert len(set(names)) == len(names)


def test_the_short_way_of_a_block_counts_as_the_long_one(build: Build, run: Run) -> None:
    result = run(build("same_blocks.c"))
    assert result.code == 0
    (short,) = [each for each in result.objects if "short_way" in each.name]
    (long,) = [each for each in result.objects if "long_way" in each.name]
    assert short.allocations == long.allocations > 0
    assert short.allocated_bytes == long.allocated_bytes > 0
    assert short.peak_live_bytes == long.peak_live_bytes > 0


def test_most_small_blocks_take_the_short_way(build: Build, run: Run) -> None:
    # One block in 256 begins a page, which is unusual.
    result = run(build("same_blocks.c"), "4000", "untagged")
    (short,) = [each for each in result.objects if "short_way" in each.name]
    touched_lines = short.allocated_bytes / 64 / 64
    (file,) = result.files
    assert 0 < file.header["unusual_blocks"] < touched_lines / 10


def _allocations_in(result: Result, function: str) -> int:
    objects = [each for each in result.objects if each.frames]
    return sum(each.allocations for each in objects if each.frames[0].function == function)


@pytest.mark.parametrize(("size", "fortified"), [("5000", 0), ("20000", 0), ("20000", 2)])
def test_calls_after_a_jump_out_of_malloc_are_counted(
    build: Build, run: Run, size: str, fortified: int
) -> None:
    options = ["-U_FORTIFY_SOURCE", f"-D_FORTIFY_SOURCE={fortified}"]
    program = build("left_calls.c", *options, name=f"left_calls-{fortified}")
    has_check = b"__longjmp_chk" in program.read_bytes()
    assert has_check == (fortified > 0)
    result = run(program, size)
    assert result.code == 0
    turns, jumps = map(int, result.output.split())
    assert jumps > turns / 4
    for name in ("after", "after_deeper"):
        assert _allocations_in(result, name) == turns
    (file,) = result.files
    assert file.header["dropped"] == 0


@pytest.mark.parametrize("place", ["above", "below"])
def test_calls_after_a_jump_out_of_malloc_on_an_alternate_stack_are_counted(
    build: Build, run: Run, place: str
) -> None:
    result = run(build("left_calls.c"), "5000", place, "leave")
    assert result.code == 0
    turns, jumps = map(int, result.output.split())
    assert jumps > turns / 4
    for name in ("after", "after_deeper"):
        assert _allocations_in(result, name) == turns
    (file,) = result.files
    assert file.header["dropped"] == 0


@pytest.mark.parametrize("place", ["above", "below"])
def test_a_jump_within_a_handler_does_not_leave_the_interrupted_malloc(
    build: Build, run: Run, place: str
) -> None:
    result = run(build("left_calls.c"), "20000", place, "stay")
    assert result.code == 0
    turns, interrupted = map(int, result.output.split())
    assert interrupted > turns / 4
    for name in ("after", "after_deeper"):
        assert _allocations_in(result, name) == turns
    # Only those between the calls inside the run time.
    assert _allocations_in(result, "in_handler") < interrupted


def test_calls_of_a_handler_in_the_short_way_of_a_block_are_counted(build: Build, run: Run) -> None:
    result = run(build("left_calls.c"), "5000", "above", "stay")
    assert result.code == 0
    turns, interrupted = map(int, result.output.split())
    assert interrupted > turns / 4
    # The others interrupted a sample of the live bytes.
    assert _allocations_in(result, "in_handler") > interrupted * 0.9
