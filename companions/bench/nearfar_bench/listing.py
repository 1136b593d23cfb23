"""The shipped experiments, and the kinds of workload with their arguments."""

from __future__ import annotations

import sys
from dataclasses import asdict

import msgspec

from nearfar_bench.experiment import names, read_experiment
from nearfar_bench.native import kinds


def print_list(*, json: bool) -> None:
    """Print what `nearfar bench` can run."""
    experiments = [read_experiment(name) for name in names()]
    if json:
        document = {
            "experiments": [asdict(each) for each in experiments],
            "kinds": [msgspec.to_builtins(kind) for kind in kinds().values()],
        }
        sys.stdout.write(
            msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
        )
        return
    width = max((len(each.name) for each in experiments), default=0)
    print("experiments:")  # noqa: T201 - this is what was asked for
    for each in experiments:
        print(f"  {each.name:{width}}  {each.title}")  # noqa: T201
    print("\nkinds, with their arguments and defaults:")  # noqa: T201
    for kind in kinds().values():
        lacks = f" (needs {kind.needs})" if kind.needs else ""
        print(f"  {kind.name}: {kind.summary}{lacks}")  # noqa: T201
        if kind.name.startswith("map-"):
            print("    as map")  # noqa: T201
            continue
        for given in kind.parameters:
            print(f"    {given.name}={given.default}  {given.meaning}")  # noqa: T201
