"""Plans for other tools: exports run, compile or parse there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
import samples

from nearfar.api import place
from nearfar.base.errors import NearfarError
from nearfar.documents import Plan, save
from nearfar.documents.plan import Part
from nearfar.place.exports import EXPORTS, mapped

STAND_IN = """\
/* Stands in for memkind's own header, which is not installed: its documented names. */
#include <stddef.h>
typedef struct memkind *memkind_t;
extern memkind_t MEMKIND_DEFAULT, MEMKIND_DAX_KMEM;
enum { MEMKIND_SUCCESS = 0 };
int memkind_create_pmem(const char *dir, size_t max_size, memkind_t *kind);
void *memkind_malloc(memkind_t kind, size_t size);
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Return a plan over three memories with a divided and an interleaved object."""
    folder = tmp_path_factory.mktemp("memories")
    save(samples.device(), folder / "near.json")
    fars = samples.memories(
        folder,
        (samples.device("cxl-1", 200.0, 8.0, 7.0), 64 << 20),
        (samples.device("pmem", 300.0, 5.0, 1.0), None),
        more='near = {device = "near.json", spec = "node:0"}\n',
    )
    workload = samples.workload()
    workload.objects[3].name = 'odd */ "name"\\ store.c:1'
    results = place(
        profile=workload, memories=fars, budget="30%", map=["cxl-1=node:1"], details=False
    )
    results.placements[1].parts = [
        Part(memory="near", share=0.25), Part(memory="pmem", share=0.75)
    ]  # fmt: skip
    results.placements[2].interleave = {"near": 3, "cxl-1": 1}
    return results


def compiled(text: str, folder: Path, *flags: str) -> None:
    source = folder / "exported.c"
    source.write_text(text)
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    done = subprocess.run(
        [*command, *flags, str(source), "-o", str(folder / "exported")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_numactl_export_is_a_script_that_interleaves_pages(plan: Plan, tmp_path: Path):
    script = tmp_path / "run.sh"
    script.write_text(EXPORTS.get("numactl")(mapped(plan, ["pmem=node:2"])))
    subprocess.run(["sh", "-n", str(script)], check=True)
    # A fake numactl prints its arguments; the effect of the real one is not tested.
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "numactl").write_text('#!/bin/sh\necho "$@"\n')
    (folder / "numactl").chmod(0o755)
    done = subprocess.run(
        ["sh", str(script), "program", "one argument"],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if Path("/sys/kernel/mm/mempolicy/weighted_interleave").exists():
        return
    nodes = re.search(r"--interleave=([\d,]+)", done.stdout)
    assert nodes is not None
    assert done.stdout.endswith("-- program one argument\n")
    used = {m.spec for m in mapped(plan, ["pmem=node:2"]).memories if m.used_bytes}
    assert {f"node:{n}" for n in nodes[1].split(",")} == used


def test_a_plan_that_fits_near_is_bound_there(plan: Plan):
    whole = msgspec.structs.replace(plan, budget_bytes=plan.footprint_bytes)
    assert 'exec numactl --membind="$NEAR_NODE"' in EXPORTS.get("numactl")(whole)


def test_mbind_export_compiles_and_its_calls_return(plan: Plan, tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    text = EXPORTS.get("mbind")(mapped(plan, ["near=node:0", "cxl-1=node:0", "pmem=node:0"]))
    functions = re.findall(r"nearfar_(object_\w+)\(void", text)
    assert len(functions) == sum(row.kind in ("heap", "mmap", "file") for row in plan.placements)
    # EPERM and ENOSYS come from the container; any other error is a wrong call.
    calls = "\n".join(
        f"  if (nearfar_{name}(memory, 1 << 22) && errno != EPERM && errno != ENOSYS) return 1;"
        for name in functions
    )
    main = (
        "\n#include <sys/mman.h>\nint main(void) {\n  void *memory = mmap(0, 1 << 22, PROT_READ | "
        f"PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n{calls}\n  return 0;\n}}\n"
    )
    compiled(text + main, tmp_path)
    assert subprocess.run([tmp_path / "exported"], check=False).returncode == 0


def test_mbind_without_a_node_names_the_macro_to_define(plan: Plan, tmp_path: Path):
    text = EXPORTS.get("mbind")(plan)
    assert "#error" in text
    assert "define PMEM_NODE: the NUMA node of pmem, such as -DPMEM_NODE=1" in text
    compiled(text + "int main(void) { return 0; }\n", tmp_path, "-DPMEM_NODE=2")


def test_memkind_names_a_kind_for_every_site(plan: Plan, tmp_path: Path):
    (tmp_path / "memkind.h").write_text(STAND_IN)
    text = EXPORTS.get("memkind")(mapped(plan, ["pmem=file:/mnt/pmem0"]))
    assert 'memkind_create_pmem("/mnt/pmem0", 0UL' in text
    assert "MEMKIND_DAX_KMEM_NODES=1" in text
    kinds = re.findall(r"#define (NEARFAR_KIND_\w+)", text)
    assert len(kinds) == len(plan.placements)
    used = "".join(f"  memkind_malloc({kind}, 1);\n" for kind in kinds)
    compiled(
        f"{text}\nint use(void) {{\n  nearfar_kinds();\n{used}  return 0;\n}}\n",
        tmp_path, f"-I{tmp_path}", "-c",
    )  # fmt: skip


def test_kubernetes_export_is_a_pod_with_the_plan(plan: Plan):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    config, pod = yaml.safe_load_all(EXPORTS.get("kubernetes")(plan))
    (container,) = pod["spec"]["containers"]
    asked = container["resources"]["limits"]["memory"]
    assert int(asked.removesuffix("Mi")) * (1 << 20) >= plan.footprint_bytes
    assert container["resources"]["requests"] == container["resources"]["limits"]
    inside = msgspec.json.decode(config["data"]["plan.json"].encode(), type=Plan)
    assert [row.memory for row in inside.placements] == [row.memory for row in plan.placements]


def test_json_has_every_object_and_its_call_stack(plan: Plan):
    result = json.loads(EXPORTS.get("json")(plan))
    assert [each["memory"] for each in result["objects"]] == [row.memory for row in plan.placements]
    assert result["objects"][0]["call_stack"][0]["function"] == "make_0"
    assert result["memories"]["cxl-1"]["where"] == "node:1"


def test_a_wrong_map_and_an_old_plan_are_refused(plan: Plan):
    with pytest.raises(NearfarError, match="near=node:0"):
        mapped(plan, ["near:0"])
    with pytest.raises(NearfarError, match="no memory 'pmen'"):
        mapped(plan, ["pmen=node:1"])
    old = msgspec.structs.replace(plan, memories=[])
    for name in EXPORTS.names():
        with pytest.raises(NearfarError, match="make it again"):
            EXPORTS.get(name)(old)
