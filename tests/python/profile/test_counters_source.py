"""The processor's counters as a source, tested with page faults; missing counters are reported.

Page faults are events with addresses on every machine: they are opened, sampled, read and
attributed like a processor's misses. PEBS and IBS are tested by sysfs files only, and by recorded
rings in test_perf_records.py, because no test machine has them.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from forked import nearfar

from nearfar.base.errors import CommandError
from nearfar.documents import WorkloadProfile
from nearfar.machine.sysfs import Tree
from nearfar.native_files import include_folder, native_folder
from nearfar.options.profile import ProfileOptions
from nearfar.profile.assemble import assemble
from nearfar.profile.options import make_request
from nearfar.profile.run_file import ProcessFile
from nearfar.profile.session import gather_runs
from nearfar.profile.sources import counters, perf_events, pmu
from nearfar.profile.sources.counters import CounterSource
from nearfar.profile.sources.pmu import SOFTWARE, CounterEvent
from nearfar.profile.sources.process_files import NOT_SAMPLED, scale_to_counts
from nearfar.program.executable import gains_rights

pytestmark = pytest.mark.timing

FAULTS = CounterEvent("page-faults", SOFTWARE, 2, period=1, is_rate=False, has_source=False)
COUNTED = [CounterEvent("cpu_time_ns", SOFTWARE, 1), CounterEvent("llc_load_misses", SOFTWARE, 2)]
FEW, MANY = 300, 900
"""Pages that unmodified/touched.c writes to."""


def tree(folder: Path, files: dict[str, str]) -> Tree:
    """Return a machine with these files."""
    for name, text in {"proc/sys/kernel/perf_event_paranoid": "2", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (folder / "sys").mkdir(exist_ok=True)
    return Tree(folder)


def devices(name: str, files: dict[str, str]) -> dict[str, str]:
    return {f"sys/bus/event_source/devices/{name}/{key}": text for key, text in files.items()}


INTEL = {
    "type": "4",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "format/ldlat": "config1:0-15",
}


def test_the_events_of_pebs_and_ibs_are_read_from_sysfs(tmp_path: Path) -> None:
    loads = {"events/mem-loads": "event=0xcd,umask=0x1,ldlat=3"}
    result = pmu.sampled_event(tree(tmp_path / "skylake", devices("cpu", {**INTEL, **loads})))
    assert result == CounterEvent("mem-loads", 4, 0x01CD, 3, precise=2)
    aux = {**loads, "events/mem-loads-aux": "event=0x03,umask=0x82"}
    result = pmu.sampled_event(tree(tmp_path / "hybrid", devices("cpu_core", {**INTEL, **aux})))
    assert result == CounterEvent("mem_load_retired.l3_miss", 4, 0x20D1, precise=2)
    ibs = {"type": "11", "format/cnt_ctl": "config:19"}
    result = pmu.sampled_event(tree(tmp_path / "zen", devices("ibs_op", ibs)))
    assert result == CounterEvent("ibs_op", 11, 1 << 19, with_kernel=True)
    assert pmu.sampled_event(tree(tmp_path / "none", devices("cpu", INTEL))) is None


def test_each_missing_requirement_is_named(tmp_path: Path) -> None:
    here = tree(tmp_path, {})
    assert counters.missing_counters(here, lambda _event, _sampled: 0) == ""
    assert "only root" in counters.missing_counters(here, lambda _event, _sampled: errno.EACCES)
    text = counters.missing_counters(here, lambda e, _: 0 if e.type == SOFTWARE else errno.ENOENT)
    assert "does not count instructions" in text
    optional = {"llc_store_misses", "stall_cycles", "llc_loads"}
    assert (
        counters.missing_counters(here, lambda e, _: errno.EINVAL if e.name in optional else 0)
        == ""
    )
    assert "neither PEBS' mem-loads nor IBS" in counters.missing_samples(here)
    (tmp_path / "proc/sys/kernel/perf_event_paranoid").unlink()
    assert "without perf events" in counters.missing_counters(here)


def test_the_verb_reports_in_one_sentence_what_is_missing_here(tmp_path: Path) -> None:
    if counters.usable():
        pytest.skip("this machine's counters can be used")
    output = tmp_path / "run.json"
    words = ["profile", "-o", output, "--source", "counters"]
    done = nearfar(*words, "--", "/bin/true")
    assert done.returncode == 3
    assert "--source counters cannot be used" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not output.exists()
    done = nearfar(*words, "--llc", "1MiB", "--", "/bin/true")
    assert (done.returncode, "simulated" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    if not (native_folder() / "libnearfar_replay.so").exists():
        pytest.skip("the native libraries were not built")
    if error := perf_events.try_open(FAULTS, sampled=True):
        pytest.skip(f"perf events cannot be used here: {errno.errorcode[error]}")
    source = Path(__file__).parent / "unmodified/touched.c"
    target = tmp_path_factory.mktemp("touched") / "touched"
    command = ["gcc", "-O1", "-g", "-D_GNU_SOURCE", f"-I{include_folder()}", str(source)]
    subprocess.run([*command, "-o", str(target)], check=True)
    return target


def profile(program: Path, *words: str, sampled: CounterEvent | None = FAULTS) -> WorkloadProfile:
    options = ProfileOptions(command=[str(program), *words], repetitions=1, llc="1MiB", ways=16)
    request = make_request(options, stdout_to_stderr=True)
    request = replace(request, source=CounterSource(60, COUNTED, sampled))
    return assemble(request, gather_runs(request, lambda _: None))


def misses(found: WorkloadProfile, phase: str) -> dict[str, float]:
    (rows,) = (p.objects for p in found.phases if p.name == phase)
    return {found.objects[row.object].name: row.traffic.misses() for row in rows}


def test_sampled_addresses_belong_to_the_touched_objects(touched: Path) -> None:
    profiled = profile(touched)
    for phase, pages in (("few", FEW), ("many", MANY)):
        of = misses(profiled, phase)
        (made,) = (count for name, count in of.items() if name.startswith(f"make_{phase} "))
        # Every page but the first, and those that the loader or a mark touches. The kernel may map
        # some pages at once.
        assert made == pytest.approx(pages - 1, abs=2, rel=0.02)
        assert sum(of.values()) <= made + 40
        (counted,) = (p.counted for p in profiled.phases if p.name == phase)
        assert counted["llc_load_misses"] == pytest.approx(sum(of.values()), abs=1)
        assert counted["cpu_time_ns"] > 0
    first = profiled.instructions[0]
    assert (first.function, Path(first.file).name) == ("touch", "touched.c")
    assert profiled.program.compiler.startswith("unmodified")


def test_a_childs_samples_are_not_attributed_to_its_parents_objects(touched: Path) -> None:
    profiled = profile(touched, "fork")
    of = {name.split(" ")[0]: count for name, count in misses(profiled, "many").items()}
    assert of["make_many"] == pytest.approx(MANY - 1, abs=2, rel=0.02)
    assert any("samples were of child processes" in warning for warning in profiled.warnings)


def test_without_samples_misses_are_counted_for_no_object(touched: Path) -> None:
    profiled = profile(touched, sampled=None)
    of = misses(profiled, "many")
    assert list(of) == ["unknown memory"]
    assert of["unknown memory"] == pytest.approx(MANY - 1, abs=40)
    assert profiled.instructions[0].function == NOT_SAMPLED


def test_sampled_misses_are_scaled_to_the_counted_misses() -> None:
    file = ProcessFile.__new__(ProcessFile)
    rows = np.zeros(3, [("key", "u8"), ("read_misses", "u8"), ("write_misses", "u8")])
    rows["key"] = [1 << 48 | 9 << 32 | 1, 1 << 48 | 8 << 32 | 1, 2 << 48 | 9 << 32 | 1]
    rows["read_misses"] = [30, 10, 7]
    file.counters = rows
    fields = ["key", "function", "operation", "tests_per_line"]
    file.instructions = np.zeros(0, [(name, "u8") for name in fields])
    file.strings = b"\0"
    scale_to_counts(file, {1: {"llc_load_misses": 4000.0, "llc_store_misses": 500.0}})
    assert file.counters["read_misses"].tolist() == [3000, 1000, 7, 0]
    assert file.counters["write_misses"].tolist() == [0, 0, 0, 500]
    assert int(file.counters["key"][3]) >> 32 & 0xFFFF == 2  # unknown memory


def test_multiplexed_events_are_scaled_and_reported() -> None:
    watch = perf_events.PerfWatch([*COUNTED, CounterEvent("cycles", 0, 0)], None, [])
    facts = perf_events.PerfFacts()
    for place, (value, on) in enumerate([(100, 50), (100, 10), (0, 0)]):
        facts.counts[1][place].value = value
        facts.counts[1][place].enabled_ns = 50
        facts.counts[1][place].running_ns = on
    counts, shares = watch.counts(facts)
    assert counts == {1: {"cpu_time_ns": 100, "llc_load_misses": 500}}
    assert shares == {"cpu_time_ns": 1.0, "llc_load_misses": 0.2, "cycles": 0.0}
    caveats = CounterSource(1, COUNTED)._caveats(facts, shares, is_static=False)
    assert any("llc_load_misses took turns" in text and "20%" in text for text in caveats)
    assert any("cycles was never counted" in text for text in caveats)
    watch.close()


@pytest.mark.parametrize(("kept_bytes", "said"), [(100, "is truncated"), (4096, "cannot run|load")])
def test_a_program_that_cannot_start_leaves_no_waiting_process(
    kept_bytes: int, said: str, tmp_path: Path
) -> None:
    program = tmp_path / "broken"
    program.write_bytes(Path("/bin/true").read_bytes()[:kept_bytes])
    program.chmod(0o755)
    with pytest.raises(CommandError, match=said):
        profile(program)


def test_rights_granted_by_a_file_are_recognised() -> None:
    user, group = os.geteuid(), os.getegid()

    def gains(mode: int, owner: int, of_group: int) -> bool:
        return gains_rights(os.stat_result((mode, 0, 0, 1, owner, of_group, 0, 0, 0, 0)))

    assert not gains(0o755, user + 1, group + 1)
    assert gains(0o4755, user + 1, group)
    assert not gains(0o4755, user, group)
    assert gains(0o2755, user, group + 1)
    assert not gains(0o2745, user, group + 1)  # mandatory locking of old kernels
