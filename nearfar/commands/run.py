"""The verb `run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from nearfar.base.errors import CommandError, ExitCode
from nearfar.commands._options import JsonOption, OutputOption, QuietOption


def run(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    map: Annotated[list[str] | None, Parameter(negative="")] = None,
    adapt: Annotated[bool, Parameter(negative="")] = False,
    region: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    rate: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    hysteresis: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    pages: Literal["system", "4KiB", "2MiB"] = "system",
    policy: str | None = None,
    driver: str | None = None,
    duration: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    prometheus: Path | None = None,
    output: OutputOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a program with its data where a plan says, and show where it landed: a RunRecord.

    nearfar run PLAN [--map NAME=SPEC] -- PROGRAM ARGS. The program is unmodified: a library
    preloaded into it recognises objects by their call stacks and serves each from its memory. Its
    own output passes through; this verb writes to standard error, with --json to standard
    output. Exit code 4 if the program failed: the record is written all the same.

    Parameters
    ----------
    words
        The plan of `nearfar place`, then the program and its arguments, after `--`.
    map
        What stands for a memory of the plan here, by its name or its device's: far=node:1,
        optane-100-6dimm=file:/mnt/pmem0, far=devdax:/dev/dax0.0. Repeat for several.
    adapt
        Move objects while the program runs: where the plan says so, as its phases begin, else as
        their use changes. Between memory nodes only.
    region
        With --adapt: bytes moved by one call; default 2MiB.
    rate
        With --adapt: most bytes moved in a second; default 1GB.
    hysteresis
        With --adapt: how long a phase or a change of use must last before anything moves;
        default 200ms.
    pages
        Ask the kernel for huge pages (2MiB), or refuse them (4KiB); system: as it is set up.
    policy
        The kernel's own way in place of a plan: interleave, weighted-interleave, preferred,
        tiering, damon.
    driver
        Shell command that makes the program work, such as a server's client: started with the
        program, and the program is stopped when it ends.
    duration
        Stop the program (SIGTERM) after this long, such as 10s.
    force
        Run even if less than half of the plan's bytes are this program's.
    prometheus
        Also write the record's figures to this file in Prometheus' text format, for the textfile
        collector of node_exporter (NAME.prom).
    """
    from rich.console import Console

    from nearfar.base.files import check_writable
    from nearfar.base.units import parse_seconds, parse_size_bytes
    from nearfar.documents import Plan, load, save
    from nearfar.documents.header import to_json
    from nearfar.program.launch import Job
    from nearfar.run.adapt import Pace
    from nearfar.run.api import PlanRunOptions, run_plan
    from nearfar.run.table import print_record

    plan_path, command = _split(words, policy)
    for wanted in (output, prometheus):
        if wanted is not None:
            check_writable(wanted)
    paces = {"--region": region, "--rate": rate, "--hysteresis": hysteresis}
    if unused := [option for option, value in paces.items() if value is not None and not adapt]:
        raise CommandError(
            f"without --adapt nothing moves while the program runs: add it, or leave out "
            f"{' and '.join(unused)}"
        )
    pace = Pace(
        region_bytes=parse_size_bytes("2MiB" if region is None else region),
        bytes_per_s=float(parse_size_bytes("1GB" if rate is None else rate)),
        hysteresis_s=parse_seconds("200ms" if hysteresis is None else hysteresis, "--hysteresis"),
    )
    if pace.region_bytes < 4096 or pace.bytes_per_s < 4096:
        raise CommandError("--region and --rate are at least a page: 4KiB")
    console = Console(stderr=True, quiet=quiet)
    job = Job(
        command=command,
        driver=driver,
        duration_s=None if duration is None else parse_seconds(duration, "--duration"),
        stdout_to_stderr=json,
    )
    if policy is not None:
        if map or adapt:
            raise CommandError("--policy leaves the data to the kernel: leave out --map, --adapt")
        from nearfar.run.policy_run import run_policy

        record = run_policy(policy, job)
    else:
        assert plan_path is not None
        how = PlanRunOptions(
            mapped=map or [],
            force=force,
            pace=pace if adapt else None,
            huge_pages={"system": 0, "2MiB": 1, "4KiB": 2}[pages],
            job=job,
        )
        record = run_plan(
            load(plan_path, Plan),
            str(plan_path),
            how,
            lambda text: console.print(f"nearfar: {text}", style="dim", markup=False),
        )
    if output is not None:
        save(record, output)
    if prometheus is not None:
        from nearfar.run.prometheus import write_metrics

        write_metrics(record, prometheus)
    print_record(record, console)
    if output is not None:
        console.print(f"nearfar: wrote {output}", style="dim", markup=False, highlight=False)
    if json:
        sys.stdout.write(to_json(record).decode())
    failed = not record.exit_status.startswith("exited 0") and "by nearfar" not in (
        record.exit_status
    )
    return int(ExitCode.PROGRAM_FAILED if failed else ExitCode.DONE)


def _split(words: tuple[str, ...], policy: str | None) -> tuple[Path | None, list[str]]:
    """Return the plan and the command."""
    if policy is not None:
        if not words:
            raise CommandError("name the program: nearfar run --policy interleave -- PROGRAM ARGS")
        return None, list(words)
    if len(words) < 2:
        raise CommandError("name a plan and a program: nearfar run plan.json -- PROGRAM ARGS")
    for word in words[:2]:
        if word.startswith("-"):
            raise CommandError(f"there is no option {word}; the program comes after --")
    return Path(words[0]), list(words[1:])
