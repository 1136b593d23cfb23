"""JUnit XML for continuous integration: a case for each bug and each lint."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from nearfar.base.errors import ExitCode
from nearfar.crash.report.terminal import details, where
from nearfar.crash.report.words import (
    bug_text,
    exit_code,
    is_slow,
    lint_text,
    unfinished_text,
    verdict_text,
)
from nearfar.documents.crash_report import CrashReport

_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")
"""Characters that XML 1.0 (2.2) forbids and a checker may print."""


def junit(report: CrashReport) -> str:
    """Return the report as JUnit XML. Bugs are failures; lints are passed cases with their text."""
    cases = max(len(report.bugs), 1) + len(report.lints)
    suite = ElementTree.Element(
        "testsuite",
        name="nearfar crash",
        tests=str(cases),
        failures=str(len(report.bugs)),
        skipped=str(int(exit_code(report) is ExitCode.UNFINISHED)),
        time=f"{report.record_s + report.judge_s:.3f}",
    )
    command = " ".join(report.program)
    if not report.bugs:
        case = ElementTree.SubElement(suite, "testcase", name=_clean(command), classname="crash")
        case.set("time", f"{report.judge_s:.3f}")
        if exit_code(report) is ExitCode.UNFINISHED:
            message = f"{verdict_text(report)}: {unfinished_text(report)}"
            skipped = ElementTree.SubElement(case, "skipped", message=_clean(message))
            skipped.text = _clean("\n".join(text for b in report.undecided for text in details(b)))
    for bug in report.bugs:
        name = f"bug {bug.id}: {bug.symptom}, power cut {where(bug)}"
        case = ElementTree.SubElement(suite, "testcase", name=_clean(name), classname="crash")
        failure = ElementTree.SubElement(
            case, "failure", message=_clean(bug_text(bug)), type=bug.symptom
        )
        replay = [f"nearfar crash replay {bug.replay}"] if bug.replay else []
        failure.text = _clean("\n".join([command, *details(bug), *replay]))
    for lint in report.lints:
        name = _clean(f"lint: {lint_text(lint)}")
        kind = "crash.slow" if is_slow(lint) else "crash.lint"
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=kind)
        ElementTree.SubElement(case, "system-out").text = name
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("?", text)
