// Requests for snapshots. The verb takes some by itself, but a program may change faster.
#pragma once

#include <cstddef>

namespace nearfar::run {

// Requests a snapshot when the heap has grown enough.
void request_snapshot_after_growth();
// Requests a snapshot before the first large block is freed after growth, because the snapshot at
// the growth preceded the program's first access to the new blocks.
void request_snapshot_before_free(std::size_t bytes);
// After a large mapping: makes the next free of a large block request a snapshot.
void mark_snapshot_due();

}  // namespace nearfar::run
