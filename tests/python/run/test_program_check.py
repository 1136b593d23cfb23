"""Recognition of a plan's program by names that are specific to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.base.errors import ExitCode, NearfarError
from nearfar.documents.workload import Frame
from nearfar.program.allocators import bundled_allocator
from nearfar.program.symbols import Symbolizer
from nearfar.run import code_offset
from nearfar.run.program_check import share_in

sys.path.insert(0, str(Path(__file__).parent))
from made_plans import placement, plan

SOURCE = """#include <stdlib.h>
__attribute__((noinline)) void* init(void) { return malloc(64); }
int main(void) { return init() == NULL || malloc(64) == NULL; }
"""


@pytest.fixture(scope="module", params=[("-g",), ()], ids=["lines", "symbols"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sight")
    (folder / "shop.c").write_text(SOURCE)
    command = ["cc", "-O1", *request.param, "shop.c", "-o", "shop"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "shop"


def test_missing_tools_are_named_with_their_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for ask in (Symbolizer, lambda: bundled_allocator(Path("/bin/true"))):
        with pytest.raises(NearfarError, match=r"package binutils") as refused:
            ask()
        assert refused.value.exit_code == ExitCode.MACHINE_LACKS
        assert "\n" not in str(refused.value)


def of(*functions: str, file: str, module: str = "shop") -> list[Frame]:
    return [Frame(function=name, file=file, module=module) for name in functions]


def test_a_common_name_needs_its_source_file_too(program: Path) -> None:
    for file, share in (("/home/shop.c", 1.0), ("/home/bank.c", 0.0)):
        made = plan([placement(0, "init", "far", frames=of("init", "main", file=file))])
        assert share_in(program, made) == share


def test_allocations_of_main_are_recognised_by_their_file(program: Path) -> None:
    for file, share in (("/home/shop.c", 1.0), ("/home/bank.c", 0.0)):
        made = plan([placement(0, "main", "far", frames=of("main", file=file))])
        assert share_in(program, made) == share


def test_names_without_information_are_left_out(program: Path) -> None:
    libc = of("_IO_file_doallocate", file="filedoalloc.c", module="libc.so.6")
    foreign = of("make_ledger", "main", file="bank.c")
    assert share_in(program, plan([placement(0, "buffer", "far", frames=libc)])) == 1.0
    both = [placement(0, "buffer", "far", frames=libc), placement(1, "x", "far", frames=foreign)]
    assert share_in(program, plan(both)) == 0.0
    assert share_in(program, plan([placement(0, "none", "far", frames=[])])) is None


def test_a_stripped_program_is_recognised_by_its_calls(tmp_path: Path) -> None:
    """Debian's programs name no functions of their own: a plan has return addresses."""
    source = tmp_path / "own.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "__attribute__((noinline)) char* rarely_named(void) { return malloc(9); }\n"
        "int main(void) { char* c = rarely_named(); c[0] = 1; free(c); return 0; }\n"
    )
    own = tmp_path / "own"
    subprocess.run(["cc", "-O1", str(source), "-o", str(own)], check=True)
    code = subprocess.check_output(["objdump", "-d", str(own)], text=True)
    after = code[code.index("rarely_named>\n") :].splitlines()[1]
    address = int(after.partition(":")[0], 16)
    subprocess.run(["strip", str(own)], check=True)

    def of(offset: int) -> float | None:
        frame = Frame(function=f"own+{offset:#x}", module="own")
        return share_in(own, plan([placement(0, "x", "near", frames=[frame])]))

    assert of(address) == 1.0
    assert of(address + 1) == 0.0
    assert of(1 << 40) == 0.0


def test_a_library_has_one_name() -> None:
    long, short = code_offset.parse("libx-2.so.0.8.6+0x1f"), code_offset.parse("libx-2.so.0+0x1f")
    assert long == short
    assert str(long) == "libx-2.so+0x1f"
    assert code_offset.parse("operator+") is None
