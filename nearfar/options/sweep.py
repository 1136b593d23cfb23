"""Options of `sweep`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from nearfar.base.errors import CommandError
from nearfar.options.option import Option, Options


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Options):
    """Options of `sweep`."""

    file: Annotated[Path, Option(position="first")]
    """Points to compute, as TOML: docs/sweep.md."""
    output: Annotated[Path | None, Option(short="-o")] = None
    """Folder of the results. Default: next to the file, under its name."""
    scheduler: str | None = None
    """An existing Dask scheduler, such as tls://head:8786, of any kind of cluster."""
    tls_ca_file: Path | None = None
    """Certificate that signed those of the scheduler, its workers and --tls-cert."""
    tls_cert: Path | None = None
    """Certificate with which this sweep connects to a scheduler with TLS."""
    tls_key: Path | None = None
    """Key of --tls-cert."""
    workers: int | None = None
    """Number of processes to start on this machine, without --scheduler. Default: one for every
    processor."""
    resume: bool = True
    """--no-resume removes the finished points in the folder and computes everything again."""
    dry_run: bool = False
    """Check everything and print how many points there are."""

    def check_options(self) -> None:
        """Refuse some of the TLS files without the others, or without a scheduler."""
        files = (self.tls_ca_file, self.tls_cert, self.tls_key)
        if any(files) and not (all(files) and self.scheduler):
            raise CommandError(
                "--tls-ca-file, --tls-cert, --tls-key and a --scheduler belong together: give all "
                "four; without --scheduler a sweep makes a certificate of its own"
            )

    def folder(self) -> Path:
        """Return the folder of the results."""
        if self.output is not None:
            return self.output
        folder = self.file.with_suffix("")
        return folder if folder != self.file else self.file.with_name(f"{self.file.name}-results")
