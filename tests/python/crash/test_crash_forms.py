"""SARIF, JUnit and the page of a report made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from nearfar.base.errors import ExitCode
from nearfar.crash.bugs import FoundBug
from nearfar.crash.report.junit import junit
from nearfar.crash.report.page import page
from nearfar.crash.report.sarif import sarif
from nearfar.crash.report.terminal import details
from nearfar.crash.report.words import exit_code
from nearfar.crash.summary import merged
from nearfar.documents.crash_report import (
    CrashBug,
    CrashLine,
    CrashLint,
    CrashObject,
    CrashPlace,
    CrashReport,
)
from nearfar.documents.header import producer
from nearfar.documents.workload import Frame

_HERE = str(Path.cwd() / "log.c")


def frames(line: int) -> list[Frame]:
    return [Frame(function="append", file=_HERE, line=line, module="log")]


def bug(number: int, *, symptom: str = "exit 1", lost: int = 8) -> CrashBug:
    line = CrashLine(offset=64, stores=1, survived=0, flushed=0, frames=frames(lost))
    return CrashBug(
        id=number,
        symptom=symptom,
        said="<entry> & \x01 1 is not there",
        point=3,
        at="fence",
        operation=0,
        frames=frames(9),
        survived=[],
        lost=[line],
        states=2,
        replay="bug-1.json",
    )


LINT = CrashLint(
    kind="never flushed",
    times=2,
    offset=64,
    frames=frames(8),
    object=CrashObject(what="allocation", offset=64, size=32, type_number=7, byte=8),
)
SLOW = CrashLint(kind="flushed twice", times=1, offset=64, frames=frames(12))


def report(bugs: list[CrashBug]) -> CrashReport:
    return CrashReport(
        producer=producer(),
        program=["./log", "{pool}"],
        check="./check {pool}",
        exit_status="exited 0",
        pool_bytes=4096,
        eadr=False,
        seed=1,
        operations=1,
        stores=1,
        flushes=1,
        fences=1,
        points=2,
        points_explored=2,
        store_sites=1,
        fence_sites=1,
        states=3,
        duplicates=0,
        complete=True,
        record_s=0.1,
        judge_s=0.2,
        states_per_s=15.0,
        bugs=bugs,
        lints=[LINT, SLOW],
        places=[CrashPlace(function="append", file=_HERE, line=8, stores=1, flushes=0, fences=0)],
    )


def test_sarif_names_each_rule_and_each_location_below_the_folder() -> None:
    document = json.loads(sarif(report([bug(1)])))
    (run,) = document["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    results = run["results"]
    assert document["version"] == "2.1.0"
    assert [result["level"] for result in results] == ["error", "warning", "note"]
    assert {result["ruleId"] for result in results} <= rules
    location = results[0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "log.c", "uriBaseId": "SOURCES"}
    assert location["region"] == {"startLine": 8}


def test_junit_is_valid_for_any_output_of_a_checker() -> None:
    suite = ElementTree.fromstring(junit(report([bug(1), bug(2, symptom="SIGSEGV")])))
    assert (suite.get("failures"), suite.get("tests")) == ("2", "4")
    assert len(suite.findall("testcase/failure")) == 2
    clean = ElementTree.fromstring(junit(report([])))
    assert (clean.get("failures"), clean.get("tests")) == ("0", "3")


def test_an_unfinished_report_without_bugs_neither_passes_nor_fails() -> None:
    unfinished = report([])
    unfinished.complete, unfinished.ended, unfinished.points_explored = False, "states", 1
    suite = ElementTree.fromstring(junit(unfinished))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert "give more --states" in skipped.get("message", "")
    (run,) = json.loads(sarif(unfinished))["runs"]
    (invocation,) = run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (5, False)


def test_what_cannot_be_judged_is_no_bug() -> None:
    blind = report([])
    blind.undecided, blind.unseen = [bug(1)], "its code is made at run time"
    assert exit_code(blind) == ExitCode.UNFINISHED
    (run,) = json.loads(sarif(blind))["runs"]
    assert [result["level"] for result in run["results"]] == ["none", "warning", "note"]
    assert "its code is made at run time" in page(blind)


def test_the_page_escapes_the_output_of_a_checker() -> None:
    text = page(report([bug(1)]))
    assert "&lt;entry&gt; &amp;" in text
    assert "<entry>" not in text
    assert "byte 8 of an object of type 7" in text
    assert "<script" not in text
    assert "\u25a1  append log.c:8, never flushed" in text


def test_the_page_marks_the_source_line_of_a_store(tmp_path: Path) -> None:
    source = tmp_path / "log.c"
    source.write_text("one\ntwo\nlog->length = <n>;\nfour\n")
    stored = bug(1)
    stored.lost[0].frames[0].file, stored.lost[0].frames[0].line = str(source), 3
    assert "&gt;     3 log-&gt;length = &lt;n&gt;;" in page(report([stored]))


def test_a_line_that_is_in_memory_in_part_is_shown_once() -> None:
    torn = bug(1)
    torn.lost[0].stores, torn.lost[0].survived = 2, 1
    torn.survived = torn.lost[:]
    rows = details(torn)
    assert rows[0].startswith("in part:     0x40 stored by append log.c:8, 1 of 2 stores")
    assert not any(row.startswith(("in memory:", "not yet:")) for row in rows)
    assert page(report([torn])).count("\u25a0\u25a1") == 1


def test_sarif_leaves_out_the_frames_of_libraries() -> None:
    stored = bug(1)
    library = Frame(function="memmove", file="/build/libpmem.c", line=7, module="libpmem.so.1")
    stored.lost[0].frames.insert(0, library)
    (run,) = json.loads(sarif(report([stored])))["runs"]
    (stack,) = run["results"][0]["stacks"]
    names = [frame["location"]["logicalLocations"][0]["name"] for frame in stack["frames"]]
    assert names == ["append"]


def test_bugs_with_the_same_cause_and_symptom_are_merged() -> None:
    bugs_found = [
        FoundBug(bug(1), 0, 0, []),
        FoundBug(bug(2), 0, 0, []),
        FoundBug(bug(3, symptom="SIGSEGV"), 0, 0, []),
        FoundBug(bug(4, lost=30), 0, 0, []),
    ]
    bugs = [found_bug.bug for found_bug in merged(bugs_found, [SLOW, LINT])]
    assert [bug.id for bug in bugs] == [1, 2, 3]
    assert [bug.states for bug in bugs] == [4, 2, 2]
    assert [bug.cause for bug in bugs] == ["never flushed: append log.c:8"] * 2 + [""]
