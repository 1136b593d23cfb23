"""The page's types and fields, and the splits that would save time."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.documents import DeviceProfile, Prediction, WorkloadProfile
from nearfar.documents.prediction import DevicePrediction, HostRule
from nearfar.place.splits import propose_splits, split_programs
from nearfar.report.data import FieldRow, MemoryFields
from nearfar.report.labels import label

NO_TYPES = (
    "The profile names no type: build the program with nearfar cc and clang's or rustc's debug "
    "information (-g, not -g1), since an unmodified program's accesses have addresses only."
)
NO_MISSES = "No access to a known type misses the cache."
NO_SPLIT = "No split of a type into hot and cold fields is predicted to save 2 % of near time."


def field_rows(
    profile: WorkloadProfile,
    near: DeviceProfile,
    fars: Sequence[DeviceProfile],
    prediction: Prediction,
    host: HostRule,
) -> list[MemoryFields]:
    """Return the fields and the splits on each far memory."""
    devices = {device.far: device for device in prediction.devices}
    any_known = any(device.fields for device in devices.values())
    programs = split_programs(profile, near) if any_known else []
    result = []
    for far in fars:
        fields = devices[far.name].fields if far.name in devices else []
        splits = propose_splits(profile, near, far, host, programs) if fields else []
        sentence = _sentence(profile, devices.get(far.name))
        result.append(
            MemoryFields(
                memory=far.name,
                sentence=sentence if splits or not fields else f"{sentence} {NO_SPLIT}",
                fields=[
                    FieldRow(
                        type=row.type,
                        label=label(row.type),
                        type_bytes=row.type_bytes,
                        field=row.field,
                        offset=row.offset,
                        bytes=row.bytes,
                        misses=row.misses,
                        added_ns=row.added_ns,
                    )
                    for row in fields
                ],
                splits=splits,
            )
        )
    return result


def _sentence(profile: WorkloadProfile, device: DevicePrediction | None) -> str:
    if device is None or not device.fields:
        typed = any(instruction.fields for instruction in profile.instructions)
        return NO_MISSES if typed else NO_TYPES
    total = sum(row.misses for row in device.fields)
    known = sum(row.misses for row in device.fields if row.type)
    share = known / total if total else 0.0
    return (
        f"{share:.0%} of the misses are in fields of types that the compiler knows, whole run, "
        f"added time on {device.title}."
    )
