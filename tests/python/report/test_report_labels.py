"""Labels shorten C++ names and keep other names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.report.labels import label, short_labels


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dictExpand dict.c:197", "dictExpand dict.c:197"),
        ("globals of libstdc++.so.6", "globals of libstdc++.so.6"),
        ("libstdc++.so.6+0x179c5b", "libstdc++.so.6+0x179c5b"),
        (
            "(anonymous namespace)::read_folder((anonymous namespace)::Index&, char const*)"
            " i.cpp:67",
            "read_folder i.cpp:67",
        ),
        (
            "Posting& std::vector<Posting, std::allocator<Posting>>::emplace_back<Posting>"
            "(Posting&&) vector.tcc:123",
            "std::vector<…>::emplace_back<…> vector.tcc:123",
        ),
        ("std::map<int, int>::find(int const&) const", "std::map<…>::find"),
        ("ns::operator<<(std::ostream&, T<int>) a.cc:3", "ns::operator<< a.cc:3"),
        ("void* operator new(unsigned long) new.cc:1", "operator new new.cc:1"),
        ("f(int) a.c:1 < g<h>(int) b.c:2", "f a.c:1 ← g<…>"),
        (
            "dictAdd dict.c:3 < dbAdd db.c:190 < setKey db.c:270",
            "dictAdd dict.c:3 ← dbAdd ← setKey",
        ),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("broken<(name", "broken<(name"),
        ("a>b", "a>b"),
        ("", ""),
    ],
)
def test_label(name: str, expected: str) -> None:
    assert label(name) == expected


def test_short_labels_keep_the_ends() -> None:
    names = ["dictAdd dict.c:3 < dbAdd db.c:190 < setKey db.c:270", "dictAdd dict.c:3"]
    assert shortened(names) == ["dictAdd ← setKey", "dictAdd dict.c:3"]


def test_short_labels_differ_where_names_do() -> None:
    names = [
        "alloc < more_sv < hv_common < helem",
        "alloc < more_bodies < hv_common < helem",
        "alloc < more_bodies < hv_split < helem",
        "alloc < helem",
        "realloc < hv_common < helem",
    ]
    assert shortened(names) == [
        "alloc ← more_sv ← helem",
        "alloc ← more_bodies ← hv_common ← helem",
        "alloc ← more_bodies ← hv_split ← helem",
        "alloc ← helem",
        "realloc ← helem",
    ]
    assert shortened([]) == []


def test_short_labels_differ_by_places_and_by_numbers_at_last() -> None:
    names = ["alloc a.c:3 < g", "alloc a.c:9 < g", "f < g<int>", "f < g<long>"]
    assert shortened(names) == [
        "alloc a.c:3 ← g",
        "alloc a.c:9 ← g",
        "f ← g<…> (1)",
        "f ← g<…> (2)",
    ]


def shortened(names: list[str]) -> list[str]:
    return short_labels([label(name) for name in names])


@given(st.text(alphabet="ab<>():: \x00&*,.1", max_size=40))
def test_any_text_gives_a_label(name: str) -> None:
    assert bool(label(name)) == bool(name)
