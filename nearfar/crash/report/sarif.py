"""SARIF 2.1.0 (OASIS) for code scanning: bugs are errors, lints warnings or notes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from nearfar.base.errors import ExitCode
from nearfar.crash.lints._registry import LINTS, lints, meaning
from nearfar.crash.report.words import (
    bug_text,
    exit_code,
    fingerprint,
    lint_text,
    place_of,
    unfinished_text,
    verdict_text,
)
from nearfar.crash.symbols import is_library, user_frame
from nearfar.documents.crash_report import CrashBug, CrashLint, CrashReport
from nearfar.documents.workload import Frame

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BUG = "crash-state-refused"
Json: TypeAlias = dict[str, object]


def sarif(report: CrashReport) -> str:
    """Return the report as SARIF."""
    rules: list[Json] = [
        {
            "id": _BUG,
            "shortDescription": {"text": "A power cut leaves an image that the checker refuses."},
        }
    ]
    rules += [
        {"id": _rule_id(lint.kind), "shortDescription": {"text": meaning(lint)}} for lint in lints()
    ]
    driver = {
        "name": "nearfar crash",
        "version": report.producer.nearfar_version,
        "rules": rules,
    }
    results = [_bug(bug) for bug in report.bugs]
    results += [_bug(bug) | {"kind": "review", "level": "none"} for bug in report.undecided]
    results += [_lint(lint) for lint in report.lints]
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(report)],
                "originalUriBaseIds": {"SOURCES": {"uri": _folder_uri()}},
                "results": results,
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _invocation(report: CrashReport) -> Json:
    """Return how the run ended, so that a consumer without results notices an unfinished run."""
    why = unfinished_text(report)
    notes = [{"level": "warning", "message": {"text": text}} for text in [why] if text]
    notes += [{"level": "note", "message": {"text": text}} for text in report.warnings]
    code = exit_code(report)
    return {
        "executionSuccessful": code is not ExitCode.UNFINISHED,
        "exitCode": int(code),
        "exitCodeDescription": verdict_text(report),
        "toolExecutionNotifications": notes,
    }


def _bug(bug: CrashBug) -> Json:
    stacks = [_stack(line.frames, "stored") for line in [*bug.survived, *bug.lost]]
    return {
        "ruleId": _BUG,
        "level": "error",
        "message": {"text": bug_text(bug)},
        "locations": _locations(place_of(bug)),
        "stacks": [stack for stack in stacks if stack["frames"]],
        "partialFingerprints": {"nearfarBug/v1": fingerprint(bug.symptom, place_of(bug))},
        "properties": {"replay": bug.replay, "states": bug.states},
    }


def _lint(lint: CrashLint) -> Json:
    place = user_frame(lint.frames)
    return {
        "ruleId": _rule_id(lint.kind),
        "level": LINTS.get(lint.kind).severity,
        "message": {"text": lint_text(lint)},
        "locations": _locations(place),
        "partialFingerprints": {"nearfarLint/v1": fingerprint(lint.kind, place)},
    }


def _rule_id(kind: str) -> str:
    return kind.replace(" ", "-")


def _locations(frame: Frame | None) -> list[Json]:
    return [] if frame is None or not frame.file else [_location(frame)]


def _location(frame: Frame) -> Json:
    physical: Json = {"artifactLocation": _artifact(frame.file)}
    if frame.line:
        physical["region"] = {"startLine": frame.line}
    return {"physicalLocation": physical, "logicalLocations": [{"name": frame.function}]}


def _artifact(file: str) -> Json:
    inside = os.path.relpath(file)
    if inside.startswith(".."):
        return {"uri": f"file://{file}" if file.startswith("/") else file}
    return {"uri": inside, "uriBaseId": "SOURCES"}


def _stack(frames: Sequence[Frame], text: str) -> Json:
    named = [frame for frame in frames if frame.file and not is_library(frame.module)]
    return {
        "message": {"text": text},
        "frames": [{"location": _location(frame)} for frame in named],
    }


def _folder_uri() -> str:
    return f"file://{Path.cwd()}/"
