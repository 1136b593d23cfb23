"""Programs of languages with runtimes of their own: heaps have the language's names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from unmodified_runs import Profile, misses, needs_qemu, profile

from nearfar.documents.workload import Frame
from nearfar.program.language_runtimes import heap_frame, is_go

pytestmark = pytest.mark.timing

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "interpreted"
GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
needs_go = pytest.mark.skipif(GO is None, reason="Go is not installed (apt-get install golang)")
needs_java = pytest.mark.skipif(
    shutil.which("javac") is None,
    reason="Java is not installed (apt-get install default-jdk-headless)",
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="Node is not installed (apt-get install nodejs)"
)


def only(profiled: Profile, name: str) -> Profile:
    """Return the one object of that name, which a warning says cannot be divided."""
    (item,) = (item for item in profiled["objects"] if item["name"] == name)
    assert any(f"{name} (" in w and "one object" in w for w in profiled["warnings"])
    result: Profile = item
    return result


@needs_qemu
@needs_go
@pytest.mark.parametrize("cgo", [pytest.param("0", marks=pytest.mark.long), "1"])
def test_the_heap_of_a_go_program_is_an_object(cgo: str, tmp_path: Path) -> None:
    if cgo == "1" and shutil.which("gcc") is None:
        pytest.skip("gcc is not installed, which cgo needs")
    text = (PROGRAMS / "chase.go").read_text()
    if cgo == "1":
        text = text.replace("package main\n", 'package main\n\nimport "C"\n')
    (tmp_path / "chase.go").write_text(text)
    program = tmp_path / "chase"
    # Compiling Go's own runtime takes most of the time: later runs find it there.
    kept = ROOT / "build" / "go"
    home = {"HOME": str(tmp_path), "GOFLAGS": "-modcacherw", "CGO_ENABLED": cgo}
    subprocess.run(
        [str(GO), "build", "-o", str(program), "chase.go"],
        cwd=tmp_path,
        env={**os.environ, "GOCACHE": os.environ.get("GOCACHE", str(kept)), **home},
        check=True,
    )
    assert is_go(program)
    profiled = profile(tmp_path, str(program))
    heap = only(profiled, "Go heap")
    assert (heap["kind"], heap["size_bytes"] >= 2 << 20) == ("mmap", True)
    counts = misses(profiled)
    # Each of nine rounds touches 2^15 lines; the rest is the start of the program.
    assert counts["Go heap"] > 9 * (1 << 15) * 0.95
    assert counts["Go heap"] > 0.9 * sum(counts.values())


@needs_qemu
@needs_java
@pytest.mark.parametrize("collector", ["Serial", pytest.param("G1", marks=pytest.mark.long)])
def test_the_heap_of_a_java_program_is_an_object(collector: str, tmp_path: Path) -> None:
    subprocess.run(["javac", "-d", str(tmp_path), str(PROGRAMS / "Chase.java")], check=True)
    quick = "-XX:TieredStopAtLevel=1"
    words = ("java", f"-XX:+Use{collector}GC", quick, "-Xmx64m", "-cp", str(tmp_path), "Chase")
    profiled = profile(tmp_path, *words)
    assert only(profiled, "Java heap")["kind"] == "mmap"
    assert misses(profiled)["Java heap"] > 7 * (1 << 15) * 0.9
    assert any(item["name"] == "Java compiled code" for item in profiled["objects"])


@needs_qemu
@needs_node
def test_the_heap_and_the_buffers_of_a_node_program_are_objects(tmp_path: Path) -> None:
    profiled = profile(tmp_path, "node", str(PROGRAMS / "chase.js"))
    assert only(profiled, "V8 heap")["kind"] == "mmap"
    assert misses(profiled)["V8 heap"] > 6 * (1 << 15) * 0.5
    named = {item["name"]: item for item in profiled["objects"]}
    buffers = named["buffers of JavaScript"]
    assert (buffers["kind"], buffers["size_bytes"] >= 4 << 20) == ("heap", True)
    assert misses(profiled)["buffers of JavaScript"] > 6 * (4 << 20) / 64 * 0.95


@pytest.mark.parametrize(
    ("kind", "function", "name"),
    [
        ("mmap", "x_cgo_mmap", "Go heap"),
        ("mmap", "HeapRegionManager::expand(unsigned int)", "Java heap"),
        ("mmap", "TenuredGeneration::TenuredGeneration(ReservedSpace)", "Java heap"),
        ("mmap", "metaspace::VirtualSpaceNode::create_node()", "Java classes (metaspace)"),
        ("mmap", "v8::internal::Heap::SetUp(v8::internal::LocalHeap*)", "V8 heap"),
        ("heap", "v8::internal::Heap::SetUp(v8::internal::LocalHeap*)", None),
        ("heap", "make_heap", None),
        ("mmap", "Generation", None),
    ],
)
def test_heaps_are_known_by_the_functions_that_map_them(
    kind: str, function: str, name: str | None
) -> None:
    stack = [Frame(function="os::commit_memory"), Frame(function=function), Frame(function="main")]
    heap = heap_frame(kind, stack)
    assert (None if heap is None else heap.function) == name
