"""A comparison as JUnit XML, which continuous integration shows: a test case for every figure."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from nearfar.compare.table import changed, interval, number
from nearfar.documents.comparison import Change, Comparison


def to_junit(found: Comparison) -> bytes:
    """Return the XML; a figure over the limit is a failure, one not judged is skipped."""
    root = ET.Element(
        "testsuites",
        name=f"{found.a.file} against {found.b.file}",
        tests=str(len(found.changes)),
        failures=str(found.failed),
    )
    for family in found.families:
        changes = [one for one in found.changes if one.family == family]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=family,
            tests=str(len(changes)),
            failures=str(sum(one.over_limit for one in changes)),
            skipped=str(sum(one.verdict == "not judged" for one in changes)),
        )
        for one in changes:
            case = ET.SubElement(
                suite, "testcase", classname=f"nearfar.{_clean(family)}", name=_clean(one.name)
            )
            if one.over_limit:
                failure = ET.SubElement(case, "failure", message=_clean(text_of(one)))
                failure.text = _clean(f"A: {found.a.file}\nB: {found.b.file}")
            elif one.verdict == "not judged":
                ET.SubElement(case, "skipped", message=_clean(one.note))
            ET.SubElement(case, "system-out").text = _clean(text_of(one))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def text_of(one: Change) -> str:
    """Return a change in one line."""
    parts = [f"A {number(one.a, one.unit)}", f"B {number(one.b, one.unit)}", changed(one)]
    if interval(one):
        parts.append(f"({interval(one)})")
    return " ".join([*parts, one.verdict])


def _clean(text: str) -> str:
    """Leave out what XML 1.0 cannot hold: names come from programs."""
    return "".join(
        c
        for c in text
        if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
