"""Programs known from their code alone: counts per operation as formulas in a small TOML file.

```toml
title = "gets of a chained hash map"
source = "read off the code"
[sizes]                     # names for formulas, with defaults; --size n=1e7 changes them
n = 1e6
[fitted]                    # optional: least and greatest size the formulas hold for
n = [1e5, 1e7]
[phases.get]
operations = "n"
compute_ns = 20             # of one operation, without waiting for memory
[phases.get.objects.buckets]
size_bytes = "8 * n"
independent = "max(0, 1 - llc_bytes / (8 * n))"   # lines of one operation, by how they wait
```

Counts of an object: chase (lines whose address was loaded before), independent, stream; store and
store_stream (lines that a store fetches), write_backs; flushes, fences, nt_store_bytes; hits
(accesses that a cache answers). `llc_bytes` is the last-level cache of --llc, 32 MiB by default.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nearfar.base.errors import NearfarError, nearest
from nearfar.base.estimate import Estimate
from nearfar.base.units import LINE_BYTES
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.documents.profiled_run import CacheModel
from nearfar.documents.workload import AccessClasses, ObjectTraffic, Phase, Traffic
from nearfar.predict.derive import near_memory
from nearfar.predict.formula import evaluate
from nearfar.predict.models.code import waiting_ns
from nearfar.predict.phases import phases_of
from nearfar.profile.unprofiled import unallocated_object, unprofiled, untimed_phase

Formula = str | float

CODES = Path(__file__).parent / "codes"
"""Folder of nearfar's own files, which users name without folder and suffix."""

OUTSIDE_ERROR = 0.05
"""Relative error of counts for each doubling beyond the fitted sizes. The performance thesis' fits
are off by 1 % a doubling inside its sizes (`nearfar reproduce thesis-hashmap`); outside, their
error is not known. A guess."""

LLC_BYTES = 32 << 20
"""Last-level cache of a common server."""


class CodeObject(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Formulas of one object: bytes, and counts of one operation."""

    size_bytes: Formula
    chase: Formula = 0.0
    independent: Formula = 0.0
    stream: Formula = 0.0
    store: Formula = 0.0
    store_stream: Formula = 0.0
    write_backs: Formula = 0.0
    flushes: Formula = 0.0
    fences: Formula = 0.0
    nt_store_bytes: Formula = 0.0
    hits: Formula = 0.0


class CodePhase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Formulas of one phase."""

    operations: Formula
    compute_ns: Formula = 0.0
    objects: dict[str, CodeObject]


class CodeFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A program as formulas."""

    title: str
    source: str
    sizes: dict[str, float] = {}
    fitted: dict[str, tuple[float, float]] = {}
    """Minimum and maximum size that the formulas were fitted to, by name."""
    phases: dict[str, CodePhase]


def find_code(named: Path) -> Path | None:
    """Return a file of formulas by path (ending in .toml), or by name if it is nearfar's."""
    if named.suffix == ".toml":
        return named
    shipped = CODES / f"{named}.toml"
    return shipped if shipped.is_file() and not named.exists() else None


def load_code(path: Path) -> CodeFile:
    """Read a file of formulas; raise NearfarError with a sentence on what is wrong with it."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), CodeFile)
    except OSError as error:
        raise NearfarError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path} is not valid TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise NearfarError(
            f"{path} is no file of formulas: {error}; an example is {CODES}/thesis-hashmap.toml"
        ) from error


def profile_of_code(
    code: CodeFile, near: DeviceProfile, sizes: Mapping[str, float], llc_bytes: int = LLC_BYTES
) -> WorkloadProfile:
    """Return the profile that the formulas describe at these sizes.

    Near time is computation plus the waiting for lines in `near`; none of it is measured.
    """
    for name in sizes:
        if name not in code.sizes:
            hint = nearest(name, list(code.sizes)) or f"; there are: {', '.join(code.sizes)}"
            raise NearfarError(f"{code.title!r} has no size {name!r}{hint}")
    names = {**code.sizes, **sizes, "llc_bytes": float(llc_bytes)}
    outside = _outside(code, names)
    error = min(1.0, OUTSIDE_ERROR * sum(outside.values()))
    ids = {name: i for i, name in enumerate(dict.fromkeys(_object_names(code)))}
    bytes_of = dict.fromkeys(ids, 0.0)
    phases = []
    compute_ns = []
    for title, phase in code.phases.items():
        operations = _count(phase.operations, names, f"{title}.operations")
        rows = []
        for name, entry in phase.objects.items():
            where = f"{title}.{name}"
            bytes_of[name] = max(bytes_of[name], _count(entry.size_bytes, names, where))
            rows.append(
                ObjectTraffic(object=ids[name], traffic=_traffic(entry, operations, names, where))
            )
        compute_ns.append(operations * _count(phase.compute_ns, names, f"{title}.compute_ns"))
        phases.append(untimed_phase(title, operations or None, rows))
    untimed = _profile(code, names, phases, bytes_of, llc_bytes)
    memory = near_memory(near)
    timed = [
        _timed(phase, computing_ns + float(waiting_ns(traffic.total, memory)), error)
        for phase, traffic, computing_ns in zip(phases, phases_of(untimed), compute_ns, strict=True)
    ]
    return msgspec.structs.replace(
        untimed,
        phases=timed,
        sampling=msgspec.structs.replace(untimed.sampling, relative_error=error),
        warnings=[*untimed.warnings, *outside],
    )


def parse_sizes(texts: Sequence[str]) -> dict[str, float]:
    """Read ``NAME=NUMBER`` texts, such as n=1e7."""
    sizes = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            sizes[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not math.isfinite(sizes[name]):
            raise NearfarError(
                f"cannot read --size {text!r}: write a name and a number, such as n=1e5"
            )
    return sizes


def _outside(code: CodeFile, names: Mapping[str, float]) -> dict[str, float]:
    """Return a warning for each size outside its fitted range, with the doublings beyond it."""
    doublings = {}
    for name, (low, high) in code.fitted.items():
        if name not in code.sizes or not 0.0 < low < high:
            raise NearfarError(
                f"{code.title!r}: [fitted] must name sizes of [sizes] with a minimum and a maximum "
                f"above 0, not {name} = [{low:g}, {high:g}]"
            )
        value = names[name]
        if low <= value <= high:
            continue
        doublings[
            f"{name}={value:g} is outside the sizes that the formulas were fitted to ({low:g} to "
            f"{high:g}): extrapolated, and the interval is wider"
        ] = abs(math.log2(max(value, 1e-9) / (low if value < low else high)))
    return doublings


def _object_names(code: CodeFile) -> list[str]:
    return [name for phase in code.phases.values() for name in phase.objects]


def _count(formula: Formula, names: Mapping[str, float], where: str) -> float:
    value = evaluate(formula, names, where)
    if value < 0.0:
        raise NearfarError(f"{where}: {formula!r} is {value:g} at these sizes, expected at least 0")
    return value


def _traffic(
    entry: CodeObject, operations: float, names: Mapping[str, float], where: str
) -> Traffic:
    count = {
        field: operations * _count(getattr(entry, field), names, f"{where}.{field}")
        for field in entry.__struct_fields__
        if field != "size_bytes"
    }
    read = AccessClasses(
        chase=count["chase"], indirect=count["independent"], stream=count["stream"]
    )
    write = AccessClasses(opaque=count["store"], stream=count["store_stream"])
    return Traffic(
        accesses=count["hits"] + read.total() + write.total(),
        read_misses=read,
        write_misses=write,
        write_backs=count["write_backs"],
        flushes=count["flushes"],
        fences=count["fences"],
        nt_store_bytes=count["nt_store_bytes"],
    )


def _timed(phase: Phase, time_ns: float, error: float) -> Phase:
    return msgspec.structs.replace(
        phase,
        near_cpu_time_ns=Estimate(time_ns, time_ns * (1.0 - error), time_ns * (1.0 + error)),
        near_wall_time_ns=time_ns,
    )


def _profile(
    code: CodeFile,
    names: Mapping[str, float],
    phases: list[Phase],
    bytes_of: Mapping[str, float],
    llc_bytes: int,
) -> WorkloadProfile:
    cache = CacheModel(size_bytes=llc_bytes, ways=16, line_bytes=LINE_BYTES, origin="code")
    objects = [
        unallocated_object(number, name, "heap", int(size_bytes))
        for number, (name, size_bytes) in enumerate(bytes_of.items())
    ]
    return msgspec.structs.replace(
        unprofiled(code.title, "not run: from formulas", cache, phases, objects),
        size={name: value for name, value in names.items() if name != "llc_bytes"},
        flushes_counted=True,
        warnings=[f"counts are formulas ({code.source}) and near time follows from them: not run"],
    )
