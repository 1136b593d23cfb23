"""Reads and adds ELF sections without objcopy; archives; files of other formats."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nearfar.profile.compiler import elf
from nearfar.profile.compiler.archive import is_archive, members
from nearfar.profile.compiler.plain import embed, twins_of


@pytest.fixture
def object_file(tmp_path: Path) -> Path:
    source = tmp_path / "f.c"
    source.write_text("int f(void) { return 3; }\n")
    subprocess.run(["cc", "-c", source, "-o", tmp_path / "f.o"], check=True)
    return tmp_path / "f.o"


def test_added_section_is_visible_to_readelf(object_file: Path) -> None:
    before = subprocess.run(["nm", object_file], capture_output=True, check=True).stdout
    assert elf.add_section(str(object_file), ".own", [b"some", b"thing"], elf.SHF_EXCLUDE)
    assert elf.add_section(str(object_file), ".second", [b""], 0)
    listed = subprocess.run(
        ["readelf", "-SW", object_file], capture_output=True, text=True, check=True
    ).stdout
    (line,) = [line for line in listed.splitlines() if ".own" in line]
    assert line.split()[-4] == "E"
    with object_file.open("rb") as file:
        assert elf.read_section(file, ".own") == b"something"
        assert elf.read_section(file, ".second") == b""
        assert elf.read_section(file, ".third") is None
    assert subprocess.run(["nm", object_file], capture_output=True, check=True).stdout == before


def test_many_sections(tmp_path: Path) -> None:
    """Beyond 65280 sections their number is stored elsewhere in the file."""
    source = tmp_path / "many.s"
    source.write_text("".join(f'.section .s{i},"a"\n.byte 1\n' for i in range(65300)))
    subprocess.run(["cc", "-c", source, "-o", tmp_path / "many.o"], check=True)
    assert elf.add_section(str(tmp_path / "many.o"), ".own", [b"here"], 0)
    with (tmp_path / "many.o").open("rb") as file:
        assert elf.read_section(file, ".own") == b"here"
        assert elf.read_section(file, ".s65299") == b"\1"
    listed = subprocess.run(
        ["readelf", "-SW", tmp_path / "many.o"], capture_output=True, text=True, check=True
    )
    assert ".own" in listed.stdout
    assert "Warning" not in listed.stderr


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF\x01\x01" + b"\0" * 90]
)
def test_files_of_other_formats_have_no_sections(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert elf.sections(file) == []
    assert not elf.add_section(str(path), ".own", [b"x"], 0)
    assert path.read_bytes() == content


def test_relocatable_link_keeps_all_twins(object_file: Path, tmp_path: Path) -> None:
    """`ld -r` concatenates the sections, and the twins are separated again."""
    other = tmp_path / "g.o"
    source = tmp_path / "g.c"
    source.write_text("int g(void) { return 4; }\n")
    subprocess.run(["cc", "-c", source, "-o", other], check=True)
    for path, twin in ((object_file, b"first twin"), (other, b"second, longer twin")):
        (tmp_path / "twin").write_bytes(twin)
        embed(str(path), str(tmp_path / "twin"), elf.SHF_EXCLUDE)
    subprocess.run(["ld", "-r", object_file, other, "-o", tmp_path / "both.o"], check=True)
    assert twins_of(str(tmp_path / "both.o")) == [b"first twin", b"second, longer twin"]


@pytest.mark.parametrize("flags", ["rcs", "rcsT"], ids=["ordinary", "thin"])
def test_archive_members(flags: str, object_file: Path, tmp_path: Path) -> None:
    long_name = tmp_path / "a-name-longer-than-sixteen-characters.o"
    long_name.write_bytes(object_file.read_bytes())
    archive = tmp_path / "lib.a"
    subprocess.run(
        ["ar", flags, "lib.a", object_file.name, long_name.name], cwd=tmp_path, check=True
    )
    assert is_archive(str(archive))
    assert not is_archive(str(object_file))
    result = list(members(str(archive)))
    assert [Path(member.name).name for member in result] == [object_file.name, long_name.name]
    assert all(member.read() == object_file.read_bytes() for member in result)
