"""The compiler pass: built, and with the clang it was built for."""

from __future__ import annotations

import re
import shutil

from nearfar.documents import MachineProfile
from nearfar.documents.machine import Ability
from nearfar.machine.abilities import ABILITIES, lacking, usable
from nearfar.machine.sysfs import Tree
from nearfar.native_files import native_folder


@ABILITIES.register("compiler-pass")
def check(tree: Tree, machine: MachineProfile) -> list[Ability]:
    """Look for passes in the installation and for their clangs in PATH."""
    del machine
    if not tree.live:
        return []
    passes = sorted(native_folder().glob("nearfar_pass-*.so"))
    versions = [match[1] for p in passes if (match := re.search(r"-([0-9]+)\.so$", p.name))]
    if not versions:
        return lacking(
            "the pass was not built: clang and the LLVM development files were not there when "
            "nearfar was installed",
            "sudo apt-get install clang-16 llvm-16-dev && make setup",
        )
    ready = [version for version in versions if shutil.which(f"clang-{version}")]
    if not ready:
        return lacking(
            f"the pass was built for clang {' and '.join(versions)}, which is not in PATH",
            f"sudo apt-get install clang-{versions[0]}",
        )
    return usable(f"for clang {' and '.join(ready)}")
