"""MLC's command lines as users type them, and refusals."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from nearfar.base.errors import CommandError
from nearfar_like.mlc.arguments import parse
from nearfar_like.mlc.options import MODES, OPTIONS
from nearfar_like.mlc.traffic import TYPES

MIB = 1 << 20


@pytest.mark.parametrize(
    ("line", "mode", "options"),
    [
        # The Korean guide's sequence.
        ("--latency_matrix -b60g -X", "latency_matrix", {"b": 60 << 30, "X": True}),
        ("--idle_latency -b60g", "idle_latency", {"b": 60 << 30}),
        ("--idle_latency -J/mnt/pmem0 -r", "idle_latency", {"J": Path("/mnt/pmem0"), "r": True}),
        ("--idle_latency -J /mnt/pmem0", "idle_latency", {"J": Path("/mnt/pmem0")}),
        (
            "--loaded_latency -d0 -T -operthreadfile",
            "loaded_latency",
            {"d": 0, "T": True, "o": Path("perthreadfile")},
        ),
        # Its manual and web page.
        ("--latency_matrix -b200m -X -r", "latency_matrix", {"b": 200 * MIB, "X": True, "r": True}),
        ("--latency_matrix -b 200m", "latency_matrix", {"b": 200 * MIB}),
        ("--idle_latency -c0 -L -b10m", "idle_latency", {"c": 0, "L": True, "b": 10 * MIB}),
        ("--idle_latency -l256 -j1 -r -D8192", "idle_latency", {"l": 256, "j": 1, "D": 8192}),
        ("--loaded_latency -t3 -X -D8192", "loaded_latency", {"t": 3, "D": 8192}),
        # Scripts found in public repositories.
        (
            "--loaded_latency -T -d0 -e -k1,2,3 -j0 -b1g -t10000 -W2",
            "loaded_latency",
            {"k": (1, 2, 3), "j": 0, "b": 1 << 30, "t": 10000, "W": TYPES["W2"]},
        ),
        ("--loaded_latency -W3 -c0 -k1-3 -b512000", "loaded_latency", {"b": 512000 * 1024}),
        ("--max_bandwidth -k0-15 -Y -L -u -b18m", "max_bandwidth", {"u": True, "Y": True}),
        ("-X --peak_injection_bandwidth -Z", "peak_injection_bandwidth", {"X": True, "Z": True}),
        ("--loaded_latency -gdelays.txt -oDRAM.txt -t30", "loaded_latency", {"t": 30}),
        ("--loaded_latency -m 0xfe -R", "loaded_latency", {"m": (1, 2, 3, 4, 5, 6, 7), "R": True}),
        ("--memory_bandwidth_scan -t4 -j1 -n0", "memory_bandwidth_scan", {"t": 4, "j": 1, "n": 0}),
        # Intel's support article writes a single dash.
        ("-latency_matrix", "latency_matrix", {}),
        ("", "", {}),
        ("-e -r", "", {"e": True, "r": True}),
    ],
)
def test_command_lines(line: str, mode: str, options: dict[str, object]) -> None:
    parsed = parse(shlex.split(line))
    assert parsed.mode == mode
    assert options.items() <= parsed.options.items()
    assert parsed.words == shlex.split(line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--latency_matrx", "did you mean 'latency_matrix'"),
        ("--idle_latency -N4", "no mode or option -N4"),
        ("--idle_latency -N", "there is no option -N"),
        ("--idle_latency --loaded_latency", "one mode at a time"),
        ("--idle_latency -b", "-b (buffer of each thread: 200m, 1g, or KiB) needs a value"),
        ("--idle_latency -b -r", "needs a value"),
        ("--idle_latency -b200x", "'200x' is no size"),
        ("--idle_latency -b0", "is no size"),
        ("--idle_latency -b2m -b3m", "-b is given twice"),
        ("--idle_latency -Xr", "write options apart"),
        ("--loaded_latency -J/mnt/pmem0", "it is for --idle_latency"),
        ("--idle_latency -o file", "it is for --loaded_latency"),
        ("--peak_injection_bandwidth -W3", "means nothing to --peak_injection_bandwidth"),
        ("--loaded_latency -W4", "'W4' is no traffic type"),
        ("--loaded_latency -W21", "it is for lines of -o only"),
        ("--loaded_latency -k1-", "'1-' is no list of CPUs"),
        ("--loaded_latency -k3-1", "is no list of CPUs"),
        ("--loaded_latency -k1,1", "CPU 1 is given twice"),
        ("--loaded_latency -mxyz", "no hexadecimal mask"),
        ("--loaded_latency -k1 -m2", "exclude each other"),
        ("--loaded_latency -d0 -g delays", "exclude each other"),
        ("--loaded_latency -R -W2", "exclude each other"),
        ("--idle_latency -t2 -x3", "exclude each other"),
        ("--loaded_latency -o file -W2", "exclude each other"),
        ("--idle_latency -J/mnt/a -j1", "exclude each other"),
        ("--idle_latency -l100", "a multiple of 64"),
        ("--idle_latency -c-1", "no whole number"),
        ("--idle_latency -cx", "no whole number"),
        ("--idle_latency -t0", "of at least 1"),
        ("--loaded_latency -K1", "whole lines"),
        ("--loaded_latency -e1", "which nearfar never does"),
        ("--loaded_latency -e2", "takes 0, 1 or nothing"),
        ("--loaded_latency -W5 -Q", "add -Z"),
        ("--idle_latency -e -D64", "add -r, or leave out -e"),
        ("--idle_latency -h -L", "exclude each other"),
        ("--loaded_latency -I", "leave out -I"),
        ("--c2c_latency -C4m", "leave out -C"),
        ("--idle_latency dram", "'dram' is neither an option nor model:NAME"),
        ("--idle_latency model:a model:b", "one model at a time"),
    ],
)
def test_refused(line: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse(shlex.split(line))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_without_effect_are_reported() -> None:
    assert parse(["--idle_latency", "-X", "-U"]).notes == ["-U changes nothing in --idle_latency"]


def test_defaults() -> None:
    parsed = parse(["--loaded_latency"])
    assert parsed.effort.seconds == 2
    assert parsed.traffic.name == "R"
    assert parsed.random_latency, "prefetchers stay on, so as MLC without msr"
    assert parsed.window_bytes == 4096 * 64
    assert not parse(["--idle_latency", "-e"]).random_latency
    assert parse(["--idle_latency", "-x7"]).effort.samples == 7


def test_every_option_belongs_to_a_mode() -> None:
    for letter, option in OPTIONS.items():
        assert option.letter == letter
        assert option.modes <= set(MODES)
        assert option.modes


def test_the_page_lists_every_option_mode_and_type() -> None:
    page = (Path(__file__).parents[3] / "docs" / "like.md").read_text()
    for letter in OPTIONS:
        assert f"`-{letter}" in page, letter
    for mode in MODES:
        assert f"`--{mode}`" in page, mode
    for name in TYPES:
        assert name in page, name
