"""The verb `schema`."""

from __future__ import annotations

import json
import sys

from nearfar import documents
from nearfar.base.errors import CommandError, nearest

KINDS = {
    kind.KIND: kind
    for kind in (
        documents.DeviceProfile,
        documents.MachineProfile,
        documents.WorkloadProfile,
        documents.Prediction,
        documents.Plan,
        documents.Reproduction,
        documents.ValidationReport,
        documents.CounterProfile,
        documents.RunRecord,
        documents.MachineCheck,
        documents.Conversion,
        documents.Comparison,
        documents.Emulation,
        documents.Sweep,
        documents.Fleet,
        documents.CrashReport,
        documents.CrashState,
        documents.BenchResult,
    )
}


def schema(kind: str) -> None:
    """Print the JSON schema of a document kind.

    Parameters
    ----------
    kind
        device-profile, machine-profile, workload-profile, prediction, plan,
        reproduction, validation-report, counter-profile, machine-check, conversion, run-record,
        comparison, emulation, sweep, fleet, crash-report, crash-state or bench-result.
    """
    if kind not in KINDS:
        raise CommandError(
            f"there is no document kind {kind!r}{nearest(kind, list(KINDS))}; "
            f"there are: {', '.join(KINDS)}"
        )
    json.dump(documents.schema(KINDS[kind]), sys.stdout, indent=1)
    print()
