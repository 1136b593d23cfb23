"""What does a program lose on far memory, and which quarter of its data should stay near?

    .venv/bin/python examples/api/near_budget.py PROFILE FOLDER

PROFILE is a file of `nearfar profile`; without it, one that this repository keeps. The prediction,
the plan and the page are written to FOLDER, by default the current one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nearfar import api
from nearfar.documents import Plan, WorkloadProfile, load, save

KEPT = Path(__file__).parent.parent / "continuous_integration" / "baseline" / "profile.json"
NEAR = "ddr5-4800-local"
FAR = ["cxl-micron-cz120", "ddr5-4800-remote"]
BUDGET = "25%"


def main(profile_path: Path, folder: Path) -> Plan:
    """Predict, place and report; return the plan."""
    profile = load(profile_path, WorkloadProfile)  # read once; every call below takes it

    prediction = api.predict(profile=profile, near=NEAR, far=FAR)
    save(prediction, folder / "prediction.json")
    for device in prediction.devices:
        slowdown = device.total.slowdown
        print(f"{device.far}: {slowdown.value:.2f} [{slowdown.low:.2f}, {slowdown.high:.2f}]")

    # One options object can be kept, changed by dataclasses.replace, and used again.
    options = api.PlaceOptions(profile=[profile], near=NEAR, far=FAR[:1], budget=BUDGET)
    plan = api.place(options)
    save(plan, folder / "plan.json")
    near = [placement.name for placement in plan.placements if placement.memory == "near"]
    print(f"near memory of {BUDGET} holds: {', '.join(near) or 'nothing'}")

    report = api.report(profile=profile, near=NEAR, far=FAR, plan=[plan])
    (folder / "report.html").write_text(api.report_page(report))
    print(f"wrote prediction.json, plan.json and report.html to {folder}")

    try:
        api.place(profile=[profile], near=NEAR, far=FAR[:1], budget="a quarter")
    except api.NearfarError as error:  # the sentence that `nearfar place` would print
        print(f"as an example of a refusal: {error}")
    return plan


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT,
        Path(sys.argv[2]) if len(sys.argv) > 2 else Path.cwd(),
    )
