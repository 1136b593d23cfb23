// The table of extents: which memory each range of addresses is in. The verb reads it.
#pragma once

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

void record_extent(const nf_run_extent& extent);
// Removes a range from the table and returns its bytes to its memories.
void remove_extent(std::uint64_t begin, std::uint64_t bytes);
// In the child of a fork: frees the table's lock, whose holder may not exist there.
void extents_in_child();

}  // namespace nearfar::run
