"""Files are written completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.base.files import atomic_path, check_writable, read_bytes, write_atomically


def test_a_file_is_written_completely_with_the_umask_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "text")
    assert path.read_text() == "text"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("what", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_only_the_old_file(
    tmp_path: Path, what: type[BaseException]
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(what), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise what
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_full_disk_gives_one_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(NearfarError, match="No space left") as caught, atomic_path(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS
    assert not list(tmp_path.iterdir())


def test_a_full_device_is_not_replaced_by_a_file() -> None:
    full = Path("/dev/full")
    with pytest.raises(NearfarError, match="No space left"):
        write_atomically(full, "x" * 10)
    assert full.is_char_device()


def test_a_folder_a_missing_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(NearfarError, match="mkdir -p"):
        check_writable(tmp_path / "no" / "a.json")
    with pytest.raises(NearfarError, match="cannot read profile"):
        read_bytes(tmp_path / "none", "profile")


def test_a_path_that_cannot_be_looked_up_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        NearfarError, match=r"cannot write .*: File name too long; choose"
    ) as caught:
        check_writable(tmp_path / ("x" * 300) / "a.json")
    assert caught.value.exit_code == ExitCode.MACHINE_LACKS


def test_a_standard_stream_to_a_file_is_written_and_not_replaced(tmp_path: Path) -> None:
    with (tmp_path / "redirected").open("w") as stream:
        write_atomically(Path(f"/proc/self/fd/{stream.fileno()}"), "content")
    assert (tmp_path / "redirected").read_text() == "content"
    assert [path.name for path in tmp_path.iterdir()] == ["redirected"]
