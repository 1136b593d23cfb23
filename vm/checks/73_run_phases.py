"""`nearfar run --adapt` moves objects between nodes when the plan's phase begins."""

import planned


def check() -> None:
    """Expect the whole array to leave near memory and the whole mapping to come near."""
    where = {"make_array": "near", "make_mapping": "far"}
    path = planned.plan(where, moves={"make_array": "far", "make_mapping": "near"})
    record = planned.run(
        path, "4", *["phases"] * 8, maps={"far": "node:1"},
        options=("--adapt", "--hysteresis", "50ms"),
    )  # fmt: skip
    moved: dict[tuple[str, str], int] = {}
    for migration in record["migrations"]:
        key = (migration["name"], migration["memory"])
        moved[key] = moved.get(key, 0) + migration["moved_bytes"]
    print(record["migrations"])
    assert moved[("make_array", "far")] >= 0.99 * (4 << 20)
    assert moved[("make_mapping", "near")] >= 0.99 * (4 << 20)
