"""Snapshots of a process, made from what the kernel says about its pages."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from nearfar.run import layout, process_memory, snapshot
from nearfar.run.local_memories import LocalMemory, resolve_memories
from nearfar.run.snapshot import ObjectBytes

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import objects_plan


def snapshot_of_far_pages(
    monkeypatch: pytest.MonkeyPatch,
    places: Sequence[LocalMemory],
    on_node: Sequence[int],
    path: str,
) -> ObjectBytes:
    """Return one object, bound to far memory, after the last eight of its pages were unmapped."""
    first, pages = layout.FIRST_ADDRESS, len(on_node)
    state = layout.State()
    state.extent_count = 1
    state.extents[0] = layout.Extent(first, pages * layout.PAGE, 1, 1)
    words = np.full(pages, layout.CHOSEN | 1, np.uint32)
    end = first + (pages - 8) * layout.PAGE
    still_mapped = process_memory.Mapping(first, end, "rw-p", 0, path)
    monkeypatch.setattr(snapshot, "read_state", lambda *_: state)
    monkeypatch.setattr(snapshot, "default_nodes", lambda _: {0})
    monkeypatch.setattr(process_memory, "read_memory", lambda *_: words.tobytes())
    monkeypatch.setattr(process_memory, "mappings", lambda _: [still_mapped])
    monkeypatch.setattr(process_memory, "anonymous_bytes", lambda *_: 0)
    monkeypatch.setattr(process_memory, "page_nodes", lambda *_: np.array(on_node, np.int32))
    return snapshot.take_snapshot(0, 0, places).objects[1]


def test_pages_on_another_node_are_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 1 is full: of 64 pages bound to it, the kernel has all but 16 on node 0."""
    near, far = resolve_memories(objects_plan({"make_array": "far"}), ["far=node:0"])
    places = [near, dataclasses.replace(far, spec=dataclasses.replace(far.spec, node=1))]
    seen = snapshot_of_far_pages(monkeypatch, places, [1] * 16 + [0] * 56, "")
    assert seen.fallback == 0
    assert seen.elsewhere == seen.by_memory["near"] == 3 * seen.by_memory["far"]


def test_pages_freed_during_a_snapshot_are_in_no_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file's pages are on a node too, and would be near once their mapping is gone."""
    made = objects_plan({"make_array": "far"})
    places = resolve_memories(made, [f"far=file:{tmp_path}"])
    seen = snapshot_of_far_pages(monkeypatch, places, [0] * 72, f"{tmp_path}/#1 (deleted)")
    assert list(seen.by_memory) == ["far"]
    assert seen.by_memory["far"] == seen.recognised * 64 / 72
