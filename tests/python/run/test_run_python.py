"""Python programs under a plan: blocks are recognised by Python's file, line and function."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from nearfar.base.estimate import Estimate
from nearfar.documents import Plan, RunRecord, load, save
from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.memories.spec import parse_spec
from nearfar.program.named_frames import PYTHON, memory_frame, named_frame
from nearfar.run.local_memories import LocalMemory
from nearfar.run.matcher import Matcher
from nearfar.run.targets import make_targets

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import PROGRAMS, placement, plan, run_verb

SCRIPT = PROGRAMS / "buffers.py"
BUFFER = 8 << 20


def line_of(text: str) -> int:
    """Return the number of the first line that contains `text`."""
    lines = SCRIPT.read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def python(function: str, line: int, file: str = "/elsewhere/buffers.py") -> Frame:
    return Frame(function=function, file=file, line=line, module=PYTHON)


def on(number: int, memory: str, frame: Frame, **more: object) -> Placement:
    return placement(number, str(number), memory, size_mib=8, frames=[frame], **more)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    made: Plan = plan(
        [
            on(0, "far", python("make", line_of("first ="))),
            on(1, "near", python("make", line_of("second ="))),
            on(2, "far", python("<module>", line_of("buffers = ["))),
            on(3, "near", python("<module>", line_of("buffers = ["), "/elsewhere/other.py")),
            on(5, "near", python("count", line_of("list(range"))),
            on(4, "far", memory_frame("CPython arenas"), kind="mmap"),
        ]
    )
    folder = tmp_path_factory.mktemp("run")
    save(made, folder / "plan.json")
    done = run_verb(folder, "--map", "far=file:/dev/shm", "--", sys.executable, str(SCRIPT))
    assert done.returncode == 0, done.stderr
    return load(folder / "record.json", RunRecord)


@pytest.mark.parametrize(("number", "memory"), [(0, "far"), (1, "near"), (2, "far")])
def test_a_buffer_is_placed_by_its_line(number: int, memory: str, record: RunRecord) -> None:
    (row,) = (row for row in record.objects if row.name == str(number))
    assert row.recognised_bytes == pytest.approx(BUFFER, rel=0.2)
    assert set(row.bytes_by_memory) == {memory}


def test_a_line_of_another_file_is_not_recognised(record: RunRecord) -> None:
    (row,) = (row for row in record.objects if row.name == "3")
    assert row.recognised_bytes == 0


def test_arenas_are_placed_together(record: RunRecord) -> None:
    (row,) = (row for row in record.objects if row.name == "4")
    # Half a million integers of 32 bytes.
    assert row.recognised_bytes > 12 << 20
    assert set(row.bytes_by_memory) == {"far"}


def test_frames_are_read_while_an_arena_is_made(tmp_path: Path) -> None:
    """CPython's table of arenas is large enough to be an object; its code is not reentrant."""
    # A function with `count` variables makes its objects in the line after them.
    rows = [on(count, "far", python("fill", count + 2, "<string>")) for count in range(8, 48)]
    save(plan(rows), tmp_path / "plan.json")
    script = str(PROGRAMS / "small_objects.py")
    done = run_verb(tmp_path, "--map", "far=file:/dev/shm", "--", sys.executable, script)
    assert done.returncode == 0, done.stdout + done.stderr
    tables = [
        row for row in load(tmp_path / "record.json", RunRecord).objects if row.recognised_bytes
    ]
    assert tables


def test_arenas_go_where_their_small_objects_save_most() -> None:
    hot = on(0, "near", python("make", 1), split="small objects")
    hot.added_ns_if_far = Estimate(9.0, 8.0, 10.0)
    cold = on(1, "far", python("count", 2), split="small objects")
    cold.added_ns_if_far = Estimate(3.0, 2.0, 4.0)
    arenas = on(2, "far", memory_frame("CPython arenas"), kind="mmap")
    spec = parse_spec("dram")
    memories = [LocalMemory("near", "dram", spec), LocalMemory("far", "dram", spec)]
    for rows, number in (([hot, cold, arenas], 0), ([cold, arenas], 1), ([arenas], 1)):
        targets = make_targets(plan(rows), memories, adapt=False)
        assert targets.shares(targets.of_object[len(rows) - 1]) == {number: 1.0}


@pytest.mark.skipif(
    shutil.which("node") is None, reason="Node is not installed (apt-get install nodejs)"
)
def test_memory_that_a_runtime_names_is_placed(tmp_path: Path) -> None:
    """A plan has "buffers of JavaScript", and the library sends the stack of Node's functions."""
    frame = memory_frame("buffers of JavaScript")
    save(plan([on(0, "far", frame)]), tmp_path / "plan.json")
    code = "const b = Buffer.alloc(8 << 20, 1); setTimeout(() => process.exit(b[9] - 1), 100)"
    done = run_verb(tmp_path, "--map", "far=file:/dev/shm", "--", "node", "-e", code)
    assert done.returncode == 0, done.stderr
    (row,) = load(tmp_path / "record.json", RunRecord).objects
    assert row.recognised_bytes == pytest.approx(BUFFER, rel=0.2)
    assert set(row.bytes_by_memory) == {"far"}


def test_the_nearest_line_of_an_edited_script_is_recognised() -> None:
    matcher = Matcher([on(0, "far", python("make", 10)), on(1, "near", python("make", 90))])
    for line, number in ((10, 0), (13, 0), (80, 1)):
        matched = matcher.match([(0, named_frame(f"{line}\tmake\tbuffers.py"))]).placement
        assert matched is not None
        assert matched.object == number
    assert matcher.match([(0, named_frame("10\tmake\tother.py"))]).placement is None
