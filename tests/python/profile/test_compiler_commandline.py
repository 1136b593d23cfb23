"""Compiler command lines: compiled, linked and passed-through files; refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.profile.compiler.commandline import (
    CompilerCommand,
    UsageError,
    parse,
    without_side_files,
)


def words(text: str, **environment: str) -> CompilerCommand:
    return parse(text.split(), environment)


def files(command: CompilerCommand, positions: list[int]) -> list[str]:
    return [command.arguments[position] for position in positions]


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "-v",
        "-E a.c",
        "-M a.c",
        "-S -O2 a.c -o a.s",
        "-fsyntax-only a.c",
        "-print-search-dirs",
        "-dumpmachine",
        "-x c-header a.h -o a.h.gch",
        "a.h",
        "-c a.c -o /dev/null",
        "-emit-llvm -c a.c",
        "-m32 -c a.c",
        "-o",
        "",
    ],
)
def test_passed_through(line: str) -> None:
    assert words(line).pass_through


@pytest.mark.parametrize(
    ("line", "sources", "assembly", "objects"),
    [
        ("-c a.c", ["a.c"], [], []),
        ("-O2 -MD -MF a.d -I inc -c x/a.cpp -o a.o", ["x/a.cpp"], [], []),
        ("-c a.S", [], ["a.S"], []),
        ("a.o b.a -lm -o p", [], [], ["a.o", "b.a", "-lm"]),
        ("a.c b.o -l m -o p", ["a.c"], [], ["b.o", "-lm"]),
        ("-x c - -c -o p.o", ["-"], [], []),
        ("-x c a.weird -x none b.o", ["a.weird"], [], ["b.o"]),
        ("-xc++ a -xnone b.o", ["a"], [], ["b.o"]),
        (
            "-Wl,--whole-archive,x.a,--no-whole-archive -o p",
            [],
            [],
            ["-Wl,--whole-archive,x.a,--no-whole-archive"],
        ),
        ("-Wl,-z,relro a.c -c", ["a.c"], [], []),
        ("-include config.h -Xclang -load -Xclang x.so -c a.c", ["a.c"], [], []),
    ],
)
def test_inputs(line: str, sources: list[str], assembly: list[str], objects: list[str]) -> None:
    command = words(line)
    assert not command.pass_through
    assert files(command, command.sources) == sources
    assert files(command, command.assembly) == assembly
    assert files(command, command.objects) == objects


def test_output() -> None:
    assert words("-c x/a.c").output_of("x/a.c") == "a.o"
    assert words("-c x/a.c -o y.o").output_of("x/a.c") == "y.o"
    assert words("-c x/a.c -oz.o").output_of("x/a.c") == "z.o"


@pytest.mark.parametrize(
    ("line", "has"),
    [
        ("-g", True),
        ("-g3", True),
        ("-ggdb -O2", True),
        ("-g -g0", False),
        ("-gsplit-dwarf", False),
        ("", False),
    ],
)
def test_debug_information(line: str, has: bool) -> None:
    assert words(f"{line} -c a.c").has_debug_information is has


def test_rate() -> None:
    assert words("-c a.c").rate == 64
    assert words("-c a.c", NEARFAR_RATE="16").rate == 16
    assert words("--nearfar-rate=1 -c a.c", NEARFAR_RATE="16").rate == 1
    assert words("--nearfar-rate=256 -c a.c").arguments == ["-c", "a.c"]


@pytest.mark.parametrize("rate", ["0", "3", "-1", "8192", "1/64", "", "sixty"])
def test_wrong_rate(rate: str) -> None:
    with pytest.raises(UsageError, match="power of two from 1"):
        words(f"--nearfar-rate={rate} -c a.c")


def test_unknown_own_option() -> None:
    with pytest.raises(UsageError, match="--nearfar-rate=N and --nearfar-no-plain"):
        words("--nearfar-speed=3 -c a.c")


def test_plain_twin_can_be_omitted() -> None:
    assert words("-c a.c").wants_plain
    assert not words("-c a.c", NEARFAR_PLAIN="0").wants_plain
    assert not words("--nearfar-no-plain -c a.c").wants_plain


def test_response_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_text("-DNAME='\"a b\"' -DX=a\\ b\n")
    outer = tmp_path / "outer"
    outer.write_text(f'-c "a file.c"\n@{inner}')
    command = parse([f"@{outer}", "-O2", "@no-such-file"], {})
    assert command.arguments == [
        "-c",
        "a file.c",
        '-DNAME="a b"',
        "-DX=a b",
        "-O2",
        "@no-such-file",
    ]


def test_response_file_that_includes_itself(tmp_path: Path) -> None:
    (tmp_path / "loop").write_text(f"@{tmp_path / 'loop'}")
    with pytest.raises(UsageError, match="nested too deeply"):
        parse([f"@{tmp_path / 'loop'}"], {})


def test_plain_compile_writes_only_its_output() -> None:
    line = "-c a.c -MD -MP -MF a.d -MTa.o -MQ x -o a.o -gsplit-dwarf -O2 -Wp,-MD,a.d -DMF"
    assert without_side_files(line.split()) == ["-c", "a.c", "-O2", "-DMF"]
