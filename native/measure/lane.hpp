// Converts a Worker to its kernel's Lane, and back.
#pragma once

#include "measure/harness.hpp"

namespace nearfar::measure {

// Throws std::invalid_argument for an impossible worker: a bad shape or number of chains, a lane
// smaller than an access, a missing instruction; std::logic_error for memory that is not linked.
Lane lane_of(const Worker& worker);

// Links the worker's memory if its kernel needs links, and marks links that the kernel will
// overwrite as lost. Fills memory that the kernel copies by non-temporal stores, because lines of
// zeros can be faster (Operations::nt_store). No other worker may run on the memory at the same
// time.
void prepare_memory(const Worker& worker);

// Saves the lane's position, so that the next run continues there.
void save_position(const Worker& worker, const Lane& lane);

}  // namespace nearfar::measure
