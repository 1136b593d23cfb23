"""The file of ``-o``: each line gives CPUs and their traffic.

::

    <cpus> <R|Wn> <seq|rand> <buffer> <dram|pmem> [<node|folder> [<delay>]]
    <cpus> <W21|W23|W27> <seq|rand> <buffer> <dram|pmem> <node|folder> <dram|pmem> <node|folder> <%>

A ``#`` starts a comment. A mistake is refused with the file's name and the line's number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base.errors import CommandError, nearest
from nearfar_like.bench import BufferPlace
from nearfar_like.mlc.sizes import cpu_list, number, size_bytes
from nearfar_like.mlc.traffic import MlcTraffic, traffic

FORM = "<cpus> <R|Wn> <seq|rand> <buffer> <dram|pmem> [<node|folder> [<delay>]]"
TWO_STREAMS = (
    "<cpus> <W21|W23|W27> <seq|rand> <buffer> <dram|pmem> <node|folder> <dram|pmem> <node|folder> "
    "<10|25|50>"
)
SHARES = {"W21": (10, 25, 50), "W23": (10, 25), "W27": (10, 25)}
"""Valid shares of the second memory, percent."""


@dataclass(frozen=True)
class ThreadLine:
    """The traffic of some CPUs."""

    cpus: tuple[int, ...]
    traffic: MlcTraffic
    random: bool
    size_bytes: int
    place: BufferPlace
    delay: int | None = None
    """Delay, cycles; None: the value of ``-d``."""
    second: BufferPlace | None = None
    second_percent: int = 0
    where: str = ""
    """File and line, for later refusals."""


def read_thread_file(path: Path) -> list[ThreadLine]:
    """Read a file of ``-o``."""
    try:
        text = path.read_text()
    except OSError as error:
        raise CommandError(f"-o: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"-o: {path} is no text file") from error
    lines: list[ThreadLine] = []
    taken: dict[int, str] = {}
    for count, text_line in enumerate(text.splitlines(), start=1):
        words = text_line.split("#", 1)[0].split()
        if not words:
            continue
        line = _line(words, f"{path}, line {count}")
        for cpu in line.cpus:
            if cpu in taken:
                raise CommandError(f"{line.where}: CPU {cpu} already has work by {taken[cpu]}")
            taken[cpu] = line.where
        lines.append(line)
    if not lines:
        raise CommandError(f"-o: {path} has no line; a line is {FORM}")
    return lines


def _line(words: list[str], where: str) -> ThreadLine:
    if len(words) < 5:
        raise CommandError(f"{where}: {len(words)} fields where there should be: {FORM}")
    cpus = cpu_list(words[0], where)
    kind = traffic(words[1], where)
    if words[2].lower() not in ("seq", "rand"):
        raise CommandError(f"{where}: the order is seq or rand, not {words[2]!r}")
    random = words[2].lower() == "rand"
    size = size_bytes(words[3], where)
    if kind.two_streams:
        if random:
            raise CommandError(f"{where}: traffic {kind.name} is sequential only: write seq")
        return _two_streams(
            words, where, ThreadLine(cpus, kind, random, size, BufferPlace(), where=where)
        )
    if len(words) > 7:
        raise CommandError(f"{where}: {len(words)} fields, at most 7 are known: {FORM}")
    place = _place(words[4], words[5] if len(words) > 5 else None, where)
    delay = number(words[6], where) if len(words) > 6 else None
    return ThreadLine(cpus, kind, random, size, place, delay, where=where)


def _two_streams(words: list[str], where: str, line: ThreadLine) -> ThreadLine:
    if len(words) != 9:
        raise CommandError(f"{where}: {len(words)} fields where there should be: {TWO_STREAMS}")
    first = _place(words[4], words[5], where)
    second = _place(words[6], words[7], where)
    percent = number(words[8], where)
    if percent not in SHARES[line.traffic.name]:
        valid = ", ".join(map(str, SHARES[line.traffic.name]))
        raise CommandError(
            f"{where}: the second memory's share of {line.traffic.name} is one of {valid} percent, "
            f"not {percent}"
        )
    return replace(line, place=first, second=second, second_percent=percent)


def _place(kind: str, what: str | None, where: str) -> BufferPlace:
    if kind.lower() == "dram":
        return BufferPlace(None if what is None else number(what, f"{where}: the node"))
    if kind.lower() == "pmem":
        if what is None:
            raise CommandError(f"{where}: pmem needs a folder, such as pmem /mnt/pmem0")
        return BufferPlace(folder=Path(what))
    raise CommandError(
        f"{where}: a memory is dram or pmem, not {kind!r}{nearest(kind, ['dram', 'pmem'])}"
    )
