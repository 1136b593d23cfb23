"""Plain JSON: objects to memories, without the rest of the document."""

from __future__ import annotations

import json

import msgspec

from nearfar.documents import Plan
from nearfar.place.exports import EXPORTS, checked


@EXPORTS.register("json")
def export(plan: Plan) -> str:
    """Return memories, and for each object its memory and its call stack."""
    checked(plan)
    names = {row.object: row.name for row in plan.placements}
    document = {
        "memories": {
            memory.name: {
                "device": memory.device,
                "where": memory.spec or None,
                "capacity_bytes": memory.capacity_bytes,
                "used_bytes": memory.used_bytes,
            }
            for memory in plan.memories
        },
        "objects": [
            {
                "name": row.name,
                "kind": row.kind,
                "bytes": row.size_bytes,
                "memory": row.memory,
                "parts": [msgspec.to_builtins(part) for part in row.parts],
                "interleave": row.interleave,
                "call_stack": [
                    {
                        "function": frame.function,
                        "file": frame.file,
                        "line": frame.line,
                        "module": frame.module,
                    }
                    for frame in row.frames[: max(1, row.told_by)]
                ],
            }
            for row in plan.placements
        ],
        "moves": [
            {
                "phase": phase.phase,
                "objects": [
                    {
                        "name": names[move.object],
                        "to": move.memory,
                        "bytes": move.bytes,
                    }
                    for move in phase.moves
                ],
            }
            for phase in plan.phases
        ],
    }
    return json.dumps(document, indent=1) + "\n"
