"""Bursts: how x86 instructions are classified, which accesses miss, and a whole recording."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import samples
from forked import nearfar
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Register
from patience import patience

from nearfar.base.errors import CommandError
from nearfar.documents import WorkloadProfile, load
from nearfar.documents.bursts import FLAGS, Block, Burst, BurstAccess, Bursts, Code, PhaseBursts
from nearfar.documents.workload import AccessClasses, Frame, MemoryObject
from nearfar.native_files import include_folder
from nearfar.predict.phases import phases_of
from nearfar.profile.bursts import record
from nearfar.profile.bursts.dependences import object_bursts
from nearfar.profile.bursts.instructions import DecodedInstruction, decode
from nearfar.profile.bursts.record import unseen_loads
from nearfar.profile.bursts.trace import LAST_LEVEL, NEAR, make_trace
from nearfar.profile.identity import match_by_allocation
from nearfar.profile.merge import kept_bursts

pytestmark = pytest.mark.timing

SOURCE = Path(__file__).parent / "unmodified" / "waiting.c"
RAX, RBX, RCX = (int(one) for one in (Register.RAX, Register.RBX, Register.RCX))
RDI, R8, R12 = (int(one) for one in (Register.RDI, Register.R8, Register.R12))


@pytest.mark.parametrize(
    ("hex_bytes", "expected"),
    [
        # add rax, [rdi]: the load waits only for rdi, the sum for both.
        ("480307", DecodedInstruction([RDI], [RAX], [RAX, FLAGS], loads=True)),
        (
            "4a8b04c7",
            DecodedInstruction([RDI, R8], [], [RAX], loads=True),
        ),  # mov rax, [rdi + r8 * 8]
        ("31c0", DecodedInstruction([], [], [RAX, FLAGS])),  # xor eax, eax depends on nothing
        (
            "488d0407",
            DecodedInstruction([], [RAX, RDI], [RAX]),
        ),  # lea rax, [rdi + rax] accesses no memory
        (
            "53",
            DecodedInstruction([], [RBX], [], stores=True),
        ),  # push rbx: the stack pointer is renamed
        ("7405", DecodedInstruction([], [FLAGS], [], conditional=True)),  # je
        ("490fafc4", DecodedInstruction([], [RAX, R12], [RAX, FLAGS], cycles=3)),  # imul rax, r12
        ("0f44c1", DecodedInstruction([], [*sorted((RAX, RCX)), FLAGS], [RAX])),  # cmove eax, ecx
        ("06", DecodedInstruction()),  # not an instruction of 64-bit code
    ],
)
def test_operands_and_results_of_an_instruction(hex_bytes: str, expected: DecodedInstruction):
    assert decode(0x1000, bytes.fromhex(hex_bytes)) == expected


def test_copying_bytes_does_not_wait_for_their_values():
    assert decode(0x1000, bytes.fromhex("f3a4")).defs == []  # rep movsb


def made_up(bursts: list[list[int]], rate: float, depends: list[int] | None = None) -> Bursts:
    """Return bursts with one load per iteration, from lists of lines."""
    return Bursts(
        code=[Code(address=[1], defs=[1], access=0), Code()],
        blocks=[Block(first=0, count=2, begin=0, end=8)],
        accesses=[BurstAccess(function="f", bytes=8, object=0, misses=[rate])],
        phases=[
            PhaseBursts(
                phase="-",
                instructions=1e6,
                objects=[],
                mispredictions_per_1000=0.0,
                bursts=[
                    Burst(
                        thread=0,
                        at=1000 * number,
                        blocks=[0] * len(lines),
                        gaps=[0, *[2] * (len(lines) - 1)],
                        lines=lines,
                        offsets=[0] * len(lines),
                        depends=depends or [0, *[1] * (len(lines) - 1)],
                    )
                    for number, lines in enumerate(bursts)
                ],
            )
        ],
    )


LINES = st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=60), min_size=1, max_size=6)


@given(LINES, st.floats(0.0, 1.0))
def test_first_touches_miss_at_the_given_rate(bursts: list[list[int]], rate: float):
    trace = make_trace(made_up(bursts, rate), 0)
    first = sum(len(set(lines)) for lines in bursts)
    expected = min(first, rate * sum(map(len, bursts)))
    assert abs(int(trace.missing.sum()) - expected) <= 0.5 + 1e-9
    assert len(trace.hits) == first - int(trace.missing.sum())
    at = 0
    for lines in bursts:
        for place, line in enumerate(lines):
            if trace.missing[at + place]:
                assert line not in lines[:place]
        at += len(lines)


def test_the_coldest_lines_miss():
    # Every burst touches line 0; the other lines are touched once.
    trace = make_trace(made_up([[0, 1], [0, 2], [0, 3]], 0.5), 0)
    assert trace.line[trace.missing].tolist() == [1, 2, 3]
    assert trace.served(2).tolist().count(LAST_LEVEL) == 2
    assert trace.served(2).tolist().count(NEAR) == 3


def test_fewer_bursts_are_simulated_of_computing_code():
    bursts = made_up([[number] * 10 for number in range(10)], 0.0)
    assert make_trace(bursts, 0).instructions == 200
    assert make_trace(bursts, 0, max_instructions=50).instructions == 60


def test_chains_of_misses_have_their_length():
    (chained,) = object_bursts(*_with_trace(made_up([[0, 3, 6, 9]], 1.0)), None)
    assert (chained.dependent_share, chained.chain_depth) == (0.75, 2.5)
    assert (chained.misses, chained.instructions_between) == (4.0, 2.0)
    (alone,) = object_bursts(*_with_trace(made_up([[0, 3, 6, 9]], 1.0, [0, 0, 0, 0])), None)
    assert (alone.dependent_share, alone.chain_depth) == (0.0, 1.0)


def test_slow_parts_without_a_burst_are_reported_and_streams_are_not():
    bursts = made_up([[0, 3, 6, 9]], 1.0)
    bursts.phases[0].objects = object_bursts(*_with_trace(bursts), None)  # of object 0 only
    profile = samples.workload(objects=3, phases=("-",))
    for row in profile.phases[0].objects:
        row.traffic.read_misses = AccessClasses(chase=1000.0)
    profile.phases[0].objects[1].traffic.read_misses = AccessClasses(stream=1e6)
    (text,) = unseen_loads(profile, bursts)
    names = [each.name for each in profile.objects]
    assert [f"{name} (" in text for name in names[:3]] == [False, False, True]
    # Missing stores are not loads.
    bursts.phases[0].objects[0].read_misses = 0.0
    assert f"{names[0]} (" in unseen_loads(profile, bursts)[0]


def _with_trace(bursts: Bursts):
    return bursts, make_trace(bursts, 0)


def test_addresses_near_a_loaded_value_depend_on_it():
    bursts = made_up([[0, 3, 6]], 1.0)
    recorded = np.zeros(3, dtype=[("address", "u8"), ("value", "u8")])
    recorded["address"] = [0x100000, 0x200FFF, 0x400000]
    recorded["value"] = [0x200000, 0x400001, 0]
    (result,) = object_bursts(bursts, make_trace(bursts, 0), [recorded])
    # The second address is 4095 bytes above the first's value, the third a byte below the second's.
    assert result.value_share == pytest.approx(1 / 3)


def test_merged_profiles_keep_bursts_with_renumbered_objects():
    bursts = made_up([[0, 3]], 1.0)
    bursts.phases[0].objects = object_bursts(bursts, make_trace(bursts, 0), None)
    kept = kept_bursts([None, bursts, made_up([[0]], 1.0)], [{}, {0: 7}, {0: 1}])
    assert kept is not None
    assert [each.object for each in kept.accesses] == [7]
    assert [row.object for row in kept.phases[0].objects] == [7]
    assert [row.object for row in bursts.phases[0].objects] == [0]
    assert kept_bursts([None], [{}]) is None


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> WorkloadProfile:
    if shutil.which("qemu-x86_64") is None or shutil.which("gcc") is None:
        pytest.skip("qemu-x86_64 (apt-get install qemu-user) or gcc is not installed")
    folder = tmp_path_factory.mktemp("bursts")
    program, output = folder / "waiting", folder / "run.json"
    build = ["gcc", "-O1", "-g", f"-I{include_folder()}", str(SOURCE), "-o", str(program)]
    subprocess.run(build, check=True)
    words = ["profile", "--source", "qemu", "--bursts", "--llc", "256KiB", "--ways", "16"]
    words += ["--repetitions", "1", "-o", str(output), "--", str(program)]
    nearfar(*words, check=True, timeout=patience(100))
    return load(output, WorkloadProfile)


def test_a_chase_is_distinguished_from_a_gather(recorded: WorkloadProfile):
    assert recorded.bursts is not None
    phases = {phase.phase: phase for phase in recorded.bursts.phases}
    chase, gather = (phases[name].objects[0] for name in ("chase", "gather"))
    nodes = max(recorded.objects, key=lambda each: each.allocated_bytes).id
    assert chase.object == gather.object == nodes
    assert chase.dependent_share > 0.9
    if chase.value_share is not None:  # a sandbox may forbid reading values
        assert chase.value_share > 0.9
    assert chase.chain_depth > 100
    assert gather.dependent_share < 0.2
    if gather.value_share is not None:
        assert gather.value_share < 0.1
    assert gather.chain_depth < 1.5


def test_bursts_are_spread_over_their_phase_and_bounded(recorded: WorkloadProfile):
    assert recorded.bursts is not None
    for phase in recorded.bursts.phases:
        assert 1 <= len(phase.bursts) <= 32
        begins = [burst.at for burst in phase.bursts]
        assert begins == sorted(begins)
        assert begins[-1] < phase.instructions
        for burst in phase.bursts:
            assert 64 <= len(burst.lines) == len(burst.gaps) == len(burst.depends) <= 2000
    chase = next(each for each in recorded.bursts.phases if each.phase == "chase")
    # STEPS iterations of a load, a count and a branch or two, and little more.
    assert 2.5 * 30_000 <= chase.instructions <= 5 * 30_000


def test_no_qemu_is_said_and_the_profile_is_written(tmp_path: Path):
    def lacking(*_: object) -> None:
        raise CommandError("there is no QEMU here")

    class Lacking:
        warnings: ClassVar[list[str]] = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "BurstSource", lacking)
        record.add_bursts(Lacking, SimpleNamespace(source=None), 1.0, lambda _: None)  # type: ignore[arg-type]
    assert Lacking.warnings == ["there are no bursts: there is no QEMU here"]


def allocated(number: int, line: int, *functions: str) -> MemoryObject:
    """Return an object of 1 MiB whose call stack is `functions`, innermost first."""
    return MemoryObject(
        id=number,
        name=f"{functions[0]} {line}",
        kind="heap",
        frames=[Frame(function=each, line=line) for each in functions],
        allocations=1,
        allocated_bytes=1 << 20,
        peak_live_bytes=1 << 20,
        live_bytes_at_peak=1 << 20,
        size_bytes=1 << 20,
    )


def test_objects_of_a_build_without_lines_are_named_by_the_nearest_function():
    those = [allocated(4, 8, "keys", "main"), allocated(7, 9, "rows", "main"), allocated(9, 1, "x")]
    these = [allocated(0, 0, "rows", "main"), allocated(1, 0, "keys", "main")]
    # An inlined function is not visible: only its caller is known.
    assert match_by_allocation([*these, allocated(2, 0, "y")], those) == {0: 7, 1: 4, 2: -1}


def test_walks_that_share_a_line_of_a_page_table_are_recognised(tmp_path: Path):
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("qemu-x86_64 (apt-get install qemu-user) is not installed")
    program, output = tmp_path / "searching", tmp_path / "run.json"
    source = SOURCE.with_name("searching.c")
    build = ["cc", "-O1", "-g", f"-I{include_folder()}", str(source), "-o", str(program)]
    nearfar(*build, check=True)
    command = ["profile", "--bursts", "--repetitions", "1", "-o", str(output), "--", str(program)]
    nearfar(*command, check=True, timeout=patience(200))
    profile = load(output, WorkloadProfile)
    assert profile.bursts is not None
    apart = {phase.phase: phase.walks_apart for phase in profile.bursts.phases}
    assert apart["search"] is not None
    assert apart["anywhere"] is not None
    # The last steps before a page, of 16, 8 and 4 KiB, mostly read one line.
    assert 0.1 < apart["search"] < 0.7
    assert apart["anywhere"] > 0.9
    phases = {phase.name: phase for phase in phases_of(profile)}
    assert phases["search"].walks_apart == apart["search"]
    profile.bursts = None
    assert {phase.walks_apart for phase in phases_of(profile)} == {1.0}
