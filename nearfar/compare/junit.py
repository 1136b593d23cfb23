"""Write a comparison as JUnit XML for continuous integration: a test case per value."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from nearfar.compare.table import changed, interval, number
from nearfar.documents.comparison import Change, Comparison


def to_junit(comparison: Comparison) -> bytes:
    """Return the XML; a value over the limit fails, a value without a verdict is skipped."""
    root = ET.Element(
        "testsuites",
        name=f"{comparison.a.file} against {comparison.b.file}",
        tests=str(len(comparison.changes)),
        failures=str(comparison.failed),
    )
    for family in comparison.families:
        changes = [change for change in comparison.changes if change.family == family]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=family,
            tests=str(len(changes)),
            failures=str(sum(change.over_limit for change in changes)),
            skipped=str(sum(change.verdict == "not judged" for change in changes)),
        )
        for change in changes:
            case = ET.SubElement(
                suite, "testcase", classname=f"nearfar.{_clean(family)}", name=_clean(change.name)
            )
            if change.over_limit:
                failure = ET.SubElement(case, "failure", message=_clean(text_of(change)))
                failure.text = _clean(f"A: {comparison.a.file}\nB: {comparison.b.file}")
            elif change.verdict == "not judged":
                ET.SubElement(case, "skipped", message=_clean(change.note))
            ET.SubElement(case, "system-out").text = _clean(text_of(change))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def text_of(change: Change) -> str:
    """Return a change in one line."""
    parts = [
        f"A {number(change.a, change.unit)}",
        f"B {number(change.b, change.unit)}",
        changed(change),
    ]
    if interval(change):
        parts.append(f"({interval(change)})")
    return " ".join([*parts, change.verdict])


def _clean(text: str) -> str:
    """Remove characters that XML 1.0 does not allow: names come from programs."""
    return "".join(
        c
        for c in text
        if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
