"""Documents of several machines in one prediction give one sentence each."""

from __future__ import annotations

import msgspec
import pytest
from samples import device, measured_here, workload

from nearfar.api import predict
from nearfar.documents import DeviceProfile

replace = msgspec.structs.replace


def measured(name: str, latency_ns: float, **origin: str) -> DeviceProfile:
    made = replace(device(name, latency_ns=latency_ns), measured=measured_here())
    return replace(made, producer=replace(made.producer, **origin))


@pytest.mark.parametrize(
    ("near", "far", "sentence"),
    [
        ({}, {}, ""),
        ({"cpu_model": "Other CPU"}, {"cpu_model": "Other CPU"}, "measure it on the profile's"),
        ({"host": "elsewhere"}, {"host": "elsewhere"}, "if these are two machines"),
        ({}, {"cpu_model": "Other CPU"}, "are not converted"),
    ],
)
def test_documents_of_other_machines_give_one_sentence_each(
    near: dict[str, str], far: dict[str, str], sentence: str
):
    memories = measured("dram", 100.0, **near), measured("slow", 250.0, **far)
    caveats = predict(profile=workload(), near=memories[0], far=memories[1:]).devices[0].caveats
    about = [text for text in caveats if "was measured on" in text]
    assert len(about) == bool(sentence)
    assert sentence in "".join(about)
