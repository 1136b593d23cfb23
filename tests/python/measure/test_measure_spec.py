from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.memories.spec import OPTIONS, MemorySpec, parse_spec

pages = st.sampled_from([None, *OPTIONS["pages"]])
loads = st.sampled_from(OPTIONS["load"])
# Any path that is not made of options itself, normalised by pathlib.
paths = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1).map(
    lambda text: Path("/" + text)
)

specs = st.one_of(
    st.builds(MemorySpec, st.just("dram"), pages=pages, load=loads),
    st.builds(MemorySpec, st.just("node"), node=st.integers(0, 4096), pages=pages, load=loads),
)


@given(specs)
def test_a_printed_spec_parses_to_the_same_spec(spec: MemorySpec) -> None:
    assert parse_spec(str(spec)) == spec


@given(st.text())
def test_any_text_parses_or_is_refused_in_one_sentence(text: str) -> None:
    try:
        parse_spec(text)
    except NearfarError as error:
        assert error.exit_code is ExitCode.WRONG_USE
        assert "A memory is dram, node:N" in str(error) or "is a paged memory" in str(error)


@given(paths, loads)
def test_a_path_keeps_its_commas(path: Path, load: str) -> None:
    if "=" in str(path):
        return  # the path may look like an option, which the next test covers
    spec = parse_spec(f"file:{path},load={load}")
    assert (spec.path, spec.load) == (path, load)


def test_a_comma_in_a_path_belongs_to_it_unless_an_option_follows() -> None:
    assert parse_spec("file:/a,b/c").path == Path("/a,b/c")
    assert parse_spec("file:/a,x=1/c").path == Path("/a,x=1/c")
    with pytest.raises(NearfarError, match="unknown option 'x'"):
        parse_spec("file:/a,x=1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unknown kind of memory"),
        ("drum", "did you mean 'dram'"),
        ("dram:0", "has nothing after a colon"),
        ("node", "needs a node's number"),
        ("node:", "needs a node's number"),
        ("node:-1", "needs a node's number"),
        ("node:1_0", "needs a node's number"),
        ("node:\u0663", "needs a node's number"),
        ("file:", "needs a path"),
        ("file:/tmp,pages=4k", "a file's pages"),
        ("dram,page=4k", "did you mean 'pages'"),
        ("dram,pages=8k", "pages= must be one of 4k, thp, 2m"),
        ("dram,load=write", "load= must be one of none, read, store, copy"),
        ("dram,load=read,load=copy", "given twice"),
        ("dram,pages", "unknown kind of memory"),
        ("DRAM", "unknown kind of memory"),
        ("nowhere", "cannot read the memory 'nowhere': unknown kind of memory; did you mean"),
    ],
)
def test_bad_specs_report_the_reason_and_valid_specs(text: str, why: str) -> None:
    with pytest.raises(NearfarError) as refused:
        parse_spec(text)
    assert why in str(refused.value)
    assert "pages=4k|thp|2m" in str(refused.value)


def test_slugs_are_device_names() -> None:
    assert parse_spec("dram").slug() == "dram"
    assert parse_spec("node:1,pages=4k,load=store").slug() == "node-1-pages-4k-load-store"
    assert parse_spec("file:/mnt/PMem 0").slug() == "file-mnt-pmem-0"
