"""The command line of MLC, as people type it: ``-b200m``, ``-b 200m``, ``--latency_matrix -X``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.errors import CommandError, nearest
from nearfar_like.mlc.options import MODES, OPTIONS, MlcOption
from nearfar_like.mlc.sizes import cpu_list, cpu_mask, number, size_bytes
from nearfar_like.mlc.traffic import MlcTraffic, traffic
from nearfar_like.repeat import Effort

Value = int | str | Path | tuple[int, ...] | MlcTraffic | bool

DEFAULT_SECONDS = 2.0
"""Time to measure each value, s, as MLC: 19 delays take 40 s."""

DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000,
          20000)  # fmt: skip
"""Default delays of MLC, cycles."""

WINDOW_LINES = 4096
"""Default window of random latency, lines, as in MLC: it hides TLB and DRAM row misses."""

EXCLUDING = ("km", "dg", "RW", "ij", "Jj", "tx", "YZ", "Lh", "oW", "ok", "om", "uU")
"""Pairs of options that exclude each other."""


@dataclass
class MlcArguments:
    """The parsed command line."""

    words: list[str]
    memory: str = ""
    """``model:NAME``; empty: this machine."""
    mode: str = ""
    """Empty: all modes of a run without a mode."""
    options: dict[str, Value] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Notes on options that change nothing in this mode."""

    def has(self, letter: str) -> bool:
        """Return whether an option was given."""
        return letter in self.options

    def number(self, letter: str) -> int | None:
        """Return the value of an option that takes a number or a size."""
        value = self.options.get(letter)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def path(self, letter: str) -> Path | None:
        """Return the value of an option that takes a file or folder."""
        value = self.options.get(letter)
        return value if isinstance(value, Path) else None

    @property
    def cpus(self) -> tuple[int, ...] | None:
        """CPUs of ``-k`` or ``-m``."""
        value = self.options.get("k", self.options.get("m"))
        return value if isinstance(value, tuple) else None

    @property
    def traffic(self) -> MlcTraffic:
        """Traffic of ``-R`` or ``-W``; reads if neither was given."""
        value = self.options.get("W")
        return value if isinstance(value, MlcTraffic) else traffic("R", "-R")

    @property
    def effort(self) -> Effort:
        """Time or number of samples for each value."""
        seconds = None if self.mode == "memory_bandwidth_scan" else self.number("t")
        return Effort(DEFAULT_SECONDS if seconds is None else seconds, self.number("x"))

    @property
    def pages(self) -> str:
        """Pages of all buffers."""
        return "1g" if self.has("h") else "2m" if self.has("L") else "default"

    @property
    def random_latency(self) -> bool:
        """Whether latency accesses are random: by ``-r``, or because prefetchers stay on."""
        return self.has("r") or not self.has("e")

    @property
    def window_bytes(self) -> int:
        """Window of random latency."""
        lines = self.number("D")
        return 64 * (WINDOW_LINES if lines is None else lines)


def parse(words: list[str]) -> MlcArguments:
    """Parse MLC's command line; refuse a wrong one with what to write."""
    parsed = MlcArguments(words)
    letters = _split(words, parsed)
    for letter, value in letters:
        option = OPTIONS[letter]
        if letter in parsed.options:
            raise CommandError(f"-{letter} is given twice")
        if option.refused:
            raise CommandError(f"-{letter} ({option.meaning}): {option.refused}")
        if parsed.mode and parsed.mode not in option.modes:
            if not option.elsewhere:
                modes = ", ".join(f"--{mode}" for mode in MODES if mode in option.modes)
                raise CommandError(
                    f"-{letter} ({option.meaning}) means nothing to --{parsed.mode}; it is for "
                    f"{modes}"
                )
            parsed.notes.append(f"-{letter} changes nothing in --{parsed.mode}")
        parsed.options[letter] = _value(option, value)
    _check(parsed)
    return parsed


def _split(words: list[str], parsed: MlcArguments) -> list[tuple[str, str | None]]:
    """Store mode and memory in `parsed`; return the other options with the text of their values."""
    letters: list[tuple[str, str | None]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            if not word.startswith("model:"):
                raise CommandError(
                    f"{word!r} is neither an option nor model:NAME; -j NODE and -J FOLDER say "
                    "which memory of this machine"
                )
            if parsed.memory:
                raise CommandError("one model at a time: two were given")
            parsed.memory = word
        elif (name := word.lstrip("-")) in MODES:
            if parsed.mode:
                raise CommandError(f"one mode at a time: --{parsed.mode} and --{name} were given")
            parsed.mode = name
        elif word.startswith("--") or (len(word) > 2 and word[1] not in OPTIONS):
            raise CommandError(
                f"there is no mode or option {word}{nearest(name, list(MODES))} (`nearfar measure "
                "--like mlc --help` lists all)"
            )
        elif word == "-" or word[1] not in OPTIONS:
            raise CommandError(
                f"there is no option {word}; there are "
                + " ".join(f"-{letter}" for letter, option in OPTIONS.items() if not option.refused)
            )
        else:
            letters.append((word[1], _text(OPTIONS[word[1]], word, rest)))
    return letters


def _text(option: MlcOption, word: str, rest: list[str]) -> str | None:
    """Return the text of an option's value: what follows the letter, or the next word."""
    attached = word[2:]
    if option.takes == "":
        if attached:
            raise CommandError(
                f"-{option.letter} takes no value, but {word} was given: write options apart, "
                f"such as -{option.letter} -{attached[:1]}"
            )
        return None
    if attached or option.takes == "switch":
        return attached or None
    if not rest or rest[0].startswith("-"):
        raise CommandError(f"-{option.letter} ({option.meaning}) needs a value")
    return rest.pop(0)


_READERS: dict[str, Callable[[str, str], Value]] = {
    "size": size_bytes,
    "cpus": cpu_list,
    "mask": cpu_mask,
}
"""Kind of value to the function that reads it from a text, for an option."""


def _value(option: MlcOption, text: str | None) -> Value:
    where = f"-{option.letter}"
    if text is None:
        return True
    if option.takes in _READERS:
        return _READERS[option.takes](text, where)
    if option.takes in ("file", "folder"):
        return Path(text)
    if option.takes == "type":
        return traffic(f"W{text}", where)
    if option.takes == "switch":
        if text not in ("0", "1"):
            raise CommandError(f"{where} takes 0, 1 or nothing, not {text!r}")
        return True
    return number(text, where, least=1 if option.letter in "tlD" else 0)


def _check(parsed: MlcArguments) -> None:
    """Refuse options that exclude each other or need another one."""
    for pair in EXCLUDING:
        first, other = pair[0], pair[1]
        if parsed.has(first) and parsed.has(other) and parsed.mode != "memory_bandwidth_scan":
            raise CommandError(f"-{first} and -{other} exclude each other: leave one out")
    if parsed.options.get("e") is True and "-e1" in parsed.words:
        raise CommandError(
            "-e1 asks for prefetchers to be switched, which nearfar never does: use -e or -r"
        )
    if parsed.number("K") not in (None, 0):
        raise CommandError(
            "-K1 (parts of lines): nearfar's kernels load and store whole lines: leave out -K, "
            "and use -W6 to -W9 where stores without a read for ownership make -W2, -W3 or -W5 "
            "show more than the memory can do"
        )
    if (stride := parsed.number("l")) is not None and stride % 64:
        raise CommandError(f"-l {stride}: a stride is a multiple of 64 bytes")
    kind = parsed.options.get("W")
    if isinstance(kind, MlcTraffic) and kind.two_streams:
        raise CommandError(f"traffic {kind.name} has two memories: it is for lines of -o only")
    for letter in "PQ":
        if parsed.has(letter) and not parsed.has("Z"):
            raise CommandError(f"-{letter} (CLFLUSHOPT after stores) is for -Z, as in MLC: add -Z")
    if parsed.has("D") and not parsed.random_latency:
        raise CommandError("-D is the window of random accesses: add -r, or leave out -e")
