"""Frames that are left out of a site's name."""

from __future__ import annotations

import pytest

from nearfar.documents.workload import Frame
from nearfar.program.names import bare_name
from nearfar.program.wrappers import common_wrappers, container_call, is_wrapper, meaningful


@pytest.mark.parametrize(
    "name",
    [
        "malloc",
        "__libc_malloc",
        "zmalloc",
        "zcalloc",
        "ztrymalloc_usable",
        "ztrymalloc_usable_internal",
        "zrealloc_usable",
        "xmalloc",
        "xrealloc",
        "je_malloc",
        "mi_malloc",
        "g_malloc0",
        "sqlite3Malloc",
        "PyMem_RawMalloc",
        "luaM_realloc_",
        "CRYPTO_malloc",
        "posix_memalign",
        "reallocarray",
        "strdup",
        "xstrdup",
        "g_strndup",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::align_val_t)",
        "std::__new_allocator<int>::allocate(unsigned long, void const*)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
        "std::vector<int, std::allocator<int> >::push_back(int const&)",
        "void std::vector<int>::_M_realloc_insert<int>(int&&)",
        "std::_Hashtable<int, int>::_M_rehash(unsigned long)",
        "std::unordered_map<int, Foo>::operator[](int const&)",
        "zmalloc.llvm.1234",
        "zcalloc_num",
        "sqlite3MemMalloc",
        "sqlite3MemRealloc",
        "sqlite3DbMallocRawNN",
        "mallocWithAlarm",
        "dbMallocRawFinish",
        "(anonymous namespace)::Posting& std::vector<(anonymous namespace)::Posting, "
        "std::allocator<(anonymous namespace)::Posting>>::emplace_back<(anonymous namespace)::"
        "Posting>((anonymous namespace)::Posting&&)",
    ],
)
def test_wrapper(name: str) -> None:
    assert is_wrapper(Frame(function=name))


@pytest.mark.parametrize(
    "name",
    [
        "dictExpand",
        "main",
        "createObject",
        "allocate_page_table_for_guest",
        "raxNewNode",
        "Index::add(std::string const&)",
        "void Store<std::string>::grow(unsigned long)",
        "mmap_reader_open",
        "newSymbol",
        "pcache1Alloc",
        "allocPage",
        "reallocTable",
        "smalloch",
        "by_malloc",
        "by_realloc",
    ],
)
def test_no_wrapper(name: str) -> None:
    assert not is_wrapper(Frame(function=name))


@pytest.mark.parametrize("start", ["__libc_start_call_main", "libc.so.6+0x2724a"])
def test_the_innermost_meaningful_frame_is_kept_and_frames_below_main_are_not(start: str) -> None:
    stack = [Frame(function=n) for n in ("zmalloc", "dictCreate", "main", start)]
    assert [frame.function for frame in meaningful([stack])[0]] == ["dictCreate", "main"]


def test_a_stack_of_wrappers_only_keeps_its_last_frame() -> None:
    stack = [Frame(function=n) for n in ("malloc", "xmalloc")]
    assert [frame.function for frame in meaningful([stack])[0]] == ["xmalloc"]


def test_a_chain_of_shims_called_through_a_table_is_left_out() -> None:
    shims = ("sqlite3MemMalloc", "mallocWithAlarm", "sqlite3Malloc")
    stacks = [[*shims, "pcache1Alloc", "main"], [*shims, "setupLookaside", "main"]]
    kept = meaningful([[Frame(function=name) for name in stack] for stack in stacks])
    assert [stack[0].function for stack in kept] == ["pcache1Alloc", "setupLookaside"]


def test_a_program_of_one_allocating_function_keeps_it() -> None:
    stacks = [[Frame(function="myMalloc"), Frame(function="main", line=n)] for n in range(9)]
    assert {stack[0].function for stack in meaningful(stacks)} == {"main"}
    alone = [[Frame(function="make_tree"), Frame(function="main", line=n)] for n in range(9)]
    assert {stack[0].function for stack in meaningful(alone)} == {"make_tree"}


def test_a_function_on_nearly_all_sites_is_a_wrapper() -> None:
    stacks = [[Frame(function="pool_get"), Frame(function=f"user_{i}")] for i in range(20)]
    stacks.append([Frame(function="lone")])
    assert common_wrappers(stacks) == {"pool_get"}
    assert meaningful(stacks)[3][0].function == "user_3"


def test_in_a_small_program_one_function_may_allocate_everything() -> None:
    stacks = [[Frame(function="build"), Frame(function="main")] for _ in range(5)]
    assert common_wrappers(stacks) == set()
    many = [[Frame(function="build", line=i), Frame(function="main")] for i in range(20)]
    assert common_wrappers(many) == set()  # there is one caller: its lines distinguish objects


def test_rusts_library_is_no_owner_without_line_information() -> None:
    stack = [
        Frame(function="__rdl_alloc"),
        Frame(function="__rust_alloc"),
        Frame(function="alloc::raw_vec::RawVec<T,A>::reserve_for_push::h0123456789abcdef"),
        Frame(function="app::build_list::h00112233445566aa"),
        Frame(function="app::main::h00112233445566ab"),
    ]
    (kept,) = meaningful([stack])
    assert [bare_name(frame.function) for frame in kept] == ["app::build_list", "app::main"]
    assert not is_wrapper(Frame(function="alloc::pages"))  # C++'s own namespace


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("_QMsparsePmake_matrix", "sparse::make_matrix"),
        ("_QMsparseEvalues", "sparse::values"),
        ("_QMsolverFsolvePinner", "solver::solve::inner"),
        ("_QQmain", "main"),
        ("__sparse_MOD_multiply", "sparse::multiply"),
        ("MAIN__", "main"),
        ("_Quit", "_Quit"),
    ],
)
def test_names_of_fortran(name: str, meant: str) -> None:
    assert bare_name(name) == meant


def test_rusts_library_is_no_owner() -> None:
    stack = [
        Frame(function="<alloc::alloc::Global>::alloc_impl", file="/r/alloc/src/alloc.rs"),
        Frame(function="hashbrown::raw::RawTable::resize::h0123456789abcdef", file="/r/mod.rs"),
        Frame(function="<u8 as alloc::vec::SpecFromElem>::from_elem", file="/r/vec.rs"),
        Frame(function="app::Index::add", file="/a/index.rs"),
        Frame(function="app::main", file="/a/main.rs"),
    ]
    assert meaningful([stack])[0][0].function == "app::Index::add"
    assert not is_wrapper(Frame(function="core::Store::grow()", file="/a/store.cpp"))


@pytest.mark.parametrize(
    ("function", "bare"),
    [
        ("dictExpand", "dictExpand"),
        ("(anonymous namespace)::add((anonymous namespace)::Index&, int)", "add"),
        ("void ns::Store<std::string>::grow(unsigned long) const", "ns::Store::grow"),
        ("int* find<int, 3>(int (&) [3])", "find"),
        ("ns::Tree::operator<(ns::Tree const&) const", "ns::Tree::operator<"),
        ("operator new(unsigned long)", "operator new"),
        ("Pool::operator new[](unsigned long)", "Pool::operator new"),
        ("main::$_0::operator()(int) const", "main::$_0::operator()"),
        ("walk.part.0", "walk"),
        ("decltype(::new((void*)(0)) X<int>(f())) ns::make<X<int>>(X<int>*)", "ns::make"),
        (
            "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
            "alloc::alloc::Global::allocate",
        ),
        (
            "_$LT$app..Tree$LT$T$GT$$u20$as$u20$app..Grow$GT$::grow::h0123456789abcdef",
            "app::Tree::grow",
        ),
        ("decltype(auto) ns::Q<int>::go()", "ns::Q::go"),
        ("libx.so+0x12", "libx.so+0x12"),
    ],
)
def test_bare_names(function: str, bare: str) -> None:
    assert bare_name(function) == bare


def test_frames_of_a_stripped_container_library_are_wrappers() -> None:
    assert is_wrapper(Frame(function="libstdc++.so.6+0x179c5b", module="libstdc++.so.6"))


def test_the_container_call_of_a_line_is_recognised() -> None:
    names = ("operator new(unsigned long)", "std::__new_allocator<int>::allocate(unsigned long)")
    stack = [Frame(function=name) for name in (*names, "std::vector<int>::push_back(int&&)", "add")]
    kept = meaningful([stack])[0]
    assert [frame.function for frame in kept] == ["add"]
    assert container_call(stack, kept) == "vector::push_back"
    plain = [Frame(function=name) for name in ("malloc", "xmalloc", "make", "main")]
    assert container_call(plain, meaningful([plain])[0]) == ""
