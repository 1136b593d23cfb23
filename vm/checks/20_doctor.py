"""`nearfar machine --check` finds everything that is in the guest, and what it lacks."""

from guest import nearfar, nearfar_as, nearfar_json


def check() -> None:
    """By name and by what it says; the same as a user without rights, where that is possible."""
    found = nearfar_json("machine", "--check", status=1)["findings"]
    said = {(line["name"], line["state"]): line["found"] for line in found}
    assert "250" in said["hmat", "works"]
    assert "node 1" in said["far-node", "works"]
    assert ("tiers", "works") in said or "in one tier" in said["tiers", "lacks"]
    assert "node 2" in said["pmem-regions", "note"], "numa_node 0 is not where its memory is"
    assert "without a flag raised" in said["pmem-health", "works"]
    assert ("cxl-memory", "lacks") in said, "no region yet"
    assert ("counters", "lacks") in said, "an emulated processor has none"
    assert ("persistent-memory", "lacks") in said, "no namespace yet, or a raw one"
    assert ("tools", "note") in said, "cxl ends with 0 although it failed"
    assert ("kernel", "lacks") in said or ("kernel", "works") in said
    assert ("container", "works") in said
    mends = [line.get("mend", "") for line in found if line["state"] == "lacks"]
    assert any("cxl create-region" in mend for mend in mends)
    nearfar("machine")
    nearfar_as(65534, "machine", "--check", "-q", status=1)
