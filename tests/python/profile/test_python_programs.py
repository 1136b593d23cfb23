"""Python programs under QEMU: memory named by Python's file, line and function."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from unmodified_runs import Profile, misses, needs_qemu, profile, run

pytestmark = pytest.mark.timing

PROGRAMS = Path(__file__).parent / "interpreted"
LINES = (8 << 18) // 64
"""Cache lines of each array."""
PYTHON = (sys.executable, "-I", "-S")
"""Without the packages of a site: importing their hooks takes a third of a start."""


def line_of(program: str, text: str) -> int:
    """Return the number of the first line that contains `text`."""
    lines = (PROGRAMS / program).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    pytest.importorskip("numpy", reason="numpy is not installed")
    folder = tmp_path_factory.mktemp("arrays")
    return profile(folder, sys.executable, str(PROGRAMS / "arrays.py"))


@needs_qemu
@pytest.mark.parametrize(
    ("text", "function", "rounds"),
    [
        ("np.zeros(", "main", 8),
        ("np.ones(", "make_in_library", 6),
        (".random(COUNT)", "make_in_library", 4),
        ("bytearray(", "main", 2),
    ],
)
def test_each_array_is_an_object_of_its_line(
    text: str, function: str, rounds: int, arrays: Profile
) -> None:
    assert not any("nearfar cc" in warning for warning in arrays["warnings"])
    name = f"arrays.py:{line_of('arrays.py', text)} ({function})"
    (array,) = (item for item in arrays["objects"] if item["name"] == name)
    assert array["kind"] == "heap"
    assert array["size_bytes"] == pytest.approx(LINES * 64, rel=0.05)
    assert Path(array["frames"][0]["file"]).name == "arrays.py"
    # Each round reads every line; making the array writes it at least once, at most three times.
    assert LINES * rounds < 1.02 * misses(arrays)[name]
    assert misses(arrays)[name] < LINES * (rounds + 3.5)


@needs_qemu
def test_threads_exceptions_and_collections_go_on_as_before(tmp_path: Path) -> None:
    """Frames are read during allocations of any thread, while others raise and collect."""
    profiled = profile(tmp_path, *PYTHON, str(PROGRAMS / "threads.py"))
    names = {item["name"] for item in profiled["objects"]}
    lines = {"bytearray(6": "__del__", "bytearray(4": "blocks", "bytearray(8": "fail"}
    for text, function in lines.items():
        made = f"threads.py:{line_of('threads.py', text)} ({function})"
        assert any(name.startswith(made) for name in names), made
    assert profiled["program"]["exit_status"] == "exited 0"


@needs_qemu
def test_callers_and_small_objects_of_python_are_told_apart(tmp_path: Path) -> None:
    profiled = profile(tmp_path, *PYTHON, str(PROGRAMS / "small.py"))
    objects = {item["name"]: item for item in profiled["objects"]}
    made = rf"small\.py:{line_of('small.py', 'list(range')} \(make\) < (first|second)"
    lists = [match[1] for name in objects if (match := re.fullmatch(made, name))]
    assert sorted(lists) == ["first", "second"]
    mapped = objects[f"small.py:{line_of('small.py', 'mmap.mmap')} (<module>)"]
    assert (mapped["kind"], mapped["size_bytes"]) == ("mmap", 1 << 20)
    for caller in ("first", "second"):
        # Integers of 32 bytes, which are read twice.
        line = line_of("small.py", "list(range")
        name = f"small.py:{line} (make) < {caller}, small objects"
        assert objects[name]["kind"] == "heap"
        assert objects[name]["size_bytes"] == pytest.approx(32 << 16, rel=0.2)
        assert misses(profiled)[name] > 2 * (32 << 16) / 64 * 0.9
    # Of its own memory, little is left: it is not counted twice.
    assert objects["CPython arenas"]["size_bytes"] < 2 << 20


@needs_qemu
def test_small_objects_have_lines_without_pythons_own_allocator(tmp_path: Path) -> None:
    words = (sys.executable, "-S", str(PROGRAMS / "small.py"))
    done, profiled = run(tmp_path, *words, PYTHONMALLOC="malloc")
    assert done.returncode == 0, done.stderr
    assert profiled is not None
    made = f"small.py:{line_of('small.py', 'list(range')} (make) < "
    sizes = {item["name"]: item["size_bytes"] for item in profiled["objects"]}
    # Of its arenas, only stacks of calls remain.
    assert sizes.get("CPython arenas", 0) < 1 << 20
    for caller in ("first", "second"):
        # The list, and integers of at least 32 bytes.
        assert sizes[made + caller] > (1 << 16) * (8 + 32) * 0.9


@needs_qemu
def test_a_program_that_traces_its_memory_has_lines(tmp_path: Path) -> None:
    """The tables of tracemalloc grow while it has a lock, for which no frame may be read."""
    profiled = profile(tmp_path, *PYTHON, "-X", "tracemalloc", str(PROGRAMS / "small.py"))
    made = f"small.py:{line_of('small.py', 'list(range')} (make) < "
    sizes = {item["name"]: item["size_bytes"] for item in profiled["objects"]}
    for caller in ("first", "second"):
        assert sizes[made + caller] == pytest.approx(8 << 16, rel=0.2)
        assert sizes[f"{made}{caller}, small objects"] == pytest.approx(32 << 16, rel=0.2)
