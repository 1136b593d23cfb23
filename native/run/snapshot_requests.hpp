// Requests for snapshots: the verb takes some by itself, but a program may be faster.
#pragma once

#include <cstddef>

namespace nearfar::run {

// Requests a snapshot when the heap has grown enough.
void request_snapshot_after_growth();
// Requests a snapshot before the first large block is freed after growth: the snapshot at the
// growth was before the program's first access to its new blocks.
void request_snapshot_before_free(std::size_t bytes);
// Makes the next free of a large block request a snapshot, after a large mapping.
void mark_snapshot_due();

}  // namespace nearfar::run
