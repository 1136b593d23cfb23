"""`nearfar scale` refuses extrapolations that the profiles do not support, in one sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compiling import nearfar
from made_profiles import made

from nearfar.base.errors import NearfarError
from nearfar.documents import WorkloadProfile, load, save
from nearfar.profile.options import parse_named_size
from nearfar.profile.scaling.extrapolate import extrapolate

SIZES = (1e4, 2e4, 4e4, 8e4)


def profiles(sizes: tuple[float, ...] = SIZES) -> list[WorkloadProfile]:
    return [made(n) for n in sizes]


def refused(some: list[WorkloadProfile], to: float = 3.2e5, **more: bool) -> str:
    with pytest.raises(NearfarError) as caught:
        extrapolate(some, [f"p{at}.json" for at in range(len(some))], {"n": to}, **more)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_made_profiles_extrapolate() -> None:
    result = extrapolate(profiles(), list("abcd"), {"n": 3.2e5})
    assert result.objects[0].size_bytes == pytest.approx(3.2e5 * 64, rel=0.01)
    (phase,) = result.phases
    assert phase.operations == pytest.approx(3.2e5)
    assert phase.near_cpu_time_ns.value == pytest.approx(
        made(3.2e5).phases[0].near_cpu_time_ns.value, rel=0.2
    )


def test_too_few_sizes() -> None:
    assert "2 sizes fit any law" in refused(profiles(SIZES[:2]), 4e4)


def test_sizes_too_close() -> None:
    assert "too close" in refused(profiles((1e4, 2e4, 3.9e4)), 8e4)
    extrapolate(profiles((1e4, 2e4, 4e4)), list("abc"), {"n": 8e4})


def test_the_same_size_twice_is_one_size() -> None:
    assert "2 sizes fit any law" in refused(profiles((1e4, 1e4, 8e4)))


def test_too_far() -> None:
    extrapolate(profiles(), list("abcd"), {"n": 8 * 8e4})
    assert "--force" in refused(profiles(), 8 * 8e4 + 1)
    extrapolate(profiles(), list("abcd"), {"n": 8 * 8e4 + 1}, force=True)
    assert "not above the smallest" in refused(profiles(), 1e4)


def test_an_object_that_appears_and_disappears_is_refused() -> None:
    some = profiles()
    some[-1] = made(SIZES[-1], extra_bytes=10_000_000)
    assert "is missing at n=10000, n=20000, n=40000" in refused(some)
    some[-1] = made(SIZES[-1], extra_bytes=4096)
    result = extrapolate(some, list("abcd"), {"n": 3.2e5})
    assert any("not at every size: late" in warning for warning in result.warnings)


def test_no_law_fits() -> None:
    some = profiles()
    some[-1] = made(SIZES[-1], operations_factor=30)
    assert "cannot be predicted from smaller ones" in refused(some)
    result = extrapolate(some, list("abcd"), {"n": 3.2e5}, force=True)
    assert any("cannot be predicted" in warning for warning in result.warnings)


def test_other_caches_programs_and_sizes() -> None:
    some = profiles()
    other = msgspec.structs.replace(some[1].cache, size_bytes=1 << 21)
    changed = msgspec.structs.replace(some[1], cache=other)
    assert "another last-level cache" in refused([some[0], changed, *some[2:]])
    program = msgspec.structs.replace(some[1].program, executable="/bin/other")
    changed = msgspec.structs.replace(some[1], program=program)
    assert "another program" in refused([some[0], changed, *some[2:]])
    assert "has no size 'n'" in refused([some[0], msgspec.structs.replace(some[1], size={})])
    again = extrapolate(some, list("abcd"), {"n": 3.2e5})
    assert "itself extrapolated" in refused([*some, again])


def test_targets() -> None:
    assert parse_named_size("n=1e7", "--to") == ("n", 1e7)
    for text in ("n", "n=", "=3", "n=x", "n=inf", "n=nan"):
        with pytest.raises(NearfarError, match="write a name and a number"):
            parse_named_size(text, "--to")


def test_the_verb(tmp_path: Path) -> None:
    names = []
    for n in SIZES:
        names.append(f"n{n:g}.json")
        save(made(n), tmp_path / names[-1])
    done = nearfar("scale", *names, "--to", "n=3.2e5", "-o", "big.json", cwd=tmp_path)
    assert "extrapolated to n=320000" in done.stdout
    big = load(tmp_path / "big.json", WorkloadProfile)
    assert big.extrapolation is not None
    assert big.extrapolation.profiles == sorted(names)
    fars = ("--near", "ddr4-2666-cascade-lake", "--far", "cxl-micron-cz120")
    for words in (("predict",), ("place", "--budget", "30%")):
        nearfar(words[0], "big.json", *fars, *words[1:], "--json", cwd=tmp_path)
    done = nearfar("scale", *names, "--to", "n=3.2e5", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["size"] == {"n": 3.2e5}
    nearfar("scale", *names[:2], "--to", "n=3.2e5", "-o", "no.json", cwd=tmp_path, code=2)
    assert not (tmp_path / "no.json").exists()
