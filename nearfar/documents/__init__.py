"""Documents that pass between stages: versioned JSON with units in the key names.

`load(path, WorkloadProfile)` refuses a truncated file, another kind, another version and
unknown keys, each with one sentence; `save` writes whole or not at all. The JSON schema of each
is generated from these types: ``nearfar schema KIND``.
"""

from nearfar.documents.bench import BenchResult
from nearfar.documents.comparison import Comparison
from nearfar.documents.conversion import Conversion
from nearfar.documents.counters import CounterProfile
from nearfar.documents.crash_report import CrashReport, CrashState
from nearfar.documents.device import DeviceProfile
from nearfar.documents.emulation import Emulation
from nearfar.documents.fleet import Fleet
from nearfar.documents.header import (
    Document,
    Producer,
    load,
    loaded,
    origin,
    producer,
    save,
    schema,
)
from nearfar.documents.machine import MachineProfile
from nearfar.documents.machine_check import MachineCheck
from nearfar.documents.paged_validation import PagedValidation
from nearfar.documents.plan import Plan
from nearfar.documents.prediction import HostRule, Prediction
from nearfar.documents.run_record import RunRecord
from nearfar.documents.study import Reproduction
from nearfar.documents.sweep import Sweep
from nearfar.documents.validation import ValidationReport
from nearfar.documents.workload import WorkloadProfile

__all__ = [
    "BenchResult",
    "Comparison",
    "Conversion",
    "CounterProfile",
    "CrashReport",
    "CrashState",
    "DeviceProfile",
    "Document",
    "Emulation",
    "Fleet",
    "HostRule",
    "MachineCheck",
    "MachineProfile",
    "PagedValidation",
    "Plan",
    "Prediction",
    "Producer",
    "Reproduction",
    "RunRecord",
    "Sweep",
    "ValidationReport",
    "WorkloadProfile",
    "load",
    "loaded",
    "origin",
    "producer",
    "save",
    "schema",
]
