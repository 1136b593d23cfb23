"""The API function `profile`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.api._call import api_function
from nearfar.base.errors import CommandError, ExitCode
from nearfar.options.profile import ProfileOptions

if TYPE_CHECKING:
    from nearfar.documents import WorkloadProfile
    from nearfar.profile.session import ProfileRequest


@api_function(ProfileOptions)
def profile(options: ProfileOptions) -> WorkloadProfile:
    """Run a program and return where it touches memory; the profile is also saved to `output`.

    Raise NearfarError if the program failed: what was gathered until then is in `output`.
    """
    result, failure = run_profile(options)
    refuse_failure(options, failure)
    return result


def refuse_failure(options: ProfileOptions, failure: str) -> None:
    """Raise NearfarError if the program failed."""
    if failure:
        raise CommandError(
            f"the program {failure}; what was gathered until then is in {options.output}",
            ExitCode.PROGRAM_FAILED,
        )


def run_profile(
    options: ProfileOptions,
    say: Callable[[str], None] = lambda _: None,
    *,
    stdout_to_stderr: bool = False,
) -> tuple[WorkloadProfile, str]:
    """Return and save the profile; and how the program failed, or nothing."""
    from nearfar.base.files import check_writable
    from nearfar.base.units import parse_positive_seconds
    from nearfar.documents import save
    from nearfar.profile.assemble import assemble
    from nearfar.profile.session import gather_runs

    check_writable(options.output)
    sample = "60s" if options.sample is None else options.sample
    sample_s = parse_positive_seconds(sample, "--sample")
    request = _request(options, sample_s, say, stdout_to_stderr=stdout_to_stderr)
    gathered = gather_runs(request, say)
    warning = ""
    if request.slices:
        from nearfar.profile.detected_phases import with_detected_phases

        gathered, warning = with_detected_phases(gathered)
    result = assemble(request, gathered)
    if warning:
        result.warnings.append(warning)
    save(result, options.output)
    runs = [gathered.instrumented, *gathered.plain_runs]
    failure = next((run.outcome.status for run in runs if run.outcome.failed), "")
    if options.bursts:
        from nearfar.profile.bursts.record import add_bursts

        add_bursts(result, request, sample_s, say)
        save(result, options.output)
    elif not failure:
        from nearfar.profile.qemu_counts import check_counts

        check_counts(result, request, say)
        save(result, options.output)
    return result, failure


def _request(
    options: ProfileOptions,
    sample_s: float,
    say: Callable[[str], None],
    *,
    stdout_to_stderr: bool,
) -> ProfileRequest:
    from nearfar.profile.options import make_request
    from nearfar.profile.sources.choose import choose
    from nearfar.program.executable import find_executable

    command = list(options.command)
    request = make_request(
        command=command,
        repetitions=options.repetitions,
        duration=options.duration,
        after=options.after,
        driver=options.driver,
        llc=options.llc,
        near=options.near,
        ways=options.ways,
        memory=options.memory,
        size=options.size,
        plain=options.plain,
        stdout_to_stderr=stdout_to_stderr,
    )
    source = choose(
        name=options.source,
        executable=find_executable(command[0]),
        called=Path(command[0]).name,
        has_plain=options.plain is not None,
        sample_s=sample_s,
        rate=options.rate,
        instructions=options.sample_instructions,
        say=say,
    )
    if options.sample is not None and source.name == "compiled" and not options.bursts:
        raise CommandError(
            "--sample is for --source qemu or counters, and for --bursts: what nearfar cc built "
            "is observed as long as it runs; --duration stops it"
        )
    return replace(
        request,
        source=source,
        split_sizes=options.split == "size",
        slices=options.phases == "auto",
        longest_s=options.longest_s,
    )
