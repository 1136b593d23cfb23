// The table of extents, which shows the memory of each range of addresses. The verb reads it.
#pragma once

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

void record_extent(const nf_run_extent& extent);
// Removes a range from the table and returns its bytes to its memories.
void remove_extent(std::uint64_t begin, std::uint64_t bytes);
// For the child of a fork: frees the table's lock, whose holder may not exist there.
void extents_in_child();

}  // namespace nearfar::run
