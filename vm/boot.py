"""Boot the guest, run every check in it, and print what each found (TAP).

    python vm/boot.py [CHECK...]      all, or those whose names contain a word given

Ends with 0 if all hold, 1 if one does not, 77 if the guest cannot be had here (the reason is
printed). NEARFAR_VM_KERNEL=FOLDER boots another kernel (a kernel package unpacked, or its .deb),
NEARFAR_VM_QEMU=PROGRAM another QEMU.
"""

from __future__ import annotations

import compileall
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from disk import copy_libraries, get_disk, libraries_on, module_files, pack
from kernel import Kernel, NotHereError, get_kernel
from machine import Sizes, arguments

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(REPOSITORY / "tests/python"))
from patience import machine_factor, remaining_s  # noqa: E402

CACHE = REPOSITORY / "build/vm"
LIMIT_S = 560.0
"""Time-out of a boot on a quiet machine, where two boots take 120 s with all checks."""
WANTS_NO_HYPERVISOR = (6, 3)
"""From this kernel on, regions of CXL devices are committed only where no hypervisor is seen."""
STATE = ("boot", "grub.d", "nearfar")
"""What outlives a reboot of the guest: /boot, /etc/default/grub.d, /var/lib/nearfar."""
PAYLOAD_SPARE_BYTES = 16 << 20
"""Room on the second disk for what checks keep over a reboot."""
SKIPPED = 77
"""Exit status for what cannot be tested here, as automake has it."""


def main(words: list[str]) -> int:
    """Boot, and return the exit status."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and end QEMU
    qemu = os.environ.get("NEARFAR_VM_QEMU", "qemu-system-x86_64")
    try:
        for tool in (qemu, "cpio", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise NotHereError(
                    f"{tool} is not installed (apt-get install qemu-system-x86 cpio)"
                )
        CACHE.mkdir(parents=True, exist_ok=True)
        kernel = get_kernel(CACHE)
        disk = get_disk(CACHE, kernel)
        disk_s = time.monotonic() - began
    except NotHereError as reason:
        print(f"1..0 # SKIP {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _initrd(work, kernel)
        _payload(work, kernel, disk, words)
        made = time.monotonic()
        results = _boot(qemu, work, kernel, disk)
        failed = _failed(results)
        # What the guest's boot loader would pass to the next boot: it waits for one.
        if wish := re.search(r"^# boot again: (.*)$", results, re.MULTILINE):
            print(results, end="")
            print(f"# the first boot took {time.monotonic() - made:.1f} s")
            results = _boot(qemu, work, kernel, disk, f"NEARFAR_BOOT=2 {wish[1]}")
            failed = failed or _failed(results)
    ended = time.monotonic()
    print(results, end="")
    print(
        f"# made ready in {made - began:.1f} s ({disk_s:.1f} s of it the disk, the first time), "
        f"ran {ended - made:.1f} s"
    )
    if "1.." not in results:
        print(f"Bail out! the guest did not reach its end; its console: {CACHE / 'console.log'}")
        return 1
    return 1 if failed else 0


def _failed(results: str) -> bool:
    """Return whether a check did not hold."""
    return "\nnot ok" in f"\n{results}"


def _boot(qemu: str, work: Path, kernel: Kernel, disk: Path, options: str = "") -> str:
    """Boot once and return what the guest reported."""
    command = [
        qemu,
        *arguments(
            kernel.image,
            work / "initrd",
            (disk, work / "payload.ext4"),
            work,
            volatile_cxl="NEARFAR_VM_VOLATILE_CXL" in os.environ,
            sizes=Sizes(),
            hide_hypervisor=kernel.version >= WANTS_NO_HYPERVISOR,
            options=f"NEARFAR_MACHINE_FACTOR={machine_factor():.1f} {options}",
        ),
    ]
    _run_to_its_end(command)
    shutil.copy(work / "console.log", CACHE / "console.log")
    return _read(work / "results.tap")


def _run_to_its_end(command: list[str]) -> None:
    """Run a guest; stop it when it takes longer than it may on a machine as busy as now."""
    started = time.monotonic()
    left_s = LIMIT_S
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as guest:
        try:
            while guest.poll() is None and left_s > 0:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    guest.wait(left_s)
                    return
                left_s = remaining_s(LIMIT_S, time.monotonic() - started)
            if guest.poll() is None:
                print(f"# the guest was stopped after {time.monotonic() - started:.0f} s")
        finally:
            guest.kill()


def _initrd(work: Path, kernel: Kernel) -> None:
    """Pack init and the modules it needs."""
    root = work / "root"
    (root / "bin").mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox, "get_disk has looked for it"
    shutil.copy(busybox, root / "bin/busybox")
    shutil.copy(HERE / "guest/init", root / "init")
    for number, file in enumerate(module_files(kernel)):
        target = root / "modules" / f"{number:03}-{file.name}"
        target.parent.mkdir(exist_ok=True)
        if file.suffix == ".xz":
            target = target.with_suffix("")
            target.write_bytes(
                subprocess.run(["xzcat", file], check=True, capture_output=True).stdout
            )
        else:
            shutil.copy(file, target)
    names = "\0".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with (work / "initrd").open("wb") as archive:
        subprocess.run(
            ["cpio", "--quiet", "-0", "-o", "-H", "newc", "-R", "0:0"],
            input=names.encode(), stdout=archive, cwd=root, check=True,
        )  # fmt: skip


def _payload(work: Path, kernel: Kernel, disk: Path, words: list[str]) -> None:
    """Pack nearfar's code and the checks: the guest's second disk, which outlives a reboot."""
    payload = work / "payload"
    # The compiler pass would bring LLVM's 100 MB with it, and compiles nothing here.
    leave = shutil.ignore_patterns("nearfar_pass-*", "vendor")
    shutil.copytree(REPOSITORY / "nearfar", payload / "nearfar", ignore=leave)
    built = Path(sysconfig.get_path("platlib")) / "nearfar"
    if built != REPOSITORY / "nearfar" and built.is_dir():
        shutil.copytree(built, payload / "nearfar", dirs_exist_ok=True, ignore=leave)
    studies = REPOSITORY / "companions/studies/nearfar_studies"
    shutil.copytree(studies, payload / "nearfar_studies")
    shutil.copytree(HERE / "guest", payload / "guest")
    (payload / "checks").mkdir()
    for check in sorted((HERE / "checks").glob("*.py")):
        if not words or any(word in check.name for word in words):
            shutil.copy(check, payload / "checks")
    # Without its compiled form, a module takes an emulated processor tens of milliseconds.
    compileall.compile_dir(payload, quiet=2)
    shutil.copytree(REPOSITORY / "tests/machines", payload / "machines")
    _compile(payload / "programs")
    _compile_in_situ(payload / "programs")
    if (real := CACHE / "real").is_dir():
        shutil.copytree(real, payload / "real")
    for folder in STATE:
        (payload / "state" / folder).mkdir(parents=True)
    shutil.copy(kernel.config, payload / "state/boot")
    copy_libraries(payload, payload / "libraries", known=libraries_on(disk))
    pack(payload, work / "payload.ext4", spare_bytes=PAYLOAD_SPARE_BYTES)


def _compile(folder: Path) -> None:
    """Compile the programs that `nearfar run` is tested with, where a compiler is here."""
    folder.mkdir()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-16")
    if compiler is None:
        return
    for name in ("objects", "ranges", "shifting"):
        source = REPOSITORY / f"tests/python/run/programs/{name}.c"
        subprocess.run(
            [compiler, "-O2", "-g", "-pthread", f"-I{REPOSITORY / 'include'}",
             source, "-o", folder / source.stem],
            check=True,
        )  # fmt: skip


def _compile_in_situ(folder: Path) -> None:
    """Compile the study in-situ-here's program: the guest has no compiler."""
    sys.path.insert(0, str(REPOSITORY))
    from nearfar_studies.in_situ_run import compiled

    if shutil.which("cc"):
        compiled(folder)


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
