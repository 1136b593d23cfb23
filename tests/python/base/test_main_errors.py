"""Output for errors that no verb converted to a sentence."""

from __future__ import annotations

import errno

import pytest

from nearfar import __main__
from nearfar.base.errors import ExitCode


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left", "x.json"), "cannot use x.json: No space left"),
        (OSError("the connection was closed"), "a system call failed: the connection was closed"),
        (ConnectionError(), "a system call failed: ConnectionError"),
    ],
)
def test_an_error_of_the_system_has_a_reason(
    error: OSError,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setattr(__main__, "_run", fail)
    assert __main__.main(["device"]) == ExitCode.MACHINE_LACKS
    assert capsys.readouterr().err == f"nearfar: {sentence}\n"


def test_an_error_that_ctrl_c_causes_in_the_standard_library_counts_as_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted_condition(_: list[str]) -> int:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RuntimeError("release unlocked lock")  # noqa: B904

    monkeypatch.setattr(__main__, "_run", interrupted_condition)
    assert __main__.main(["measure"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.startswith("nearfar: interrupted")

    def other(_: list[str]) -> int:
        raise RuntimeError("another")

    monkeypatch.setattr(__main__, "_run", other)
    with pytest.raises(RuntimeError, match="another"):
        __main__.main(["measure"])
