"""Programs that load instrumented code late, and plain runs with another exit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked import nearfar

from nearfar.documents import WorkloadProfile, load
from nearfar.native_files import include_folder, native_folder

pytestmark = pytest.mark.timing

KERNELS = Path(__file__).parent / "kernels"
SUM = f"{8 << 14}\n"
"""Each line of 8 MiB contributes 1."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build plug.so and a host for it, instrumented and not."""
    if not list(native_folder().glob("nearfar_pass-*.so")):
        pytest.skip("the compiler pass was not built here")
    made = tmp_path_factory.mktemp("plugins")
    cc = ["cc", "-O1", "-g"]
    host = str(KERNELS / "plugin_host.c")
    plugin = ["-shared", "-fPIC", str(KERNELS / "plugin_summing.c"), "-o", made / "plug.so"]
    nearfar(*cc, *plugin, check=True)
    nearfar(*cc, host, "-o", made / "host", "-ldl", check=True)
    subprocess.run(["cc", host, "-o", made / "foreign", "-ldl"], check=True)
    return made


def test_a_foreign_program_can_load_an_instrumented_plugin(folder: Path) -> None:
    words = ["./foreign", "./plug.so"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=True).stdout == SUM.encode()


def test_accesses_of_a_plugin_are_counted_and_its_plain_run_is_reported(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.json"
    words = ["profile", "-q", "--repetitions", 1, "--llc", "1MiB", "--ways", 16, "-o", out]
    answer = nearfar(*words, "--", "./host", "./plug.so", cwd=folder)
    assert (answer.returncode, answer.stdout) == (0, 2 * SUM), answer.stderr
    profile = load(out, WorkloadProfile)
    assert sum(row.traffic.misses() for p in profile.phases for row in p.objects) == pytest.approx(
        8 << 14, rel=0.1
    )
    assert [text for text in profile.warnings if "plug.so was instrumented" in text]


def test_the_time_of_a_failed_plain_run_is_not_used(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    words = ["profile", "--plain", "/bin/false", "-o", out, "--", "./host", "./plug.so"]
    answer = nearfar(*words, cwd=folder)
    assert answer.returncode == 4
    (sentence,) = [line for line in answer.stderr.splitlines() if "near time" in line]
    assert "exited 1" in sentence
    assert "exited 0" in sentence
    assert not out.exists()


def test_the_twin_of_a_library_found_by_a_relative_path_is_used(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    cc = ["cc", "-O1", "-g", f"-I{include_folder()}"]
    source, using = KERNELS / "plugin_summing.c", tmp_path / "using.c"
    using.write_text(
        "#include <stdio.h>\nlong plugin_sum(volatile char*, unsigned long);\n"
        "static char all[1 << 20];\n"
        'int main(void) { printf("%ld\\n", plugin_sum(all, sizeof all)); }\n'
    )
    for command in (
        [*cc, "-shared", "-fPIC", source, "-o", "lib/libsum.so"],
        [*cc, using, "-Llib", "-lsum", "-o", "using"],
    ):
        nearfar(*command, cwd=tmp_path, check=True)
    words = ["profile", "-q", "--repetitions", 1, "--", "./using"]
    nearfar(*words, cwd=tmp_path, env={**os.environ, "LD_LIBRARY_PATH": "lib"}, check=True)
    profile = load(tmp_path / "run.json", WorkloadProfile)
    assert not [text for text in profile.warnings if "libsum.so was instrumented" in text]
