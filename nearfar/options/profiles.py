"""Options of `merge`, `scale` and `mark`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options


@dataclass(frozen=True, kw_only=True)
class MergeOptions(Options):
    """Options of `merge`."""

    profiles: Annotated[Sequence[Path], Option(position="rest")] = ()
    """Files that `nearfar profile` wrote, two or more."""
    weight: Sequence[float] = ()
    """How often each run happens, in the order of the profiles; repeat for each. Default: once."""
    edited: bool = False
    """The profiles are of builds between which the source changed: allocation sites whose lines
    moved are recognised by their functions, and each is named in a warning."""

    def check_options(self) -> None:
        """Refuse a command without profiles."""
        if not self.profiles:
            raise CommandError("name the profiles: nearfar merge one.json other.json -o all.json")


@dataclass(frozen=True, kw_only=True)
class ScaleOptions(Options):
    """Options of `scale`."""

    profiles: Annotated[Sequence[Path], Option(position="rest")] = ()
    """Files that `nearfar profile` wrote, one per size."""
    to: Sequence[str]
    """The size to extrapolate to, such as n=1e7."""
    force: bool = False
    """Extrapolate beyond eight times the largest size, and with laws that do not fit the sizes that
    ran; warnings then say which numbers are uncertain."""

    def check_options(self) -> None:
        """Refuse a command without profiles."""
        if not self.profiles:
            raise CommandError(
                "name the profiles: nearfar scale small.json ... --to n=1e7 -o big.json"
            )


@dataclass(frozen=True, kw_only=True)
class MarkOptions(Options):
    """Options of `mark`."""

    what: Annotated[Literal["begin", "end"], Option(position="first")]
    """begin or end. To begin a phase ends the one before it."""
    name: Annotated[str, Option(position="first")]
    """The phase, such as get."""
    operations: float = 0
    """Number of operations (requests) the program did in the phase that ends."""
    run: Path | None = None
    """The run's folder; default: NEARFAR_RUN_DIR, which `nearfar profile` sets."""
    pid: int | None = None
    """A process of the run: its environment names the folder."""

    def check_options(self) -> None:
        """Refuse two runs, and a number of operations for a phase that begins."""
        if self.run is not None and self.pid is not None:
            raise CommandError("give --run or --pid, not both")
        if self.what == "begin" and self.operations:
            raise CommandError("operations are counted when a phase ends: nearfar mark end ...")
