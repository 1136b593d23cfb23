"""A program emulated by delays is slower by the added far time; probes judge the delays."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.documents import Emulation, load

from .conftest import ROOT, WholePath, nearfar


def emulated(whole_path: WholePath, tmp_path: Path, *words: object) -> tuple[int, Emulation]:
    out = tmp_path / "emulation.json"
    done = nearfar(
        *("emulate", "--far", "xmem-far-600ns-5gb", "--near", whole_path.near, "-o", out),
        *("--by", "delays", *words, "--", whole_path.program, ROOT / "docs", "--queries", "20000"),
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, load(out, Emulation)


@pytest.mark.long  # five rounds of probes and more
@pytest.mark.timing
def test_far_data_slow_the_program_and_near_data_do_not(
    whole_path: WholePath, tmp_path: Path
) -> None:
    code, far = emulated(whole_path, tmp_path)
    assert {phase.name for phase in far.phases} >= {"index", "query"}
    probes = {probe.name: probe for probe in far.probes}
    assert set(probes) == {"chase", "chains-4", "chains-16", "stream"}
    # Other work on this machine changes times by less than the requested fivefold latency.
    assert probes["chase"].emulated_ns > 1.5 * probes["chase"].near_ns
    assert far.faithful == (max(abs(probe.error) for probe in far.probes) <= far.tolerance)
    assert code == (0 if far.faithful else 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "delays", "--", "/bin/true"), "nearfar cc"),
        (("--by", "node", "--", "/bin/true"), "node"),
        (("--", "/no/such/program"), "/no/such/program"),
        ((), "name the program"),
    ],
)
def test_impossible_requests_are_reported(
    whole_path: WholePath, words: tuple[str, ...], said: str
) -> None:
    done = nearfar("emulate", "--far", "optane-100-6dimm", "--near", whole_path.near, *words)
    assert done.returncode in (2, 3)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
