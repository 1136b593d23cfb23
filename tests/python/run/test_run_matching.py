"""Matching of call stacks with objects: wrappers, gaps, moved lines, tags, no match."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nearfar.documents.plan import Placement
from nearfar.documents.workload import Frame
from nearfar.run.matcher import Matcher

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement


def chain(*functions: str, line: int = 10) -> list[Frame]:
    return [
        Frame(function=name, file=f"src/{name}.c" if line else "", line=line) for name in functions
    ]


def stack(*functions: str, line: int = 10) -> list[tuple[int, Frame]]:
    """Return a stack in which each function has its own return address."""
    return list(enumerate(chain(*functions, line=line)))


def named(number: int, *functions: str, told_by: int = 1, **more: object) -> Placement:
    return placement(number, functions[0], "far", frames=chain(*functions), told_by=told_by, **more)


def found(matcher: Matcher, at: list[tuple[int, Frame]], **more: object) -> int | None:
    matched = matcher.match(at, **more).placement  # type: ignore[arg-type]
    return None if matched is None else matched.object


def test_callers_distinguish_objects_of_one_function() -> None:
    matcher = Matcher(
        [named(0, "make", "users", "main", told_by=2), named(1, "make", "orders", told_by=2)]
    )
    assert found(matcher, stack("malloc", "make", "users", "main")) == 0
    assert found(matcher, stack("zmalloc", "make", "orders", "serve", "main")) == 1
    assert found(matcher, stack("make", "neither", "main")) is None


def test_a_wrapper_that_only_the_profile_knew_is_skipped() -> None:
    matcher = Matcher([named(0, "make_users")])
    matched = matcher.match(stack("take_memory", "counted_take", "make_users", "main"))
    assert matched.placement is not None
    assert matched.depth == 3  # this many return addresses must match


def test_inlined_calls_at_one_address_count_as_one_address() -> None:
    matcher = Matcher([named(0, "make", "users", told_by=2)])
    frames = chain("make", "users", "main")
    matched = matcher.match([(0, frames[0]), (0, frames[1]), (1, frames[2])])
    assert matched.placement is not None
    assert matched.depth == 1


def test_an_edited_source_moves_lines_and_the_nearest_matches() -> None:
    first = placement(0, "a", "far", frames=[Frame(function="make", file="m.c", line=10)])
    second = placement(1, "b", "far", frames=[Frame(function="make", file="m.c", line=20)])
    matcher = Matcher([first, second])
    for line, wanted in ((10, 0), (20, 1), (12, 0), (23, 1)):
        at = [(0, Frame(function="make", file="/elsewhere/m.c", line=line))]
        assert found(matcher, at) == wanted


def test_without_debug_information_inlined_callers_are_gaps() -> None:
    matcher = Matcher(
        [
            named(0, "make", "wrap_users", "users", "serve", told_by=3),
            named(1, "make", "wrap_orders", "orders", "serve", told_by=3),
        ]
    )
    # make and wrap_users are inlined into users, without debug information.
    assert found(matcher, stack("malloc", "users", "serve", line=0)) == 0
    assert found(matcher, stack("malloc", "make", "orders", "main", line=0)) == 1


@pytest.mark.parametrize("in_plan", [True, False], ids=["plan", "program"])
def test_an_inlined_call_without_its_class_is_the_same_function(in_plan: bool) -> None:
    """Line tables of one of two builds omit the class, as for LevelDB's arena."""

    def path(middle: str, file: str = "arena.h") -> list[Frame]:
        return [
            Frame(function="db::Arena::NewBlock(int)", file="util/arena.cc", line=59),
            Frame(function=middle, file=f"util/{file}", line=66),
            Frame(function="db::Table::Add(int)", file="db/table.cc", line=89),
        ]

    short, whole = "Allocate", "db::Arena::Allocate(int)"
    if not in_plan:
        short, whole = whole, short
    matcher = Matcher(
        [
            placement(0, "all", "far", frames=path(short), told_by=3),
            placement(1, "aligned", "far", frames=path("db::Arena::AllocateAligned"), told_by=3),
        ]
    )
    assert found(matcher, list(enumerate(path(whole)))) == 0
    # A function of that name from another source, and one whose name has that suffix.
    assert found(matcher, list(enumerate(path(whole, "cache.h")))) is None
    assert found(matcher, list(enumerate(path("PreAllocate")))) is None


def test_another_path_of_inlined_calls_is_another_object() -> None:
    matcher = Matcher([named(0, "make", "a", "b", "c", told_by=4)])
    assert found(matcher, stack("make", "unknown", "c")) is None


@pytest.mark.parametrize(
    ("split", "tag", "size", "wanted"),
    [
        ("users", "users", 100, True),
        ("users", "", 100, False),
        ("users", "orders", 100, False),
        ("64-127 B", "", 100, True),
        ("64-127 B", "", 128, False),
        ("users, 64-127 B", "users", 64, True),
        ("", "anything", 1, True),
    ],
)
def test_tags_and_sizes_split_a_site(split: str, tag: str, size: int, wanted: bool) -> None:
    matcher = Matcher([named(0, "make", split=split)])
    assert (found(matcher, stack("make"), tag=tag, size=size) == 0) is wanted


def test_objects_without_an_allocator_never_match() -> None:
    matcher = Matcher([named(0, "make", kind="stack"), named(1, "make", kind="globals")])
    assert found(matcher, stack("make", "main")) is None
