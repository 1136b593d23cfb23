"""The verb `try`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nearfar.base.errors import ExitCode
from nearfar.commands._verb import verb
from nearfar.options.try_program import FirstFiles, TryOptions

if TYPE_CHECKING:
    from nearfar.api.try_program import FirstAnswer

MAX_CAVEATS = 3
"""Caveats printed; the page has all."""


@verb(TryOptions, FirstFiles)
def try_program(options: TryOptions, delivery: FirstFiles) -> int:
    """Answer in a minute how slow a program is in far memory, and what must stay near.

    Measures near memory (about 20 s, once per boot), runs the program as it is, watches its
    accesses (by its instrumentation, the processor's counters, else QEMU), and predicts its time on
    six far memories. ``nearfar -- PROGRAM ARGS`` does the same. The program runs twice, or three
    times where only a part of it could be observed; its output passes through, and the answer goes
    to standard error. Exit code 4 if the program failed, 3 if it takes longer than can be observed.
    """
    from rich.console import Console

    from nearfar.api.try_program import first_answer
    from nearfar.commands._deliver import sayer
    from nearfar.measure.show import progress
    from nearfar.report.render import to_json

    say = sayer(Console(stderr=True, quiet=delivery.quiet))
    with progress(delivery.quiet, "try") as tell:
        answer = first_answer(options, delivery.output, say, tell, stdout_to_stderr=delivery.json)
    if delivery.json:
        print(to_json(answer.report).decode())
    elif not delivery.quiet:
        print("\n".join(_lines(answer, delivery)), file=sys.stderr)
    if answer.failure:
        print(f"nearfar: the program {answer.failure}: the answer is for what it did until then",
              file=sys.stderr)  # fmt: skip
        return ExitCode.PROGRAM_FAILED
    return ExitCode.DONE


def _lines(answer: FirstAnswer, delivery: FirstFiles) -> list[str]:
    """Return the answer as about a dozen lines of text."""
    from nearfar.report.answer import MIN_SLOWDOWN, opening_sentences

    data, observed = answer.report, answer.workload.uncounted_share < 1.0
    opening = next(part for part in data.answers if part.phase == data.first_phase)
    lines = ["", *opening_sentences(data), ""]
    width = max((len(row.memory) for row in opening.memories), default=0)
    for row in opening.memories:
        slow = row.slowdown
        ends = f"{slow.low:.2f}-{slow.high:.2f}"
        line = f"  {row.memory:{width}}  " + (f"{slow.value:5.2f} ({ends})" if observed else ends)
        useful = next((part for part in row.savings if part.added_share_avoided >= 0.5), None)
        if observed and useful is not None and useful.names and slow.value >= MIN_SLOWDOWN:
            line += f"  {useful.slowdown.value:.2f} with {', '.join(useful.names)} near"
        lines.append(line)
    what = "and its 90 % interval" if observed else "all that is possible"
    lines += ["", f"Slowdown of CPU time with all data far, {what}. How sure:"]
    lines += [f"- {text}" for text in [*data.method.warnings, *data.method.caveats][:MAX_CAVEATS]]
    lines += [f"- {data.method.noise}"] if data.method.noise else []
    folder = delivery.output
    if not observed:
        return [*lines, f"Wrote {folder}/report.html: open it in a browser."]
    first = opening.memories[0].memory if opening.memories else "DEVICE"
    return [
        *lines,
        f"Wrote {folder}/report.html: open it in a browser. Next: which data stay near at 25 %:",
        f"  nearfar place {folder}/run.json --near {folder}/near.json --far {first} --budget 25%",
    ]
