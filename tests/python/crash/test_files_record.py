"""The recorder of file calls: every call that changes data, in dynamic and static programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.crash.files.log import LogKind, read_log
from nearfar.crash.files.record import PROGRAM, record_files
from nearfar.crash.symbols import TraceSymbols, name_of
from nearfar.native_files import native_file

SOURCE = Path(__file__).with_name("file_calls.c")

EXPECTED = [
    ("CREATE", b"stream"),
    ("WRITE", b"stdio 5\n"),
    ("CREATE", b"a"),
    ("WRITE", b"abc"),
    ("WRITE", b"XY"),
    ("WRITE", b"11222"),
    ("FSYNC", b""),
    ("WRITE", b"dup"),
    ("WRITE", b"APP"),
    ("MKDIR", b"sub"),
    ("RENAME", b"stream\0renamed"),
    ("LINK", b"b"),
    ("SYMLINK", b"s\0a"),
    ("UNLINK", b"b"),
    ("TRUNCATE", b""),
    ("MAPPED", b"\x09"),
    ("MAPPED", b"\x07"),
    ("FSYNC", (0).to_bytes(8, "little") + (8192).to_bytes(8, "little")),
    ("MAPPED", b"\x01"),
    ("ALLOCATE", (4096).to_bytes(8, "little") + (0).to_bytes(8, "little")),
    ("CREATE", b"child"),
    ("WRITE", b"c"),
    ("CREATE", b"thread"),
    ("WRITE", b"t"),
    ("FSYNC", b""),
    ("OUTPUT", b"committed\n"),
    ("SYNC", b""),
    ("UNLINK", b"a"),
]


def built(folder: Path, *flags: str) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    program = folder / f"file_calls{''.join(flags)}"
    words = ["cc", "-O1", "-g", *flags, "-o", program, SOURCE, "-lpthread"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip(f"cc cannot compile with {' '.join(flags)} here")
    return program


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_every_call_is_recorded_in_order(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = built(tmp_path, *flags)
    data = tmp_path / "data"
    data.mkdir()
    elsewhere = tmp_path / "elsewhere"
    words = [str(program), str(data), str(elsewhere)]
    recorded = record_files(words, data, tmp_path / "log", json=False)
    log = recorded.log
    assert [(call.kind.name, call.payload) for call in log.calls] == EXPECTED
    assert recorded.exit_status == "exited 3"
    assert recorded.failed
    assert not recorded.full
    assert log.outside == [str(elsewhere)]
    assert log.refused == {"io_uring_setup", "io_setup"}
    assert not log.unrecorded
    offsets = [call.b for call in log.calls if call.kind is LogKind.WRITE]
    assert offsets == [0, 0, 10, 3, 8, 12, 0, 0]
    if not flags:
        symbols = TraceSymbols(log)
        rename = next(call for call in log.calls if call.kind is LogKind.RENAME)
        assert name_of(symbols.frames(rename.stack)).startswith("main file_calls.c:")


def test_a_call_in_progress_makes_nothing_durable_that_came_later(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    words = ["/bin/sh", "-c", f"echo 1 > {data}/x; sync {data}/x"]
    log = record_files(words, data, tmp_path / "log", json=False).log
    sync = next(call for call in log.calls if call.kind is LogKind.FSYNC)
    before = [call.number for call in log.calls if call.number < sync.b]
    assert [call.kind.name for call in log.calls if call.number in before] == ["CREATE", "WRITE"]


def test_a_program_with_other_rights_is_refused_in_one_sentence(tmp_path: Path) -> None:
    program = tmp_path / "su"
    shutil.copy("/bin/true", program)
    if os.geteuid() != 0:
        pytest.skip("only root can make a program of another user")
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    with pytest.raises(NearfarError, match="other rights"):
        record_files([str(program)], tmp_path, tmp_path / "log", json=False)


def test_a_log_that_ends_in_the_middle_of_a_record_is_read_up_to_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    log = tmp_path / "log"
    words = [native_file(PROGRAM), log, data, "100000"]
    subprocess.run([*words, "/bin/sh", "-c", f"echo 123456789 > {data}/x"], check=True)
    whole = read_log(log).calls
    assert [call.kind.name for call in whole] == ["CREATE", "WRITE"]
    log.write_bytes(log.read_bytes()[:-1])
    assert read_log(log).calls == whole[:1]
