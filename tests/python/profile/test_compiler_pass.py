"""Reports of the compiler pass: each sampled line once, with its class and location."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from compiling import KERNELS, Site
from counting import Counts

from nearfar.profile.compiler.twin import notes

pytestmark = pytest.mark.timing


def total(sites: list[Site], function: str, **fields: object) -> int:
    """Sum the counts of the sites of `function` with the given fields."""
    return sum(
        site.count
        for site in sites
        if function in site.function
        and all(getattr(site, name) == value for name, value in fields.items())
    )


def test_streams_report_one_line_of_every_page(counts: Counts) -> None:
    """Three page-aligned arrays of n doubles have exactly n * 8

    4096 pages each.
    """
    n = 1 << 17
    sites = counts.of(KERNELS / "triad.c", arguments=(str(n), "3"))
    pages = n * 8 // 4096 * 3
    assert total(sites, "triad", operation=1) == 2 * pages
    assert total(sites, "triad", operation=2) == pages
    assert all(site.access_class == "stream" for site in sites if site.function == "triad")


def test_program_that_is_not_traced_runs_without_tests(counts: Counts) -> None:
    source = KERNELS / "gups.c"
    assert total(counts.of(source, arguments=("65536", "1")), "update") > 0
    sites = counts.of(source, arguments=("65536", "1"), traced=False)
    assert sites
    assert sum(site.count for site in sites) == 0


@pytest.mark.parametrize("rate", [1, 2, 16, 64, 256])
def test_rate_is_the_share_of_reported_lines(counts: Counts, rate: int) -> None:
    n = 1 << 16
    sites = counts.of(KERNELS / "chase.c", f"--nearfar-rate={rate}", arguments=(str(n), "1"))
    reported = total(sites, "chase", access_class="chase")
    # At rate 1 each of a node's two fields reports; otherwise one test covers both.
    lines = 2 * n if rate == 1 else n // rate
    assert reported == pytest.approx(lines, rel=0 if rate <= 64 else 0.15)


@pytest.mark.parametrize(
    ("kernel", "function", "access_class"),
    [
        ("chase.c", "chase", "chase"),
        ("hash.c", "look_up_all", "opaque"),
        ("triad.c", "triad", "stream"),
        ("spmv.c", "multiply", "stream"),
        ("btree.c", "floor_key", "chase"),
        ("unordered_map.cpp", "_M_find_before_node", "chase"),
        ("gather.c", "gather", "indirect"),
        ("gups.c", "update", "opaque"),
        ("matmul.c", "multiply", "stream"),
        ("column.c", "sum_column", "stream"),
    ],
)
def test_class_of_a_kernel(counts: Counts, kernel: str, function: str, access_class: str) -> None:
    """The kernel's known class is among the classes of its function's accesses."""
    sites = counts.of(
        KERNELS / kernel, arguments=("64" if kernel in ("column.c", "matmul.c") else "4096",)
    )
    own = Counter(site.access_class for site in sites if function in site.function)
    assert access_class in own, own
    if kernel in ("triad.c", "matmul.c", "column.c"):
        reported = {site.access_class for site in sites if function in site.function and site.count}
        assert reported == {access_class}
    if kernel == "spmv.c":
        assert own["indirect"] > 0


def test_sites_have_function_file_and_line(counts: Counts) -> None:
    text = "#include <stdlib.h>\nlong f(long* p) {\n  return p[3];\n}\n"
    text += "int main(void) { return (int)f(calloc(8, 8)); }\n"
    sites = counts.of_text(text, "-fno-inline", "--nearfar-rate=1")
    (site,) = [site for site in sites if site.function == "f"]
    assert (Path(site.file).name, site.line, site.bytes, site.count) == ("text.c", 3, 8, 1)


COMMON = "#include <stdlib.h>\n#include <string.h>\n#define KEEP __attribute__((noinline))\n"
MAIN = (
    "int main(void) {{ char* p = aligned_alloc(4096, 64 * 4096);"
    " memset(p, 1, 64 * 4096); return ({call} & 256) != 0; }}\n"
)


@pytest.mark.parametrize(
    ("body", "call", "pages"),
    [
        ("long sum = 0; for (int i = 0; i < 64 * 512; i++) sum += ((long*)p)[i];", "f(p)", 64),
        ("long sum = 0; for (int i = 64 * 512 - 1; i >= 0; i--) sum += ((long*)p)[i];", "f(p)", 64),
        ("long sum = 0; for (int i = 0; i < 64 * 128; i++) sum += ((int*)p)[4 * i];", "f(p)", 32),
        # Rows of 2 KiB are short loops: half of them contain their page's sampled line.
        (
            "long sum = 0; for (int r = 0; r < 128; r++) {"
            ' __asm__ volatile("" : "+r"(sum));'
            " for (int i = 0; i < 256; i++) sum += ((long*)p)[r * 256 + i]; }",
            "f(p)",
            64,
        ),
        (
            "long sum = 0; for (const char* q = p; *q == 1 && q < p + 8192; q++) sum++;",
            "f(p)",
            None,
        ),
        (
            'long sum = 0; memmove(p, p + 4096 * 32, 4096 * 32); __asm__("" ::: "memory");',
            "f(p)",
            64,
        ),
        ("long sum = (char*)memchr(p, 9, 4096 * 64) - p;", "f(p)", 64),
    ],
    ids=["up", "down", "half", "rows", "until", "memmove", "memchr"],
)
def test_every_touched_page_is_reported_once(
    counts: Counts, body: str, call: str, pages: int | None
) -> None:
    text = COMMON + "KEEP long f(char* p) {" + body + " return sum; }\n" + MAIN.format(call=call)
    reported = total(counts.of_text(text), "f")
    if (
        pages is None
    ):  # bytes are tested one by one: 64 bytes of the sampled line in each of two pages
        pages = 2 * 64
    assert reported == pages


@pytest.mark.parametrize("bytes_apart", [8, 16, 24, 40, 56])
def test_fields_across_two_lines_report_both(counts: Counts, bytes_apart: int) -> None:
    """Two fields of packed structures have as many reports as their lines, separately."""
    size = bytes_apart + 8
    text = COMMON + (
        f"struct s {{ long a; char gap[{bytes_apart - 8}]; long b; }};\n"
        "KEEP long f(struct s* s) { return s->a + s->b; }\n"
        "int main(void) { char* p = aligned_alloc(4096, 256 * 4096); memset(p, 0, 256 * 4096);"
        f" long sum = 0; for (long i = 0; i + {size} <= 256 * 4096; i += {size})"
        " sum += f((struct s*)(p + i)); return sum == 77; }\n"
    )
    limit = 256 * 4096
    merged = total(counts.of_text(text), "f")
    lines = 0
    for start in range(0, limit - size + 1, size):
        first, last = start // 64, (start + size - 1) // 64
        lines += 1 + (first != last)
    # One line in 64 is sampled; which line of an object's two depends on the page's address.
    assert merged == pytest.approx(lines / 64, rel=0.06)


def test_small_locals_and_fixed_globals_are_not_tested(counts: Counts) -> None:
    text = COMMON + (
        "static long counter; long table[100000];\n"
        "KEEP void g(volatile long* p) { (void)p; }\n"
        "KEEP long f(int i) { volatile long local[16]; local[i & 15] = i; counter += local[3];"
        " return counter + table[i * 512]; }\n"
        "int main(void) { long sum = 0; for (int i = 0; i < 100; i++) sum += f(i);"
        " return sum == 77; }\n"
    )
    sites = [site for site in counts.of_text(text, "--nearfar-rate=1") if site.function == "f"]
    assert [(site.operation, site.count) for site in sites] == [(1, 100)]  # only table[i * 512]


def test_read_modify_write_is_one_site(counts: Counts) -> None:
    text = COMMON + (
        "KEEP void f(long* p) { p[0] += 3; }\nint main(void) { long* p = calloc(512, 8);"
        " for (int i = 0; i < 512; i++) f(p + i); return 0; }\n"
    )
    sites = [site for site in counts.of_text(text) if site.function == "f"]
    assert [site.operation for site in sites] == [3]


def test_function_with_the_attribute_is_left_out_and_named(counts: Counts) -> None:
    text = COMMON + (
        "__attribute__((noinline, disable_sanitizer_instrumentation)) long f(long* p)"
        " { return p[0]; }\nint main(void) { return (int)f(calloc(8, 8)); }\n"
    )
    sites = counts.of_text(text, "--nearfar-rate=1")
    assert not [site for site in sites if site.function == "f"]
    assert any(
        "f in " in note and "asks not to be" in note for note in notes(counts.folder / "program")
    )
