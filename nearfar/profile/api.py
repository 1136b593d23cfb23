"""The profile that options ask for: its runs, and the document made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nearfar.base.errors import CommandError, ExitCode
from nearfar.base.files import check_writable
from nearfar.base.units import parse_positive_seconds
from nearfar.documents import WorkloadProfile, save
from nearfar.options.profile import ProfileOptions
from nearfar.profile.assemble import assemble
from nearfar.profile.bursts.record import add_bursts
from nearfar.profile.detected_phases import with_detected_phases
from nearfar.profile.options import make_request
from nearfar.profile.qemu_counts import check_counts
from nearfar.profile.session import gather_runs
from nearfar.profile.sources.source import choose
from nearfar.program.executable import find_executable


def profile(
    options: ProfileOptions,
    say: Callable[[str], None] = lambda _: None,
    *,
    stdout_to_stderr: bool = False,
) -> tuple[WorkloadProfile, str]:
    """Return and save the profile; and how the program failed, or nothing."""
    check_writable(options.output)
    sample = "60s" if options.sample is None else options.sample
    sample_s = parse_positive_seconds(sample, "--sample")
    request = make_request(options, stdout_to_stderr=stdout_to_stderr)
    source = choose(options, find_executable(options.command[0]), sample_s, say)
    request = replace(request, source=source)
    gathered = gather_runs(request, say)
    warning = ""
    if request.slices:
        gathered, warning = with_detected_phases(gathered)
    result = assemble(request, gathered)
    if warning:
        result.warnings.append(warning)
    save(result, options.output)
    runs = [gathered.instrumented, *gathered.plain_runs]
    failure = next((run.outcome.status for run in runs if run.outcome.failed), "")
    if options.bursts:
        add_bursts(result, request, sample_s, say)
        save(result, options.output)
    elif not failure:
        check_counts(result, request, say)
        save(result, options.output)
    return result, failure


def refuse_failure(options: ProfileOptions, failure: str) -> None:
    """Raise NearfarError if the program failed."""
    if failure:
        raise CommandError(
            f"the program {failure}; the data collected until then are in {options.output}",
            ExitCode.PROGRAM_FAILED,
        )
