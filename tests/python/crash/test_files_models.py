"""Models of file systems: which files a power cut may leave of a known run."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from nearfar.base.errors import CommandError
from nearfar.crash.files.contents import LOST, Contents, Damage
from nearfar.crash.files.durability import points_of
from nearfar.crash.files.log import FileCall, FileLog, LogKind
from nearfar.crash.files.models._registry import FileSystem, models
from nearfar.crash.files.operations import FileRun, RunReader
from nearfar.crash.files.states import StateOrder

FOLDER, CONF, NEW = 1, 2, 3


def run_of(tmp_path: Path, *steps: tuple[object, ...]) -> FileRun:
    """Return the run with these calls, on a folder with `conf` of two sectors of `o`."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "conf").write_bytes(b"o" * 1024)
    reader = RunReader(folder)
    inodes = {FOLDER: folder.stat().st_ino, CONF: (folder / "conf").stat().st_ino, NEW: 1 << 62}
    calls = []
    for number, (kind, *values) in enumerate(steps):
        assert isinstance(kind, LogKind)
        a, b, c, payload = _fields(kind, values, inodes)
        b = number if kind in (LogKind.FSYNC, LogKind.SYNC) else b
        calls.append(FileCall(number, kind, a, b, c, payload, (number,)))
    return reader.read(FileLog(calls=calls))


def _fields(
    kind: LogKind, values: Sequence[object], inodes: dict[int, int]
) -> tuple[int, int, int, bytes]:
    if kind is LogKind.OUTPUT:
        return 0, 0, 0, bytes(str(values[0]), "ascii")
    file = inodes[int(str(values[0]))]
    if kind is LogKind.CREATE:
        return inodes[FOLDER], file, 0o644, bytes(str(values[1]), "ascii")
    if kind is LogKind.RENAME:
        return inodes[FOLDER], inodes[FOLDER], 0, bytes(f"{values[1]}\0{values[2]}", "ascii")
    if kind is LogKind.WRITE:
        assert isinstance(values[2], bytes)
        return file, int(str(values[1])), 0, values[2]
    if kind is LogKind.ALLOCATE:
        return file, int(str(values[1])), 0, struct.pack("<QQ", int(str(values[2])), 0)
    return file, int(str(values[1])) if len(values) > 1 else 0, 0, b""


def model(name: str) -> FileSystem:
    return models(name)[0]


def left(run: FileRun, name: str) -> set[tuple[tuple[str, bytes], ...]]:
    """Return all images that the model allows."""
    contents = Contents(run)
    return {
        tuple(
            (file.path, file.content or b"")
            for file in contents.image(state.point.done, state.damages)
        )
        for state in StateOrder(run, [model(name)], 1).states()
    }


def replaced(*, synced: bool) -> tuple[tuple[object, ...], ...]:
    """Return the calls that replace `conf` by a new file."""
    sync = ((LogKind.FSYNC, NEW),) if synced else ()
    return (
        (LogKind.CREATE, NEW, "new"),
        (LogKind.WRITE, NEW, 0, b"n" * 700),
        *sync,
        (LogKind.RENAME, NEW, "new", "conf"),
        (LogKind.OUTPUT, "done"),
    )


def confs(images: set[tuple[tuple[str, bytes], ...]]) -> set[bytes]:
    return {dict(image).get("conf", b"missing") for image in images}


@pytest.mark.parametrize("name", ["journal", "ordered", "writeback", "posix"])
def test_a_file_synced_before_its_rename_is_old_or_new(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, *replaced(synced=True))
    assert confs(left(run, name)) == {b"o" * 1024, b"n" * 700}


@pytest.mark.parametrize(
    ("name", "empty"),
    [("journal", False), ("ordered", False), ("writeback", True), ("posix", True)],
)
def test_a_file_not_synced_before_it_replaces_another_may_be_empty(
    name: str, empty: bool, tmp_path: Path
) -> None:
    # ext4 writes the data first if the rename replaces a file: auto_da_alloc.
    run = run_of(tmp_path, *replaced(synced=False))
    assert (b"" in confs(left(run, name))) == empty


def test_delayed_allocation_leaves_a_renamed_new_file_empty(tmp_path: Path) -> None:
    steps = (
        (LogKind.CREATE, NEW, "tmp"),
        (LogKind.WRITE, NEW, 0, b"n" * 700),
        (LogKind.RENAME, NEW, "tmp", "fresh"),
    )
    run = run_of(tmp_path, *steps)
    fresh = {dict(image).get("fresh") for image in left(run, "ordered")}
    assert fresh == {None, b"", b"n" * 700}


def test_only_a_sync_of_the_folder_makes_an_entry_durable_in_posix(tmp_path: Path) -> None:
    steps = ((LogKind.CREATE, NEW, "new"), (LogKind.WRITE, NEW, 0, b"n"), (LogKind.FSYNC, NEW))
    run = run_of(tmp_path, *steps)
    ended = {name: points_of(run, model(name))[-1].pending for name in ("ordered", "posix")}
    assert ended == {"ordered": (), "posix": (0,)}
    (tmp_path / "again").mkdir()
    run = run_of(tmp_path / "again", *steps, (LogKind.FSYNC, FOLDER))
    assert points_of(run, model("posix"))[-1].pending == ()


def test_sectors_of_an_overwrite_reach_the_disk_in_any_order(tmp_path: Path) -> None:
    run = run_of(tmp_path, (LogKind.WRITE, CONF, 0, b"n" * 1024))
    old, new = b"o" * 512, b"n" * 512
    assert confs(left(run, "journal")) == {old * 2, new * 2}
    for name in ("ordered", "writeback", "posix"):
        assert confs(left(run, name)) == {old * 2, new * 2, old + new, new + old}


def test_appended_data_has_its_size_only_where_data_is_not_ordered(tmp_path: Path) -> None:
    run = run_of(tmp_path, (LogKind.WRITE, CONF, 1024, b"n" * 100))
    old = b"o" * 1024
    assert confs(left(run, "ordered")) == {old, old + b"n" * 100}
    assert old + b"\xa5" * 100 in confs(left(run, "writeback"))
    assert old + bytes(100) in confs(left(run, "posix"))


def test_appends_keep_their_order_in_ordered_mode_alone(tmp_path: Path) -> None:
    steps = ((LogKind.WRITE, CONF, 1024, b"a" * 512), (LogKind.WRITE, CONF, 1536, b"b" * 512))
    run = run_of(tmp_path, *steps)
    late = b"o" * 1024 + bytes(512) + b"b" * 512
    assert late not in confs(left(run, "ordered"))
    assert late in confs(left(run, "posix"))


def test_a_write_takes_along_earlier_bytes_of_its_sector(tmp_path: Path) -> None:
    steps = ((LogKind.WRITE, CONF, 500, b"a" * 24), (LogKind.WRITE, CONF, 0, b"b"))
    run = run_of(tmp_path, *steps)
    content = Contents(run).image(2, {0: LOST})[0].content
    assert content == b"b" + b"o" * 499 + b"a" * 12 + b"o" * 512


def test_a_torn_write_keeps_its_parts(tmp_path: Path) -> None:
    run = run_of(tmp_path, (LogKind.WRITE, CONF, 0, b"n" * 1536))
    image = Contents(run).image(1, {0: Damage(((512, 1024),), sized=True, fill=7)})
    assert image[0].content == b"o" * 512 + b"n" * 512 + b"\x07" * 512


def test_allocation_and_truncation_set_the_size(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        (LogKind.ALLOCATE, CONF, 1024, 512),
        (LogKind.TRUNCATE, CONF, 100),
        (LogKind.WRITE, CONF, 200, b"x"),
    )
    sizes = [len(Contents(run).image(done, {})[0].content or b"") for done in range(4)]
    assert sizes == [1024, 1536, 100, 201]


def test_the_same_seed_gives_the_same_states(tmp_path: Path) -> None:
    run = run_of(tmp_path, *replaced(synced=False))
    first, again, other = (
        [
            (state.model.name, state.damages)
            for state in StateOrder(run, models("all"), seed).states()
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(CommandError, match="did you mean 'ordered'"):
        models("orderd")
