"""The page's table of memories that are moved in pages."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base.errors import NearfarError
from nearfar.documents import DeviceProfile, WorkloadProfile
from nearfar.predict.paged_device import paged_device
from nearfar.predict.paged_table import axis_sentence
from nearfar.report.data import PagedFacts

BUDGETS = ("90%", "75%", "60%", "50%", "40%", "25%")


def without_paged(fars: Sequence[DeviceProfile]) -> tuple[list[DeviceProfile], list[DeviceProfile]]:
    """Return the far memories that serve each access by themselves, and those moved in pages."""
    paged = [far for far in fars if far.technology == "paged"]
    others = [far for far in fars if far.technology != "paged"]
    if paged and not others:
        raise NearfarError(
            f"the page is about memories that serve each access, and {paged[0].name} is moved in "
            "pages: name one more by --far, such as cxl-e3s-x8; its table is then beside"
        )
    return others, paged


def paged_facts(profile: WorkloadProfile, paged: Sequence[DeviceProfile]) -> list[PagedFacts]:
    """Return slowdowns by near budget of each memory."""
    facts = []
    for device in paged:
        prediction = paged_device(profile, device, BUDGETS, (), 1)
        if prediction.paged is not None:
            sentence = axis_sentence(prediction.paged)
            facts.append(PagedFacts(title=device.title, sentence=sentence, axis=prediction.paged))
    return facts
