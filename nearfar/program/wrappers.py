"""Frames of a call stack that only pass an allocation on.

If such wrappers counted, `zmalloc`, `operator new` or a container's internals would name every
object. Most wrappers are found by their names. A function through which most allocation sites go
is a wrapper too, whatever its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from nearfar.documents.workload import Frame
from nearfar.program.names import bare_name, is_rust

_ALLOCATES = (
    r"(?:try_?)?(?:m|c|re|rec|v|zm|zre)?alloc(?:ate)?"
    r"(?:_?(?:0|n|array|num|usable|safe|internal|zero|zeroed|cache|aligned|or_die|check|checked))*"
)
_PREFIXES = (
    r"(?:x|xx|z|s|e|g|p|ck|je|mi|tc|dl|libc|safe|my|do|sys|mem|ap|apr|av|lua[A-Z]?|nedpool|util|"
    r"nearfar_x|PyMem_Raw|PyMem|PyObject|OPENSSL|CRYPTO|sqlite3|av|BIO|git__|talloc|MemoryContext)"
)
_ALLOCATOR_NAMES = re.compile(
    rf"""
    _*(?:{_PREFIXES}_*)?(?i:{_ALLOCATES})_* $
  | _*(?:posix_|aligned_)?(?:memalign|aligned_alloc|alloc_aligned) $ | p?valloc $
  | mmap(?:64)? $ | mremap $ | __r(?:ust|dl|g)_(?:re)?alloc(?:_zeroed)? $
  | operator\ new
  | _*[gx]?_?(?:str|strn|wcs|mem)n?dup[a-z0-9_]* $ | _*v?asprintf(?:_chk)? $
  | _*getdelim $ | getline $
  | [A-Za-z0-9_]*[a-z0-9](?:Malloc(?:[A-Z][A-Za-z0-9]*)?|Realloc) $ | malloc[A-Z][A-Za-z0-9]* $
    """,
    re.VERBOSE,
)
"""Names of functions that only allocate: those of libc, the same with a usual prefix or suffix, and
names with the word Malloc (SQLite's sqlite3DbMallocRaw calls mallocWithAlarm, which calls
sqlite3MemMalloc through a table of functions). A name that only contains "alloc" does not match:
allocPage makes pages. Nor does another prefix with an underscore: test_malloc is no allocator."""

_CONTAINERS = re.compile(
    r"nearfar::|std::(?!thread|async|function)|__gnu_cxx::|__cxxabiv1::|boost::container::|"
    r"absl::container_internal::|fmt::|Fortran::runtime::|_Fortran(?=A)"
)
"""Libraries of containers and smart pointers: the caller owns their memory."""

_RUST = re.compile(
    r"(?:alloc|core|std|hashbrown)::(?!thread|rt)|__r(?:ust|dl|g)_|__rustc::|"
    r"(?:[iu](?:8|16|32|64|128|size)|f32|f64|bool|char|str|T)::"
)
"""The same for Rust, applied to Rust's sources and names only: programs in other languages use such
namespaces too."""

_CONTAINER_LIBRARIES = ("libstdc++.so", "libc++.so", "libc++abi.so")
"""Modules of container libraries, for frames without symbols."""

_RUNTIME = re.compile(
    r"^(?:_start|__libc_start_(?:main|call_main).*|start_thread|clone3?|_dl_.*|call_init.*"
    r"|(?:libc|ld-linux[a-z0-9-]*|libpthread)\.so\.[0-9]\+0x[0-9a-f]+)$"
)
"""Frames below main and below a thread's function: they do not distinguish sites. If libc has no
debugging symbols, its functions that start main and threads appear as offsets."""

_OUR_LIBRARIES = ("libnearfar_profile.so", "libnearfar_mark.so")

MIN_COMMON_SHARE = 0.6
"""A function is a wrapper if it is the innermost remaining frame of this share of the sites."""
MIN_COMMON_SITES = 8
"""Minimum number of sites for this rule: one function of a small program may have most sites."""


def is_wrapper(frame: Frame) -> bool:
    """Return whether `frame` only passes an allocation on."""
    if frame.module in _OUR_LIBRARIES:
        return True
    if frame.module.startswith(_CONTAINER_LIBRARIES):
        return True
    name = bare_name(frame.function)
    if (frame.file.endswith(".rs") or is_rust(frame.function)) and _RUST.match(name):
        return True
    return bool(_ALLOCATOR_NAMES.match(name) or _CONTAINERS.match(name))


def container_call(stack: Sequence[Frame], kept: Sequence[Frame]) -> str:
    """Return the container function that `kept[0]` calls, such as ``vector::emplace_back``.

    "" for none. The function distinguishes several calls on one line.
    """
    bare = [frame for frame in stack if not is_runtime(frame)]
    callee = len(bare) - len(kept) - 1
    name = bare_name(bare[callee].function) if callee >= 0 else ""
    container = _CONTAINERS.match(name)
    return name[container.end() :].replace("__cxx11::", "") if container else ""


def is_runtime(frame: Frame) -> bool:
    """Return whether `frame` lies outside `main`."""
    return bool(_RUNTIME.match(frame.function))


def meaningful(stacks: Sequence[Sequence[Frame]]) -> list[list[Frame]]:
    """Return each stack, innermost frame first, without leading wrappers; keep the last frame."""
    bare = [[frame for frame in stack if not is_runtime(frame)] or list(stack) for stack in stacks]
    kept = [_without_leading(stack, is_wrapper) for stack in bare]
    common = common_wrappers(kept)
    return [
        _without_leading(stack, lambda f: is_wrapper(f) or f.function in common) for stack in kept
    ]


def common_wrappers(stacks: Sequence[Sequence[Frame]]) -> set[str]:
    """Return functions that are the innermost frame of most `stacks` and have several callers."""
    if len(stacks) < MIN_COMMON_SITES:
        return set()
    first = Counter(stack[0].function for stack in stacks if stack)
    callers: dict[str, set[str]] = {}
    for stack in stacks:
        if len(stack) > 1:
            callers.setdefault(stack[0].function, set()).add(stack[1].function)
    return {
        name
        for name, count in first.items()
        if count >= MIN_COMMON_SHARE * len(stacks)
        and len(callers.get(name, ())) >= MIN_COMMON_SITES // 2
    }


def _without_leading(stack: Sequence[Frame], skipped: Callable[[Frame], bool]) -> list[Frame]:
    for depth, frame in enumerate(stack):
        if not skipped(frame):
            return list(stack[depth:])
    return list(stack[-1:])
