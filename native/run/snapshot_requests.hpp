// Requests for snapshots: the verb takes some by itself, but a program may be faster.
#pragma once

#include <cstddef>

namespace nearfar::run {

// Requests a snapshot when the heap has grown enough.
void picture_after_growth();
// Requests a snapshot before the first large block is freed after growth: the snapshot at the
// growth was before the program's first access to its new blocks.
void picture_before_free(std::size_t bytes);
// A large mapping was made: the next free of a large block requests a snapshot.
void picture_is_due();

}  // namespace nearfar::run
