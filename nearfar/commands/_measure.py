"""The special modes of the verb `measure`: self-test, core, paged memory, single kernels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from nearfar.base.errors import CommandError, ExitCode
from nearfar.options.measure import KernelOptions, MeasureModes, MeasureOptions
from nearfar.options.shared import JsonOptions


def self_test(options: MeasureOptions, delivery: JsonOptions) -> ExitCode:
    """Probe a simulated memory and compare inferred with true values; return 1 on a mismatch."""
    from nearfar.base.files import write_atomically
    from nearfar.commands._deliver import check_output
    from nearfar.measure import show
    from nearfar.measure.self_test import self_test as test_devices
    from nearfar.memories.spec import parse_spec

    spec = parse_spec(options.memory)
    if spec.kind != "model":
        raise CommandError(
            "--self-test compares with a truth that only simulated memories have: use model:NAME"
        )
    if spec.pages is not None:
        raise CommandError("--self-test probes model:NAME as it is: leave out pages=")
    check_output(options.output)
    name = spec.model
    device = int(name.removeprefix("random:")) if name.startswith("random:") else name
    budget = {} if options.seconds is None else {"budget": options.seconds}
    with show.progress(delivery.quiet) as progress:
        verdicts = test_devices([device], progress=progress, **budget)
    sound = all(verdict.sound for verdict in verdicts)
    text = json.dumps([verdict.as_json() for verdict in verdicts], indent=1)
    if options.output is not None:
        write_atomically(options.output, text + "\n")
    if delivery.json:
        print(text)
    elif not delivery.quiet:
        _print_verdicts(verdicts)
        print("sound: no false statement" if sound else "not sound: see wrong and invented")
        if options.output is not None:
            print(f"wrote {options.output}")
    return ExitCode.DONE if sound else ExitCode.FOUND


def _print_verdicts(verdicts: list[Any]) -> None:
    for verdict in verdicts:
        inferred = f"{verdict.inferred} {verdict.interval}".strip() or verdict.note or "nothing"
        print(f"{verdict.judged:9s} {verdict.quantity}: {verdict.truth} is the truth; {inferred}")


def core(options: MeasureOptions, delivery: JsonOptions) -> ExitCode:
    """Measure this processor's core, or simulated cores with --self-test (1 on a mismatch)."""
    from nearfar.commands._deliver import check_output, print_json
    from nearfar.documents import save
    from nearfar.machine.render_core import core_lines
    from nearfar.measure import show
    from nearfar.measure.core import DURATION_S, measured_machine

    if getattr(delivery, "self_test", False):
        return _core_self_test(options, delivery)
    check_output(options.output)
    if not delivery.quiet:
        print(f"measures this processor's core: about {DURATION_S} s", file=sys.stderr)
    with show.progress(delivery.quiet, "measure", most_s=None) as progress:
        machine, figures = measured_machine(options.output, progress)
    if options.output is not None:
        save(machine, options.output)
    if delivery.json:
        print_json(machine)
    elif not delivery.quiet:
        print("\n".join(core_lines(figures)))
        if options.output is not None:
            print(f"wrote {options.output}")
    return ExitCode.DONE


def paged(options: MeasureOptions, modes: MeasureModes) -> ExitCode:
    """Measure a paged memory; without --yes, only print the changes to the machine."""
    from nearfar.commands._deliver import check_output, print_json
    from nearfar.documents import save
    from nearfar.measure import show
    from nearfar.measure.paged.measure import dry_run, measure_paged, request_of

    request = request_of(options)
    if not modes.yes:
        lines = dry_run(options)
        print(f"nearfar measure {request.spec} would do this, as root; --yes does it:")
        print("\n".join(f"  {line}" for line in lines))
        return ExitCode.DONE
    output = options.output
    if output is None and not modes.json:
        output = Path(f"{options.name or request.spec.slug()}.json")
    check_output(output)
    with show.progress(modes.quiet, most_s=request.seconds) as progress:
        device = measure_paged(options, progress)
    if output is not None:
        save(device, output)
    if modes.json:
        print_json(device)
    elif not modes.quiet:
        print(show.summary(device))
        print(f"wrote {output}")
    return ExitCode.DONE


def _core_self_test(options: MeasureOptions, delivery: JsonOptions) -> ExitCode:
    from nearfar.base.files import write_atomically
    from nearfar.commands._deliver import check_output
    from nearfar.measure.core import self_test as test_core
    from nearfar.measure.core import simulated_cores, within_one_step

    check_output(options.output)
    verdicts = [
        {"core": number, "figure": key, "truth": truth, "sound": within_one_step(truth, figure),
         "value": None if figure is None else figure.value}
        for number, simulated in enumerate(simulated_cores(options.seed), start=1)
        for key, truth, figure in test_core(simulated)
    ]  # fmt: skip
    text = json.dumps(verdicts, indent=1)
    if options.output is not None:
        write_atomically(options.output, text + "\n")
    if delivery.json:
        print(text)
    elif not delivery.quiet:
        for each in verdicts:
            value = "not seen" if each["value"] is None else f"{each['value']:.4g}"
            verdict = "sound" if each["sound"] else "wrong"
            print(f"{verdict:6s} {each['figure']}: {each['truth']:.4g} is the truth; {value}")
    return ExitCode.DONE if all(each["sound"] for each in verdicts) else ExitCode.FOUND


def list_kernels(delivery: JsonOptions) -> None:
    """Print every kernel and the features that this processor lacks for the kernel."""
    from nearfar.measure.one_kernel import kernel_list

    kernels = kernel_list()
    if delivery.json:
        print(json.dumps(kernels, indent=1))
    elif not delivery.quiet:
        for kernel in kernels:
            missing = kernel["missing"]
            note = f" (not here: this processor {missing})" if missing else ""
            print(f"{kernel['name']:29s} {kernel['summary']}{note}")


def one_kernel(options: KernelOptions, delivery: JsonOptions) -> None:
    """Run one kernel alone and print its result."""
    from nearfar import api

    result = api.measure_kernel(options)
    if delivery.json:
        print(json.dumps(result, indent=1))
    elif not delivery.quiet:
        for value in result["results"]:
            _print_value(result, value, f"{options.kernel}")
        for warning in result["warnings"]:
            print(f"warning: {warning}", file=sys.stderr)


def _print_value(result: dict[str, Any], value: dict[str, Any], kernel: str) -> None:
    print(
        f"{kernel}: {value['value']:.3f} {result['unit']} "
        f"[{value['low']:.3f}, {value['high']:.3f}] in {value['repetitions']} repetitions, "
        f"{result['memory']}, {value['page_bytes'] >> 10} KiB pages"
    )
    if "percentiles_ns" in value:
        percentiles = ", ".join(f"{key} {ns:.1f}" for key, ns in value["percentiles_ns"].items())
        timer = result["timer"]
        print(
            f"  each of {value['accesses']} accesses, ns: {percentiles}, most "
            f"{value['most_ns']:.1f} (the timer's {timer['overhead_ns']:.1f} subtracted, in steps "
            f"of {timer['resolution_ns']:.2g})"
        )
